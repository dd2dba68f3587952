//! Collects the best chunks of a search, independently of their order.

use super::Search;
use crate::vector_store::Hit;

/// The best chunks so far.
pub(super) struct TopChunks<'a> {
    search: &'a Search<'a>,
    /// Score, segment and chunk.
    best: Vec<(f32, usize, usize)>,
}

impl<'a> TopChunks<'a> {
    pub(super) fn of(search: &'a Search<'a>) -> TopChunks<'a> {
        let best = Vec::new();
        TopChunks { search, best }
    }

    /// Adds chunks of a segment, if their kinds pass the filter.
    pub(super) fn add(&mut self, segment: usize, scores: impl Iterator<Item = (usize, f32)>) {
        let (search, query) = (self.search, self.search.query);
        let Some((_, live, _)) = search.segments.get(segment) else {
            return;
        };
        let scores = scores.filter(|(chunk, _)| live.segment.passes_filter(*chunk, query));
        self.best
            .extend(scores.map(|(chunk, score)| (score, segment, chunk)));
        let limit = query.limit;
        if self.best.len() > limit && limit > 0 {
            self.best
                .select_nth_unstable_by(limit, |a, b| b.0.total_cmp(&a.0));
            // Keep all ties with the last score: `hits` breaks them by identity.
            let last = self.best.iter().take(limit).map(|best| best.0);
            let last = last.fold(f32::INFINITY, f32::min);
            self.best.retain(|best| best.0 >= last);
        }
    }

    pub(super) fn hits(self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .best
            .into_iter()
            .filter_map(|(score, segment, chunk)| {
                let (project, live, _) = self.search.segments.get(segment)?;
                let (blob, position, location) = live.segment.chunk(chunk)?;
                Some(Hit {
                    project: *project,
                    blob,
                    position,
                    location,
                    score,
                })
            })
            .collect();
        let order = |hit: &Hit| (hit.project, hit.blob, hit.position);
        hits.sort_unstable_by(|a, b| {
            let nearer = b.score.total_cmp(&a.score);
            nearer.then_with(|| order(a).cmp(&order(b)))
        });
        hits.truncate(self.search.query.limit);
        hits
    }
}
