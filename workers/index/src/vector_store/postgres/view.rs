//! The cached texts of a project: immutable segments, and which of their texts still exist.
//!
//! A new edition adds one segment with the new texts, and marks removed texts as dead. Segments that
//! are smaller than what follows them are read again as part of the new one, so there are few
//! (log-structured merge); with many dead texts, all are. A text whose row has another length is a
//! different text: it got its vectors. Search results do not depend on this history.

mod top_chunks;

use std::collections::HashSet;
use std::sync::Arc;

use archway_store::Blob;
use tokio::time::Instant;
use uuid::Uuid;

use super::super::{Candidates, Hit, NearestQuery, VectorStoreError};
use super::encoding::{self, DecodedChunk};
use super::segment::{Segment, TextFlags};
use crate::terms::{self, Term};
use top_chunks::TopChunks;

/// Bytes read from Postgres at once.
const BATCH_BYTES: usize = 4 << 20;

/// One edition of a project's index.
pub(super) struct View {
    edition: i64,
    segments: Vec<LiveSegment>,
    chunks: usize,
}

/// A segment, and which of its texts still exist.
#[derive(Clone)]
struct LiveSegment {
    segment: Arc<Segment>,
    live: Vec<bool>,
}

/// The row of a text: its blob and its length in bytes.
pub(super) type Row = (Blob, usize);

/// A view under construction.
pub(super) struct ViewBuilder {
    segments: Vec<LiveSegment>,
    /// Rows that no live has.
    missing: Vec<Row>,
    read: Vec<(Row, Vec<DecodedChunk>)>,
}

impl View {
    /// Starts a view of the `current` rows, reusing the segments of an earlier one: unless too many
    /// of their texts are gone, or they would exceed `limit` bytes together with the missing rows.
    pub(super) fn builder(before: Option<Arc<View>>, current: &[Row], limit: usize) -> ViewBuilder {
        let wanted: HashSet<Row> = current.iter().copied().collect();
        let segments = before.map_or_else(Vec::new, |view| view.segments.clone());
        let mut segments: Vec<LiveSegment> = segments
            .into_iter()
            .map(|live| live.retaining(&wanted))
            .collect();
        let dead: usize = segments.iter().map(LiveSegment::dead).sum();
        if dead * 4 > current.len() {
            segments.clear();
        }
        drop_small(&mut segments, current.len());
        let mut reused: HashSet<Row> = segments.iter().flat_map(LiveSegment::rows).collect();
        let held: usize = segments.iter().map(|live| live.segment.bytes()).sum();
        let lacking = current.iter().filter(|row| !reused.contains(*row));
        if dead > 0 && held + lacking.map(|(_, bytes)| bytes).sum::<usize>() > limit {
            segments.clear();
            reused.clear();
        }
        let missing = current.iter().filter(|row| !reused.contains(*row));
        ViewBuilder {
            missing: missing.copied().collect(),
            segments,
            read: Vec::new(),
        }
    }

    pub(super) fn edition(&self) -> i64 {
        self.edition
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let segments = self.segments.iter();
        segments
            .map(|live| live.segment.bytes() + live.live.len())
            .sum()
    }
}

/// Drops the segments that have fewer texts than the later ones and the texts to read together, of
/// `texts` in all. At most as many are left as `texts` has binary digits.
fn drop_small(segments: &mut Vec<LiveSegment>, texts: usize) {
    let mut remaining = texts;
    segments.retain(|live| {
        let own = live.rows().count();
        let later = remaining.saturating_sub(own);
        let is_large = own > 0 && own >= later;
        if is_large {
            remaining = later;
        }
        is_large
    });
}

impl LiveSegment {
    fn retaining(self, wanted: &HashSet<Row>) -> LiveSegment {
        let rows = self.segment.rows.iter();
        LiveSegment {
            live: rows.map(|row| wanted.contains(row)).collect(),
            segment: self.segment,
        }
    }

    /// Number of removed texts.
    fn dead(&self) -> usize {
        self.live.iter().filter(|is_live| !**is_live).count()
    }

    /// The texts that still exist.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let rows = self.segment.rows.iter().zip(&self.live);
        rows.filter(|(_, is_live)| **is_live).map(|(row, _)| *row)
    }

    fn texts(&self, query: &NearestQuery) -> TextFlags<'_> {
        let filter = query.filter.blobs.as_ref();
        let rows = self.segment.rows.iter().zip(&self.live);
        let admitted =
            rows.map(|((blob, _), live)| *live && filter.is_none_or(|filter| filter.allows(blob)));
        TextFlags {
            live: &self.live,
            admitted: admitted.collect(),
        }
    }
}

impl ViewBuilder {
    /// Bytes that have to be read.
    pub(super) fn bytes(&self) -> usize {
        self.missing.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The texts that have to be read, in batches.
    pub(super) fn missing(&self) -> Vec<Vec<Blob>> {
        let (mut batches, mut budget): (Vec<Vec<Blob>>, usize) = (Vec::new(), 0);
        for (blob, bytes) in &self.missing {
            match batches.last_mut().filter(|_| *bytes <= budget) {
                Some(batch) => batch.push(*blob),
                None => {
                    batches.push(vec![*blob]);
                    budget = BATCH_BYTES;
                }
            }
            budget = budget.saturating_sub(*bytes);
        }
        batches
    }

    /// Adds rows that were read. Rows of another format are skipped; this worker's next indexing run
    /// replaces them.
    pub(super) fn add(mut self, rows: Vec<(Blob, Vec<u8>)>) -> ViewBuilder {
        let rows = rows.into_iter();
        self.read.extend(
            rows.filter_map(|(blob, row)| Some(((blob, row.len()), encoding::decode(&row)?))),
        );
        self
    }

    pub(super) fn finish(self, edition: i64) -> View {
        let mut segments = self.segments;
        if !self.read.is_empty() {
            let segment = Arc::new(Segment::of(self.read));
            let live = vec![true; segment.rows.len()];
            segments.push(LiveSegment { segment, live });
        }
        let chunks = segments.iter().map(|live| live.segment.chunks(&live.live));
        View {
            edition,
            chunks: chunks.sum(),
            segments,
        }
    }
}

/// The nearest chunks of all these projects.
///
/// # Errors
/// [`VectorStoreError::Late`]; the deadline is checked before each segment.
pub(super) fn nearest(
    views: &[(Uuid, Arc<View>)],
    query: &NearestQuery,
) -> Result<Candidates, VectorStoreError> {
    let search = Search::of(views, query);
    let dense = query.dense.as_ref().map(|query| search.by_vector(query));
    Ok(Candidates {
        dense: dense.transpose()?.unwrap_or_default(),
        sparse: search.by_words()?,
        ..Candidates::default()
    })
}

/// A query, and all segments it searches.
struct Search<'a> {
    query: &'a NearestQuery,
    segments: Vec<(Uuid, &'a LiveSegment, TextFlags<'a>)>,
    chunks: usize,
}

impl<'a> Search<'a> {
    fn of(views: &'a [(Uuid, Arc<View>)], query: &'a NearestQuery) -> Search<'a> {
        let segments = views.iter().flat_map(|(project, view)| {
            let segments = view.segments.iter();
            segments.map(|live| (*project, live, live.texts(query)))
        });
        let chunks: usize = views.iter().map(|(_, view)| view.chunks).sum();
        Search {
            query,
            segments: segments.collect(),
            chunks,
        }
    }

    fn by_vector(&self, query: &[f32]) -> Result<Vec<Hit>, VectorStoreError> {
        let mut best = TopChunks::of(self);
        for (number, (_, live, texts)) in self.segments.iter().enumerate() {
            self.check_deadline()?;
            let cosines = live.segment.cosines(query, texts).into_iter().enumerate();
            best.add(
                number,
                cosines.filter_map(|(chunk, cosine)| Some((chunk, cosine?))),
            );
        }
        Ok(best.hits())
    }

    fn by_words(&self) -> Result<Vec<Hit>, VectorStoreError> {
        let mut terms = self.query.terms.clone();
        // Sorted, since floating-point sums depend on the order.
        terms.sort_unstable();
        terms.dedup();
        let weighted = terms.into_iter().map(|term| (term, self.idf(term)));
        let weighted: Vec<(Term, f32)> = weighted.collect();
        let mut best = TopChunks::of(self);
        for (number, (_, live, texts)) in self.segments.iter().enumerate() {
            self.check_deadline()?;
            let mut scores = vec![0.0; live.segment.len()];
            for (term, idf) in &weighted {
                let weigh = |count, length| idf * terms::weight(count, length, terms::AVERAGE);
                live.segment.add_scores(*term, texts, &mut scores, weigh);
            }
            let scores = scores.into_iter().enumerate();
            best.add(number, scores.filter(|(_, score)| *score > 0.0));
        }
        Ok(best.hits())
    }

    fn check_deadline(&self) -> Result<(), VectorStoreError> {
        match Instant::now() >= self.query.deadline {
            true => Err(VectorStoreError::Late("searching in memory")),
            false => Ok(()),
        }
    }

    /// Inverse document frequency of a word over all searched projects.
    fn idf(&self, term: Term) -> f32 {
        let segments = self.segments.iter();
        let found = segments.map(|(_, live, texts)| live.segment.frequency(term, texts.live));
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
    use crate::vector_store::{AllowedBlobs, ChunkLocation, Filter, IndexedChunk};

    /// The row of a text derived from its number: up to four chunks of up to five words.
    fn row(number: u8) -> Vec<u8> {
        let chunks: Vec<IndexedChunk> = (0..number % 5).map(|chunk| piece(number, chunk)).collect();
        encoding::encode(&chunks, true)
    }

    fn piece(number: u8, chunk: u8) -> IndexedChunk {
        let counts = (0..number % 3 + chunk).map(|word| {
            let term = u32::from(word) * 2 + u32::from(number % 2);
            (term, u16::from(number / 16 + 1))
        });
        let counts: Vec<_> = counts.collect();
        let (y, x) = f32::from(number + chunk).to_radians().sin_cos();
        IndexedChunk {
            location: ChunkLocation {
                kind: [Kind::Function, Kind::Class][usize::from(chunk % 2)],
                symbol: Some(format!("{number} {chunk}")),
                parent: None,
                bytes: (0, number.into()),
                lines: (1, 2),
                declaration: None,
            },
            terms: Terms {
                length: counts.iter().map(|(_, count)| u32::from(*count)).sum(),
                counts,
            },
            // Some chunks have no vector.
            dense: (!number.is_multiple_of(7)).then(|| vec![x, y]),
        }
    }

    /// A view of these texts, built on an earlier one or from nothing.
    fn view(before: Option<&Arc<View>>, texts: &HashSet<u8>) -> Arc<View> {
        let current = texts.iter().map(|text| ([*text; 20], row(*text).len()));
        let current: Vec<_> = current.collect();
        let mut builder = View::builder(before.cloned(), &current, usize::MAX);
        for blobs in builder.missing() {
            let rows = blobs.iter().map(|blob| (*blob, row(blob[0])));
            builder = builder.add(rows.collect());
        }
        Arc::new(builder.finish(1))
    }

    fn queries() -> [NearestQuery; 3] {
        let query = |kinds, blobs: Option<Vec<u8>>| NearestQuery {
            dense: Some(vec![0.6, 0.8]),
            terms: vec![0, 3, 4, 3],
            filter: Filter {
                kinds,
                blobs: blobs.map(|all| {
                    AllowedBlobs::Only(Arc::new(all.into_iter().map(|it| [it; 20]).collect()))
                }),
            },
            limit: 7,
            required: None,
            deadline: Instant::now() + Duration::from_secs(20),
        };
        [
            query(None, None),
            query(Some(vec![Kind::Class]), None),
            query(None, Some((0..120).collect())),
        ]
    }

    fn texts() -> impl Strategy<Value = HashSet<u8>> {
        proptest::collection::hash_set(0_u8..240, 0..60)
    }

    proptest! {
        #[test]
        fn results_do_not_depend_on_a_views_history(
            first in texts(),
            changes in proptest::collection::vec((texts(), 0_u8..20), 1..14)
        ) {
            let (mut now, mut grown) = (first, None);
            for (other, most) in changes {
                // A few texts come and go, or all are replaced.
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
                let most = now.len().checked_ilog2().unwrap_or(0) as usize + 2;
                prop_assert!(view.segments.len() <= most);
                prop_assert_eq!(view.chunks, fresh.chunks);
                for query in queries() {
                    let project = Uuid::nil();
                    let found = nearest(&[(project, Arc::clone(&view))], &query).unwrap();
                    let of_fresh = nearest(&[(project, fresh.clone())], &query).unwrap();
                    prop_assert_eq!(found, of_fresh);
                }
                grown = Some(view);
            }
        }
    }

    #[test]
    fn a_query_past_its_deadline_searches_nothing() {
        let views = [(Uuid::nil(), view(None, &(0..50).collect()))];
        let [mut query, ..] = queries();
        query.deadline = Instant::now();
        let late = nearest(&views, &query).unwrap_err();
        assert!(matches!(late, VectorStoreError::Late(_)), "{late:?}");
    }

    #[test]
    fn a_text_that_got_its_vectors_is_read_again_and_counts_once() {
        let (blob, chunks) = ([8; 20], [piece(8, 0)]);
        let [words, whole] = [false, true].map(|is_dense| encoding::encode(&chunks, is_dense));
        let [before, now] = [&words, &whole].map(|row| [(blob, row.len())]);
        let builder = View::builder(None, &before, usize::MAX).add(vec![(blob, words)]);
        let view = Arc::new(builder.finish(1));
        let [query, ..] = queries();
        let found = nearest(&[(Uuid::nil(), Arc::clone(&view))], &query).unwrap();
        assert_eq!((found.dense.len(), found.sparse.len()), (0, 1));
        let builder = View::builder(Some(view), &now, usize::MAX);
        assert_eq!(builder.missing(), [[blob]]);
        let view = Arc::new(builder.add(vec![(blob, whole)]).finish(2));
        assert_eq!(view.chunks, 1);
        let found = nearest(&[(Uuid::nil(), view)], &query).unwrap();
        assert_eq!((found.dense.len(), found.sparse.len()), (1, 1));
    }

    #[test]
    fn a_new_text_is_read_alone() {
        let before = view(None, &(0..50).collect());
        let current: Vec<_> = (0..51)
            .map(|text: u8| ([text; 20], row(text).len()))
            .collect();
        let builder = View::builder(Some(before), &current, usize::MAX);
        assert_eq!(builder.missing(), [[[50; 20]]]);
    }

    #[test]
    fn texts_that_come_one_by_one_are_read_again_a_few_times_each() {
        let mut before = view(None, &(0..100).collect());
        let mut read = 0;
        for last in 101..=200_u8 {
            let current: Vec<_> = (0..last)
                .map(|text: u8| ([text; 20], row(text).len()))
                .collect();
            let builder = View::builder(Some(Arc::clone(&before)), &current, usize::MAX);
            read += builder.missing().concat().len();
            before = view(Some(&before), &(0..last).collect());
            assert!(before.segments.len() <= 8, "{}", before.segments.len());
        }
        assert!((200..500).contains(&read), "{read}");
    }

    #[test]
    fn texts_that_are_gone_leave_once_their_room_is_needed() {
        let before = view(None, &(0..50).collect());
        // Without the flags of its texts.
        let limit = before.bytes() - 50;
        let current: Vec<_> = (1..51)
            .map(|text: u8| ([text; 20], row(text).len()))
            .collect();
        let missing = |limit| {
            let builder = View::builder(Some(Arc::clone(&before)), &current, limit);
            builder.missing().concat().len()
        };
        assert_eq!((missing(2 * limit), missing(limit)), (1, 50));
    }

    #[test]
    fn texts_are_read_in_batches_of_bounded_size() {
        let current: Vec<_> = (0..10).map(|text| ([text; 20], BATCH_BYTES / 3)).collect();
        let sizes = View::builder(None, &current, usize::MAX).missing();
        let sizes: Vec<usize> = sizes.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 3, 1]);
        let huge = [([1; 20], BATCH_BYTES * 3), ([2; 20], 1)];
        assert_eq!(View::builder(None, &huge, usize::MAX).missing().len(), 2);
    }
}
