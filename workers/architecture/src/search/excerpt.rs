//! The excerpt of a document that shows why it was found: whole sentences around the best one.

use std::ops::Range;

use archway_index::terms::{Term, query_terms};

use super::passages;
use crate::document::Document;
use crate::markdown::Section;

/// How long an excerpt gets, in bytes.
const LENGTH: usize = 320;
/// How many sentences of a document are looked at.
const MAX_SENTENCES: usize = 2000;
/// How many of them are one excerpt.
const MAX_RUN: usize = 8;

/// A sentence, and how many words of the query it has.
struct Sentence<'a> {
    section: usize,
    /// Its block, of those of its section.
    block: usize,
    text: &'a str,
    terms: Vec<Term>,
}

/// The sentences that have most of the words that are looked for; without any, those of the passage
/// that is nearest in meaning, else the first.
pub(super) fn of(document: &Document, query: &[Term], passage: Option<usize>) -> String {
    let sentences = sentences(document, query);
    let best = best(&sentences).or_else(|| first_of(document, &sentences, passage));
    let Some(range) = best else {
        return String::new();
    };
    let chosen = sentences.get(range).unwrap_or_default();
    let words: Vec<&str> = chosen
        .iter()
        .flat_map(|one| one.text.split_whitespace())
        .collect();
    cut(&words.join(" "), query)
}

fn sentences<'a>(document: &'a Document, query: &[Term]) -> Vec<Sentence<'a>> {
    let sections = document.sections().iter().enumerate();
    let sentences = sections.flat_map(|(at, section)| {
        let texts = texts(section);
        texts.filter_map(move |(block, range, text)| {
            // A link to a successor bears the successor's name.
            let is_said = !document.is_standing(at, block, &range);
            is_said.then_some((at, (block, text)))
        })
    });
    let sentences = sentences
        .take(MAX_SENTENCES)
        .map(|(section, (block, text))| {
            let mut terms = query_terms(text);
            terms.retain(|term| query.binary_search(term).is_ok());
            Sentence {
                section,
                block,
                text,
                terms,
            }
        });
    sentences.collect()
}

/// The sentences of a section, each with its block and its place there.
fn texts(section: &Section) -> impl Iterator<Item = (usize, Range<usize>, &str)> {
    let blocks = section.blocks.iter().enumerate();
    blocks.flat_map(|(at, block)| {
        let sentences = block.sentences();
        sentences.filter_map(move |(range, _)| {
            let text = block.text.get(range.clone())?;
            Some((at, range, text))
        })
    })
}

/// The run of sentences of one section that has most words of the query; of equals the shorter one,
/// then the first.
fn best(sentences: &[Sentence<'_>]) -> Option<Range<usize>> {
    let mut best: Option<(usize, usize, Range<usize>)> = None;
    for (start, first) in sentences.iter().enumerate() {
        if first.terms.is_empty() {
            continue;
        }
        let (mut found, mut length): (Vec<Term>, usize) = (Vec::new(), 0);
        let run = sentences.iter().enumerate().skip(start).take(MAX_RUN);
        for (at, sentence) in run.take_while(|(_, one)| one.section == first.section) {
            length += sentence.text.len() + 1;
            if length > LENGTH && at > start {
                break;
            }
            let new = sentence.terms.iter();
            found.extend(new.filter(|term| !are_in(sentences, start..at, **term)));
            let is_better = best.as_ref().is_none_or(|(most, shortest, _)| {
                found.len() > *most || (found.len() == *most && length < *shortest)
            });
            if is_better {
                best = Some((found.len(), length, start..at + 1));
            }
        }
    }
    let (_, _, range) = best?;
    Some(widened(sentences, range))
}

/// Whether a word is in one of these sentences already.
fn are_in(sentences: &[Sentence<'_>], range: Range<usize>, term: Term) -> bool {
    let before = sentences.get(range).unwrap_or_default();
    before.iter().any(|sentence| sentence.terms.contains(&term))
}

/// With the sentences that follow it in its section, as long as they fit.
fn widened(sentences: &[Sentence<'_>], range: Range<usize>) -> Range<usize> {
    let own = sentences.get(range.clone()).unwrap_or_default();
    let section = own.first().map(|sentence| sentence.section);
    let mut length: usize = own.iter().map(|sentence| sentence.text.len() + 1).sum();
    let mut end = range.end;
    while let Some(next) = sentences.get(end) {
        length += next.text.len() + 1;
        if length > LENGTH || Some(next.section) != section {
            break;
        }
        end += 1;
    }
    range.start..end
}

/// The first sentences of the passage that is nearest in meaning, else of the document.
fn first_of(
    document: &Document,
    sentences: &[Sentence<'_>],
    passage: Option<usize>,
) -> Option<Range<usize>> {
    let passages = passages::passages(document);
    let passage = passage.and_then(|at| passages.get(at));
    let is_within = |sentence: &Sentence<'_>| {
        passage.is_none_or(|passage| {
            sentence.section == passage.section && passage.blocks.contains(&sentence.block)
        })
    };
    let start = sentences.iter().position(is_within)?;
    Some(widened(sentences, start..start + 1))
}

/// A sentence that is too long, cut between words around the first that was looked for.
fn cut(text: &str, query: &[Term]) -> String {
    if text.len() <= LENGTH {
        return text.to_owned();
    }
    let has = |word: &str| {
        let mut terms = query_terms(word).into_iter();
        terms.any(|term| query.binary_search(&term).is_ok())
    };
    let mut place = 0;
    let mut words = text.split_inclusive(' ');
    let hit = words.find_map(|word| {
        place += word.len();
        has(word).then_some(place - word.len())
    });
    // A third of it stands before what was looked for.
    let start = hit.unwrap_or(0).saturating_sub(LENGTH / 3);
    let start = text.floor_char_boundary(start);
    let from = text.get(start..).unwrap_or_default();
    let blank = if start == 0 {
        0
    } else {
        from.find(' ').map_or(0, |at| at + 1)
    };
    let from = from.get(blank..).unwrap_or_default();
    let most = from.get(..from.floor_char_boundary(LENGTH)).unwrap_or(from);
    let is_end = most.len() == from.len();
    let end = if is_end {
        most.len()
    } else {
        most.rfind(' ').unwrap_or(most.len())
    };
    let shown = most.get(..end).unwrap_or(most);
    let before = if start == 0 { "" } else { "… " };
    let after = if is_end { "" } else { " …" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests;
