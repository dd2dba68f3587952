//! All texts of a project as this process holds them: segments, and what of them is still there.
//!
//! A new edition adds one segment with the texts that are new, and notes which others went; when
//! that has become many, all is read anew. A text whose row has another length is another one: it got
//! its vectors. What is found does not depend on which way it came.

mod best;

use std::collections::HashSet;
use std::sync::Arc;

use archway_store::Blob;
use tokio::time::Instant;
use uuid::Uuid;

use super::super::{Candidates, Hit, HomeError, Question};
use super::form::{self, Read};
use super::segment::{Segment, Texts};
use crate::terms::{self, Term};
use best::Best;

/// With more segments all is read anew.
const MAX_SEGMENTS: usize = 8;
/// How much is read from Postgres at once, in bytes.
const READ_AT_ONCE: usize = 4 << 20;

/// A project in one edition.
pub(super) struct View {
    edition: i64,
    parts: Vec<Part>,
    chunks: usize,
}

/// A segment, and which of its texts are still there.
#[derive(Clone)]
struct Part {
    segment: Arc<Segment>,
    live: Vec<bool>,
}

/// The row of a text: which text, and how many bytes it has.
pub(super) type Row = (Blob, usize);

/// A view that is being read.
pub(super) struct Draft {
    parts: Vec<Part>,
    /// Texts that no part has, and their bytes.
    lacking: Vec<Row>,
    read: Vec<(Row, Vec<Read>)>,
}

impl View {
    /// Begins a view of these texts from one of before.
    pub(super) fn draft(before: Option<Arc<View>>, there: &[Row]) -> Draft {
        let wanted: HashSet<Row> = there.iter().copied().collect();
        let parts = before.map_or_else(Vec::new, |view| view.parts.clone());
        let mut parts: Vec<Part> = parts
            .into_iter()
            .map(|part| part.without(&wanted))
            .collect();
        let dead: usize = parts.iter().map(Part::dead).sum();
        if parts.len() >= MAX_SEGMENTS || dead * 4 > there.len() {
            parts.clear();
        }
        let had: HashSet<Row> = parts.iter().flat_map(Part::rows).collect();
        let lacking = there.iter().filter(|row| !had.contains(*row));
        Draft {
            lacking: lacking.copied().collect(),
            parts,
            read: Vec::new(),
        }
    }

    pub(super) fn edition(&self) -> i64 {
        self.edition
    }

    /// What it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let parts = self.parts.iter();
        parts
            .map(|part| part.segment.bytes() + part.live.len())
            .sum()
    }
}

impl Part {
    fn without(self, wanted: &HashSet<Row>) -> Part {
        let rows = self.segment.rows.iter();
        Part {
            live: rows.map(|row| wanted.contains(row)).collect(),
            segment: self.segment,
        }
    }

    /// How many of its texts went.
    fn dead(&self) -> usize {
        self.live.iter().filter(|is_live| !**is_live).count()
    }

    /// The texts that are still there.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let rows = self.segment.rows.iter().zip(&self.live);
        rows.filter(|(_, is_live)| **is_live).map(|(row, _)| *row)
    }

    fn texts(&self, question: &Question) -> Texts<'_> {
        let only = question.filter.blobs.as_deref();
        let rows = self.segment.rows.iter().zip(&self.live);
        let asked =
            rows.map(|((blob, _), live)| *live && only.is_none_or(|only| only.contains(blob)));
        Texts {
            live: &self.live,
            asked: asked.collect(),
        }
    }
}

impl Draft {
    /// How many bytes have to be read.
    pub(super) fn bytes(&self) -> usize {
        self.lacking.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The texts that have to be read, as many at once as may be.
    pub(super) fn lacking(&self) -> Vec<Vec<Blob>> {
        let (mut batches, mut room): (Vec<Vec<Blob>>, usize) = (Vec::new(), 0);
        for (blob, bytes) in &self.lacking {
            match batches.last_mut().filter(|_| *bytes <= room) {
                Some(batch) => batch.push(*blob),
                None => {
                    batches.push(vec![*blob]);
                    room = READ_AT_ONCE;
                }
            }
            room = room.saturating_sub(*bytes);
        }
        batches
    }

    /// With texts that were read. A row of another form is as if it was not there: it is written
    /// anew when the index is made by this worker.
    pub(super) fn with(mut self, rows: Vec<(Blob, Vec<u8>)>) -> Draft {
        let rows = rows.into_iter();
        self.read
            .extend(rows.filter_map(|(blob, row)| Some(((blob, row.len()), form::read(&row)?))));
        self
    }

    pub(super) fn finish(self, edition: i64) -> View {
        let mut parts = self.parts;
        if !self.read.is_empty() {
            let segment = Arc::new(Segment::of(self.read));
            let live = vec![true; segment.rows.len()];
            parts.push(Part { segment, live });
        }
        let chunks = parts.iter().map(|part| part.segment.chunks(&part.live));
        View {
            edition,
            chunks: chunks.sum(),
            parts,
        }
    }
}

/// The nearest chunks of all these projects.
///
/// # Errors
/// [`HomeError::Late`], looked at before each segment.
pub(super) fn nearest(
    views: &[(Uuid, Arc<View>)],
    question: &Question,
) -> Result<Candidates, HomeError> {
    let asked = Asking::of(views, question);
    let dense = question.dense.as_ref().map(|query| asked.by_vector(query));
    Ok(Candidates {
        dense: dense.transpose()?.unwrap_or_default(),
        sparse: asked.by_words()?,
    })
}

/// A question, and all parts that it is asked of.
struct Asking<'a> {
    question: &'a Question,
    parts: Vec<(Uuid, &'a Part, Texts<'a>)>,
    chunks: usize,
}

impl<'a> Asking<'a> {
    fn of(views: &'a [(Uuid, Arc<View>)], question: &'a Question) -> Asking<'a> {
        let parts = views.iter().flat_map(|(project, view)| {
            let parts = view.parts.iter();
            parts.map(|part| (*project, part, part.texts(question)))
        });
        let chunks: usize = views.iter().map(|(_, view)| view.chunks).sum();
        Asking {
            question,
            parts: parts.collect(),
            chunks,
        }
    }

    fn by_vector(&self, query: &[f32]) -> Result<Vec<Hit>, HomeError> {
        let mut best = Best::of(self);
        for (number, (_, part, texts)) in self.parts.iter().enumerate() {
            self.check()?;
            let cosines = part.segment.cosines(query, texts).into_iter().enumerate();
            best.take(
                number,
                cosines.filter_map(|(chunk, cosine)| Some((chunk, cosine?))),
            );
        }
        Ok(best.hits())
    }

    fn by_words(&self) -> Result<Vec<Hit>, HomeError> {
        let mut terms = self.question.terms.clone();
        // In order, since sums of floating point numbers depend on it.
        terms.sort_unstable();
        terms.dedup();
        let rare = terms.into_iter().map(|term| (term, self.idf(term)));
        let rare: Vec<(Term, f32)> = rare.collect();
        let mut best = Best::of(self);
        for (number, (_, part, texts)) in self.parts.iter().enumerate() {
            self.check()?;
            let mut scores = vec![0.0; part.segment.len()];
            for (term, idf) in &rare {
                let weigh = |count, length| idf * terms::weight(count, length, terms::AVERAGE);
                part.segment.add(*term, texts, &mut scores, weigh);
            }
            let scores = scores.into_iter().enumerate();
            best.take(number, scores.filter(|(_, score)| *score > 0.0));
        }
        Ok(best.hits())
    }

    fn check(&self) -> Result<(), HomeError> {
        match Instant::now() >= self.question.deadline {
            true => Err(HomeError::Late("searching in memory")),
            false => Ok(()),
        }
    }

    /// How rare a word is in all that is asked.
    fn idf(&self, term: Term) -> f32 {
        let parts = self.parts.iter();
        let found = parts.map(|(_, part, texts)| part.segment.frequency(term, texts.live));
        terms::idf(self.chunks as u64, found.sum::<usize>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::Duration;

    use super::*;
    use crate::chunk::Kind;
    use crate::terms::Terms;
    use crate::vector_store::{Filter, Piece, Place};

    /// The row of a text, which its number makes: up to four chunks of up to five words.
    fn row(number: u8) -> Vec<u8> {
        let pieces: Vec<Piece> = (0..number % 5).map(|chunk| piece(number, chunk)).collect();
        form::written(&pieces, true)
    }

    fn piece(number: u8, chunk: u8) -> Piece {
        let counts = (0..number % 3 + chunk).map(|word| {
            let term = u32::from(word) * 2 + u32::from(number % 2);
            (term, u16::from(number / 16 + 1))
        });
        let counts: Vec<_> = counts.collect();
        let (y, x) = f32::from(number + chunk).to_radians().sin_cos();
        Piece {
            place: Place {
                kind: [Kind::Function, Kind::Class][usize::from(chunk % 2)],
                symbol: Some(format!("{number} {chunk}")),
                parent: None,
                bytes: (0, number.into()),
                lines: (1, 2),
            },
            terms: Terms {
                length: counts.iter().map(|(_, count)| u32::from(*count)).sum(),
                counts,
            },
            // Some have no vector.
            dense: (!number.is_multiple_of(7)).then(|| vec![x, y]),
        }
    }

    /// A view of these texts, from one of before or from nothing.
    fn view(before: Option<&Arc<View>>, texts: &HashSet<u8>) -> Arc<View> {
        let there = texts.iter().map(|text| ([*text; 20], row(*text).len()));
        let there: Vec<_> = there.collect();
        let mut draft = View::draft(before.cloned(), &there);
        for blobs in draft.lacking() {
            let rows = blobs.iter().map(|blob| (*blob, row(blob[0])));
            draft = draft.with(rows.collect());
        }
        Arc::new(draft.finish(1))
    }

    fn questions() -> [Question; 3] {
        let question = |kinds, blobs: Option<Vec<u8>>| Question {
            dense: Some(vec![0.6, 0.8]),
            terms: vec![0, 3, 4, 3],
            filter: Filter {
                kinds,
                blobs: blobs.map(|all| Arc::new(all.into_iter().map(|it| [it; 20]).collect())),
            },
            most: 7,
            deadline: Instant::now() + Duration::from_secs(20),
        };
        [
            question(None, None),
            question(Some(vec![Kind::Class]), None),
            question(None, Some((0..120).collect())),
        ]
    }

    fn texts() -> impl Strategy<Value = HashSet<u8>> {
        proptest::collection::hash_set(0_u8..240, 0..60)
    }

    proptest! {
        #[test]
        fn what_is_found_does_not_depend_on_how_a_project_became_what_it_is(
            first in texts(),
            changes in proptest::collection::vec((texts(), 0_u8..20), 1..14)
        ) {
            let (mut now, mut grown) = (first, None);
            for (other, most) in changes {
                // A few come and go, or it becomes another project.
                match most {
                    0 => now = other,
                    _ => other.into_iter().take(most.into()).for_each(|text| {
                        if !now.remove(&text) {
                            now.insert(text);
                        }
                    }),
                }
                let view = view(grown.as_ref(), &now);
                let fresh = self::view(None, &now);
                prop_assert!(view.parts.len() <= MAX_SEGMENTS);
                prop_assert_eq!(view.chunks, fresh.chunks);
                for question in questions() {
                    let project = Uuid::nil();
                    let found = nearest(&[(project, Arc::clone(&view))], &question).unwrap();
                    let of_fresh = nearest(&[(project, fresh.clone())], &question).unwrap();
                    prop_assert_eq!(found, of_fresh);
                }
                grown = Some(view);
            }
        }
    }

    #[test]
    fn nothing_is_looked_at_for_a_question_whose_time_is_up() {
        let views = [(Uuid::nil(), view(None, &(0..50).collect()))];
        let [mut question, ..] = questions();
        question.deadline = Instant::now();
        let late = nearest(&views, &question).unwrap_err();
        assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    }

    #[test]
    fn a_text_that_got_its_vectors_is_read_anew_and_counts_once() {
        let (blob, pieces) = ([8; 20], [piece(8, 0)]);
        let [words, whole] = [false, true].map(|is_dense| form::written(&pieces, is_dense));
        let [before, now] = [&words, &whole].map(|row| [(blob, row.len())]);
        let draft = View::draft(None, &before).with(vec![(blob, words)]);
        let view = Arc::new(draft.finish(1));
        let [question, ..] = questions();
        let found = nearest(&[(Uuid::nil(), Arc::clone(&view))], &question).unwrap();
        assert_eq!((found.dense.len(), found.sparse.len()), (0, 1));
        let draft = View::draft(Some(view), &now);
        assert_eq!(draft.lacking(), [[blob]]);
        let view = Arc::new(draft.with(vec![(blob, whole)]).finish(2));
        assert_eq!(view.chunks, 1);
        let found = nearest(&[(Uuid::nil(), view)], &question).unwrap();
        assert_eq!((found.dense.len(), found.sparse.len()), (1, 1));
    }

    #[test]
    fn one_text_more_is_read_alone() {
        let before = view(None, &(0..50).collect());
        let there: Vec<_> = (0..51)
            .map(|text: u8| ([text; 20], row(text).len()))
            .collect();
        let draft = View::draft(Some(before), &there);
        assert_eq!(draft.lacking(), [[[50; 20]]]);
    }

    #[test]
    fn texts_are_read_in_batches_of_bounded_size() {
        let there: Vec<_> = (0..10).map(|text| ([text; 20], READ_AT_ONCE / 3)).collect();
        let sizes = View::draft(None, &there).lacking();
        let sizes: Vec<usize> = sizes.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 3, 1]);
        let huge = [([1; 20], READ_AT_ONCE * 3), ([2; 20], 1)];
        assert_eq!(View::draft(None, &huge).lacking().len(), 2);
    }
}
