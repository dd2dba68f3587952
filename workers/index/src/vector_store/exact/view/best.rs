//! The best of all chunks that were looked at: as many as are asked for, whichever came first.

use super::Asking;
use crate::vector_store::Hit;

/// The best chunks so far.
pub(super) struct Best<'a> {
    asking: &'a Asking<'a>,
    /// Score, part and chunk.
    kept: Vec<(f32, usize, usize)>,
}

impl<'a> Best<'a> {
    pub(super) fn of(asking: &'a Asking<'a>) -> Best<'a> {
        let kept = Vec::new();
        Best { asking, kept }
    }

    /// Takes chunks of a part that the filter lets be found.
    pub(super) fn take(&mut self, part: usize, scores: impl Iterator<Item = (usize, f32)>) {
        let (asking, question) = (self.asking, self.asking.question);
        let Some((_, of, _)) = asking.parts.get(part) else {
            return;
        };
        let scores = scores.filter(|(chunk, _)| of.segment.passes(*chunk, question));
        self.kept
            .extend(scores.map(|(chunk, score)| (score, part, chunk)));
        let most = question.most;
        if self.kept.len() > most && most > 0 {
            self.kept
                .select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0));
            // Of those that are as near as the last, who stands in the index first decides.
            let last = self.kept.iter().take(most).map(|kept| kept.0);
            let last = last.fold(f32::INFINITY, f32::min);
            self.kept.retain(|kept| kept.0 >= last);
        }
    }

    pub(super) fn hits(self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .kept
            .into_iter()
            .filter_map(|(score, part, chunk)| {
                let (project, part, _) = self.asking.parts.get(part)?;
                let (blob, position, place) = part.segment.chunk(chunk)?;
                Some(Hit {
                    project: *project,
                    blob,
                    position,
                    place,
                    score,
                })
            })
            .collect();
        let order = |hit: &Hit| (hit.project, hit.blob, hit.position);
        hits.sort_unstable_by(|a, b| {
            let nearer = b.score.total_cmp(&a.score);
            nearer.then_with(|| order(a).cmp(&order(b)))
        });
        hits.truncate(self.asking.question.most);
        hits
    }
}
