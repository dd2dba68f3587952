//! Texts that were read together: their words as an inverted list, their vectors in one row.
//!
//! It never changes. Texts that went are known to who asks ([`Texts`]), which also says which of
//! them may be found.

use archway_store::Blob;

use super::super::{Place, Question};
use super::form::{self, Read};
use super::view::Row;
use crate::chunk::Kind;
use crate::terms::Term;

/// What a query's numbers are multiplied with to be whole ones: 12 bits, so that the products of a
/// thousand of them fit 32.
const STEPS: f32 = 2047.0;

/// Texts, cut into chunks.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) rows: Vec<Row>,
    /// Of each chunk: which text it is of, from 0, and which of its chunks.
    texts: Vec<(u32, u32)>,
    kinds: Vec<Kind>,
    /// How many words each chunk has.
    lengths: Vec<u32>,
    /// After which byte of `places` each chunk's ends.
    place_ends: Vec<u32>,
    places: Vec<u8>,
    dimensions: usize,
    /// Of each chunk, so that its vector has length 1; 0 where it has none.
    scales: Vec<f32>,
    vectors: Vec<i8>,
    words: Words,
}

/// Which chunks have a word, and how often.
#[derive(Debug, Default)]
struct Words {
    /// In order.
    terms: Vec<Term>,
    /// After which of the lists' items each word's end.
    ends: Vec<u32>,
    chunks: Vec<u32>,
    counts: Vec<u16>,
}

/// Which texts of a segment are still there, and which of them may be found.
pub(super) struct Texts<'a> {
    pub(super) live: &'a [bool],
    pub(super) asked: Vec<bool>,
}

impl Segment {
    pub(super) fn of(texts: Vec<(Row, Vec<Read>)>) -> Segment {
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
        segment.words = Words::of(&postings);
        segment.shrink();
        segment
    }

    fn push(&mut self, at: (u32, u32), chunk: Read) {
        self.texts.push(at);
        self.kinds.push(chunk.place.kind);
        self.lengths.push(chunk.length);
        self.places.extend(form::packed(&chunk.place));
        self.place_ends.push(number(self.places.len()));
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
        self.place_ends.shrink_to_fit();
        self.places.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.vectors.shrink_to_fit();
    }

    /// What it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let chunk = size_of::<(u32, u32)>() + size_of::<Kind>() + 3 * size_of::<u32>();
        let posting = size_of::<u32>() + size_of::<u16>();
        self.rows.len() * size_of::<Row>()
            + self.texts.len() * (chunk + self.dimensions)
            + self.places.len()
            + self.words.terms.len() * 2 * size_of::<u32>()
            + self.words.chunks.len() * posting
    }

    /// How many chunks the texts that are live have.
    pub(super) fn chunks(&self, live: &[bool]) -> usize {
        let chunks = self.texts.iter();
        chunks.filter(|(text, _)| at(live, *text)).count()
    }

    /// In how many chunks that are live a word stands.
    pub(super) fn frequency(&self, term: Term, live: &[bool]) -> usize {
        let (chunks, _) = self.words.list(term);
        chunks
            .iter()
            .filter(|chunk| at(live, self.text_of(**chunk)))
            .count()
    }

    /// Adds what `weigh` gives for a word that stands so often in a chunk of so many words, to the
    /// scores of all chunks that may be found.
    pub(super) fn add(
        &self,
        term: Term,
        texts: &Texts<'_>,
        scores: &mut [f32],
        weigh: impl Fn(u16, u32) -> f32,
    ) {
        let (chunks, counts) = self.words.list(term);
        for (&chunk, &count) in chunks.iter().zip(counts) {
            if !at(&texts.asked, self.text_of(chunk)) {
                continue;
            }
            let length = self.lengths.get(chunk as usize).copied().unwrap_or(0);
            if let Some(score) = scores.get_mut(chunk as usize) {
                *score += weigh(count, length);
            }
        }
    }

    /// The cosine of each chunk that may be found; `None` for the others.
    pub(super) fn cosines(&self, query: &[f32], texts: &Texts<'_>) -> Vec<Option<f32>> {
        if self.dimensions == 0 || query.len() != self.dimensions {
            return vec![None; self.texts.len()];
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a unit vector's numbers times 2047"
        )]
        let query: Vec<i16> = query.iter().map(|x| (x * STEPS).round() as i16).collect();
        let vectors = self.vectors.chunks_exact(self.dimensions);
        let chunks = vectors.zip(&self.scales).zip(&self.texts);
        let cosine = |((vector, scale), (text, _)): ((&[i8], &f32), &(u32, u32))| {
            let is_asked = at(&texts.asked, *text) && *scale > 0.0;
            #[expect(
                clippy::cast_precision_loss,
                reason = "the sum has 12 + 7 bits that count"
            )]
            is_asked.then(|| product(vector, &query) as f32 * scale / STEPS)
        };
        chunks.map(cosine).collect()
    }

    /// Which chunks a question's filter lets be found, of the texts that may be.
    pub(super) fn passes(&self, chunk: usize, question: &Question) -> bool {
        let kinds = question.filter.kinds.as_deref();
        kinds.is_none_or(|kinds| {
            self.kinds
                .get(chunk)
                .is_some_and(|kind| kinds.contains(kind))
        })
    }

    /// The text of a chunk, which of its chunks it is, and what is shown of it.
    pub(super) fn chunk(&self, chunk: usize) -> Option<(Blob, u32, Place)> {
        let (text, position) = *self.texts.get(chunk)?;
        let from = chunk
            .checked_sub(1)
            .and_then(|before| self.place_ends.get(before));
        let from = from.copied().unwrap_or(0) as usize;
        let to = *self.place_ends.get(chunk)? as usize;
        let place = form::unpacked(self.places.get(from..to)?)?;
        let (blob, _) = *self.rows.get(text as usize)?;
        Some((blob, position, place))
    }

    /// How many chunks there are, those of texts that went included.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    fn text_of(&self, chunk: u32) -> u32 {
        self.texts
            .get(chunk as usize)
            .map_or(u32::MAX, |(text, _)| *text)
    }
}

impl Words {
    /// From words, chunks and counts in order.
    fn of(postings: &[(Term, u32, u16)]) -> Words {
        let mut words = Words::default();
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

    /// The chunks that have a word, and how often each.
    fn list(&self, term: Term) -> (&[u32], &[u16]) {
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

/// A loop that compilers turn into vector instructions, since the sums are exact in any order.
fn product(vector: &[i8], query: &[i16]) -> i32 {
    let pairs = vector.iter().zip(query);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

fn at(flags: &[bool], index: u32) -> bool {
    flags.get(index as usize).copied().unwrap_or(false)
}

/// Segments have less than 2^32 of anything: their rows have a bound in bytes.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
