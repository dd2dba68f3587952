//! Excerpts that show why a document matched: whole sentences around the best one.

use std::ops::Range;

use archway_index::terms::{Term, query_terms};

use super::passages;
use crate::document::Document;
use crate::markdown::Section;

/// The maximum length of an excerpt, in bytes.
const LENGTH: usize = 320;
/// At most this many sentences of a document are considered.
const MAX_SENTENCES: usize = 2000;
/// At most this many sentences make an excerpt.
const MAX_RUN: usize = 8;

/// A sentence and the query's words in it.
struct Sentence<'a> {
    section: usize,
    /// Index of the block in its section.
    block: usize,
    text: &'a str,
    terms: Vec<Term>,
}

/// The sentences with the most words of the query. Without any, those of the most similar passage;
/// without vectors, the first ones.
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
            // A link to a successor contains the successor's name.
            let is_content = !document.is_status_line(at, block, &range);
            is_content.then_some((at, (block, text)))
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

/// The sentences of a section, each with its block index and its range there.
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

/// The run of sentences in one section with the most words of the query. Among equals the shortest
/// wins, then the first.
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
            found.extend(new.filter(|term| !contains_term(sentences, start..at, **term)));
            let is_better = best.as_ref().is_none_or(|(most, shortest, _)| {
                found.len() > *most || (found.len() == *most && length < *shortest)
            });
            if is_better {
                best = Some((found.len(), length, start..at + 1));
            }
        }
    }
    let (_, _, range) = best?;
    Some(extended(sentences, range))
}

/// Whether one of these sentences has the word.
fn contains_term(sentences: &[Sentence<'_>], range: Range<usize>, term: Term) -> bool {
    let before = sentences.get(range).unwrap_or_default();
    before.iter().any(|sentence| sentence.terms.contains(&term))
}

/// Extends a range by the sentences that follow in its section, up to the maximum length.
fn extended(sentences: &[Sentence<'_>], range: Range<usize>) -> Range<usize> {
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

/// The first sentences of the most similar passage, otherwise of the document.
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
    Some(extended(sentences, start..start + 1))
}

/// Shortens a long sentence at word boundaries, around the first word of the query.
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
    // A third of the excerpt precedes the word.
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
