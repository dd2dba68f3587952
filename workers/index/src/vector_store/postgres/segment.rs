//! Texts that were read together: an inverted index of their words, and their vectors in one array.
//!
//! A segment is immutable. [`TextFlags`] says which of its texts still exist, and which may match.

use archway_store::Blob;

use super::super::{ChunkLocation, NearestQuery, ProjectMemory};
use super::encoding::{self, DecodedChunk};
use super::view::Row;
use crate::chunk::Kind;
use crate::terms::Term;

/// Factor that turns a query's numbers into integers of 12 bits, so that the products of a thousand
/// of them fit into 32 bits.
const QUERY_SCALE: f32 = 2047.0;

/// Bytes of a chunk besides its vector and location.
const CHUNK_BYTES: usize = size_of::<(u32, u32)>() + size_of::<Kind>() + 3 * size_of::<u32>();
/// Bytes of a distinct word of a chunk.
const POSTING_BYTES: usize = size_of::<u32>() + size_of::<u16>();
/// Distinct words among a hundred words of a chunk, about: 55 in this repository.
const DISTINCT_WORDS: usize = 67;
/// Bytes of a chunk's location and of its share of the text's row, about.
const LOCATION_BYTES: usize = 48;

/// The memory of one project, of `limit` bytes for all: a quarter remains for what the sum of texts
/// does not count, above all the distinct words of a segment.
pub(super) fn memory(limit: usize, dimensions: usize) -> ProjectMemory {
    ProjectMemory {
        limit: wide(limit / 4 * 3),
        per_chunk: wide(CHUNK_BYTES + dimensions + LOCATION_BYTES),
        per_word: wide(POSTING_BYTES * DISTINCT_WORDS / 100),
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Texts, cut into chunks.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) rows: Vec<Row>,
    /// For each chunk its text, from 0, and its index in that text.
    texts: Vec<(u32, u32)>,
    kinds: Vec<Kind>,
    /// Words in each chunk.
    lengths: Vec<u32>,
    /// End of each chunk's location in `locations`.
    location_ends: Vec<u32>,
    locations: Vec<u8>,
    dimensions: usize,
    /// Per chunk the factor that gives its vector length 1; 0 if it has no vector.
    scales: Vec<f32>,
    vectors: Vec<i8>,
    words: InvertedIndex,
}

/// The inverted index: which chunks contain a word, and how often.
#[derive(Debug, Default)]
struct InvertedIndex {
    /// Sorted.
    terms: Vec<Term>,
    /// End of each word's posting list.
    ends: Vec<u32>,
    chunks: Vec<u32>,
    counts: Vec<u16>,
}

/// Which texts of a segment still exist, and which of them may match.
pub(super) struct TextFlags<'a> {
    pub(super) live: &'a [bool],
    pub(super) admitted: Vec<bool>,
}

impl Segment {
    pub(super) fn of(texts: Vec<(Row, Vec<DecodedChunk>)>) -> Segment {
        let mut segment = Segment::default();
        let vectors = texts.iter().flat_map(|(_, chunks)| chunks);
        let mut vectors = vectors.filter_map(|chunk| chunk.dense.as_ref());
        segment.dimensions = vectors.next().map_or(0, |dense| dense.values.len());
        let mut postings: Vec<(Term, u32, u16)> = Vec::new();
        for (row, chunks) in texts {
            let text = number(segment.rows.len());
            segment.rows.push(row);
            for (position, chunk) in chunks.into_iter().enumerate() {
                let number = number(segment.texts.len());
                let counts = chunk.counts.iter();
                postings.extend(counts.map(|&(term, count)| (term, number, count)));
                segment.push((text, self::number(position)), chunk);
            }
        }
        postings.sort_unstable();
        segment.words = InvertedIndex::of(&postings);
        segment.shrink();
        segment
    }

    fn push(&mut self, position: (u32, u32), chunk: DecodedChunk) {
        self.texts.push(position);
        self.kinds.push(chunk.location.kind);
        self.lengths.push(chunk.length);
        self.locations
            .extend(encoding::encode_location(&chunk.location));
        self.location_ends.push(number(self.locations.len()));
        let dense = chunk
            .dense
            .filter(|dense| dense.values.len() == self.dimensions);
        let values = dense.map_or_else(|| vec![0; self.dimensions], |dense| dense.values);
        let square: f32 = values.iter().map(|value| f32::from(*value).powi(2)).sum();
        self.scales.push(if square > 0.0 {
            square.sqrt().recip()
        } else {
            0.0
        });
        self.vectors.extend(values);
    }

    fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.kinds.shrink_to_fit();
        self.lengths.shrink_to_fit();
        self.location_ends.shrink_to_fit();
        self.locations.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.vectors.shrink_to_fit();
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Row>()
            + self.texts.len() * (CHUNK_BYTES + self.dimensions)
            + self.locations.len()
            + self.words.terms.len() * 2 * size_of::<u32>()
            + self.words.chunks.len() * POSTING_BYTES
    }

    /// Number of chunks in live texts.
    pub(super) fn chunks(&self, live: &[bool]) -> usize {
        let chunks = self.texts.iter();
        chunks.filter(|(text, _)| is_set(live, *text)).count()
    }

    /// Number of live chunks that contain a word.
    pub(super) fn frequency(&self, term: Term, live: &[bool]) -> usize {
        let (chunks, _) = self.words.postings(term);
        chunks
            .iter()
            .filter(|chunk| is_set(live, self.text_of(**chunk)))
            .count()
    }

    /// Adds `weigh(count, length)` to the score of each chunk that contains the word and may match.
    pub(super) fn add_scores(
        &self,
        term: Term,
        texts: &TextFlags<'_>,
        scores: &mut [f32],
        weigh: impl Fn(u16, u32) -> f32,
    ) {
        let (chunks, counts) = self.words.postings(term);
        for (&chunk, &count) in chunks.iter().zip(counts) {
            if !is_set(&texts.admitted, self.text_of(chunk)) {
                continue;
            }
            let length = self.lengths.get(chunk as usize).copied().unwrap_or(0);
            if let Some(score) = scores.get_mut(chunk as usize) {
                *score += weigh(count, length);
            }
        }
    }

    /// The cosine of each chunk that may match; `None` for the others.
    pub(super) fn cosines(&self, query: &[f32], texts: &TextFlags<'_>) -> Vec<Option<f32>> {
        if self.dimensions == 0 || query.len() != self.dimensions {
            return vec![None; self.texts.len()];
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a unit vector's numbers times 2047"
        )]
        let query: Vec<i16> = query
            .iter()
            .map(|x| (x * QUERY_SCALE).round() as i16)
            .collect();
        let vectors = self.vectors.chunks_exact(self.dimensions);
        let chunks = vectors.zip(&self.scales).zip(&self.texts);
        let cosine = |((vector, scale), (text, _)): ((&[i8], &f32), &(u32, u32))| {
            let is_admitted = is_set(&texts.admitted, *text) && *scale > 0.0;
            #[expect(
                clippy::cast_precision_loss,
                reason = "the sum has 12 + 7 bits that count"
            )]
            is_admitted.then(|| dot_product(vector, &query) as f32 * scale / QUERY_SCALE)
        };
        chunks.map(cosine).collect()
    }

    /// Whether the chunk's kind passes the query's filter.
    pub(super) fn passes_filter(&self, chunk: usize, query: &NearestQuery) -> bool {
        let kinds = query.filter.kinds.as_deref();
        kinds.is_none_or(|kinds| {
            self.kinds
                .get(chunk)
                .is_some_and(|kind| kinds.contains(kind))
        })
    }

    /// Blob, index in the blob and location of a chunk.
    pub(super) fn chunk(&self, chunk: usize) -> Option<(Blob, u32, ChunkLocation)> {
        let (text, position) = *self.texts.get(chunk)?;
        let from = chunk
            .checked_sub(1)
            .and_then(|before| self.location_ends.get(before));
        let from = from.copied().unwrap_or(0) as usize;
        let to = *self.location_ends.get(chunk)? as usize;
        let location = encoding::decode_location(self.locations.get(from..to)?)?;
        let (blob, _) = *self.rows.get(text as usize)?;
        Some((blob, position, location))
    }

    /// Number of chunks, those of removed texts included.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    fn text_of(&self, chunk: u32) -> u32 {
        self.texts
            .get(chunk as usize)
            .map_or(u32::MAX, |(text, _)| *text)
    }
}

impl InvertedIndex {
    /// Builds the index from sorted postings.
    fn of(postings: &[(Term, u32, u16)]) -> InvertedIndex {
        let mut words = InvertedIndex::default();
        for &(term, chunk, count) in postings {
            words.chunks.push(chunk);
            words.counts.push(count);
            let end = number(words.chunks.len());
            match words.terms.last() {
                Some(last) if *last == term => {}
                _ => {
                    words.terms.push(term);
                    words.ends.push(end);
                }
            }
            if let Some(last) = words.ends.last_mut() {
                *last = end;
            }
        }
        words.terms.shrink_to_fit();
        words.ends.shrink_to_fit();
        words.chunks.shrink_to_fit();
        words.counts.shrink_to_fit();
        words
    }

    /// The chunks that contain a word, with its counts.
    fn postings(&self, term: Term) -> (&[u32], &[u16]) {
        let Ok(index) = self.terms.binary_search(&term) else {
            return (&[], &[]);
        };
        let from = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let from = from.copied().unwrap_or(0) as usize;
        let to = self.ends.get(index).copied().unwrap_or(0) as usize;
        let list = self.chunks.get(from..to).zip(self.counts.get(from..to));
        list.unwrap_or_default()
    }
}

/// Compilers vectorize this loop, since integer sums are exact in any order.
fn dot_product(vector: &[i8], query: &[i16]) -> i32 {
    let pairs = vector.iter().zip(query);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

fn is_set(flags: &[bool], index: u32) -> bool {
    flags.get(index as usize).copied().unwrap_or(false)
}

/// Fits, since the number of bytes per segment is bounded.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
