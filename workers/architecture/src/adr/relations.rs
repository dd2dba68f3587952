//! What a record says of other records: which it supersedes, by which it is superseded.
//!
//! Which records are meant is for the library to find out, which knows them all.

use std::ops::Range;

use super::Passage;
use super::parts::{Bit, Part};
use crate::markdown::Markdown;

/// How one record stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It takes the other's place.
    Supersedes,
    /// The other takes its place.
    SupersededBy,
    /// It changes a part of the other.
    Amends,
    /// The other changes a part of it.
    AmendedBy,
}

/// What a record says of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// How it stands to it.
    pub(crate) how: How,
    /// What it calls it: a number, a slug or a title.
    pub(crate) name: String,
    /// Where a link to it leads, as it is written.
    pub(crate) target: Option<String>,
}

/// How many relations of one record are kept.
const MAX_RELATIONS: usize = 50;
/// How often one line may say one.
const MAX_SAID: usize = 50;
/// How long a title may be by which another record is named, in bytes.
const MAX_TITLE: usize = 200;

/// The words that say it. Where one is within another, the longer one comes first.
const WORDS: [(&str, How); 20] = [
    ("superseded by", How::SupersededBy),
    ("superceded by", How::SupersededBy),
    ("superseded with", How::SupersededBy),
    ("superseded in favor of", How::SupersededBy),
    ("superseded in favour of", How::SupersededBy),
    ("superseded:", How::SupersededBy),
    ("replaced by", How::SupersededBy),
    ("replaced with", How::SupersededBy),
    ("obsoleted by", How::SupersededBy),
    ("deprecated by", How::SupersededBy),
    ("in favor of", How::SupersededBy),
    ("supersedes", How::Supersedes),
    ("supercedes", How::Supersedes),
    ("replaces", How::Supersedes),
    ("obsoletes", How::Supersedes),
    ("amended by", How::AmendedBy),
    ("refined by", How::AmendedBy),
    ("extended by", How::AmendedBy),
    ("amends", How::Amends),
    ("refines", How::Amends),
];

/// The fields of front matter that say it.
const FIELDS: [(&str, How); 8] = [
    ("superseded-by", How::SupersededBy),
    ("supersededby", How::SupersededBy),
    ("replaced-by", How::SupersededBy),
    ("supersedes", How::Supersedes),
    ("replaces", How::Supersedes),
    ("amended-by", How::AmendedBy),
    ("amends", How::Amends),
    ("refines", How::Amends),
];

/// All that a record says, each once.
pub(super) fn of(markdown: &Markdown, bits: &[Bit]) -> Vec<Relation> {
    let mut found = Vec::new();
    for (name, how) in FIELDS {
        let values = markdown
            .field(name)
            .into_iter()
            .flat_map(|field| &field.values);
        found.extend(values.flat_map(|value| of_value(how, value)));
    }
    for field in markdown.front.iter().filter(|field| field.is("status")) {
        for (how, range) in said(&field.value()) {
            let value = field.value();
            found.extend(of_value(how, value.get(range).unwrap_or_default()));
        }
    }
    for bit in bits {
        if found.len() >= MAX_RELATIONS {
            break;
        }
        found.extend(of_bit(markdown, bit));
    }
    found.truncate(MAX_RELATIONS);
    let mut each: Vec<Relation> = Vec::new();
    for relation in found {
        if !each.contains(&relation) {
            each.push(relation);
        }
    }
    each
}

/// What a passage says, line by line: anywhere in a status or among links, else only of the record
/// itself.
fn of_bit(markdown: &Markdown, bit: &Bit) -> Vec<Relation> {
    let text = bit.passage.text(markdown);
    let (mut found, mut place) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let is_about_it = matches!(bit.part, Part::Status | Part::Links)
            || WORDS.iter().any(|(word, _)| lower.starts_with(word))
            || ["this adr ", "this decision ", "this record "]
                .iter()
                .any(|it| lower.contains(it));
        if is_about_it {
            for (how, range) in said(line) {
                let range = place + range.start..place + range.end;
                found.extend(of_words(markdown, &bit.passage.within(range), how));
            }
        }
        place += line.len();
    }
    found
}

/// Whether a text begins with what took the record's place.
pub(super) fn names_successor(text: &str) -> bool {
    WORDS.iter().any(|(word, how)| {
        // "In favour of it speaks …" begins an argument.
        let is_own = *how == How::SupersededBy && !word.starts_with("in ");
        let start = text.get(..word.len());
        is_own && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

/// What a line says, and where the records are named.
fn said(line: &str) -> Vec<(How, Range<usize>)> {
    let lower = line.to_ascii_lowercase();
    let mut starts: Vec<(usize, usize, How)> = Vec::new();
    for (word, how) in WORDS {
        for (at, _) in lower.match_indices(word).take(MAX_SAID) {
            let is_known = starts
                .iter()
                .any(|(start, end, _)| (*start..*end).contains(&at));
            if !is_known && starts.len() < MAX_SAID {
                starts.push((at, at + word.len(), how));
            }
        }
    }
    starts.sort_unstable_by_key(|(start, ..)| *start);
    let next = |at: usize| starts.get(at + 1).map_or(line.len(), |(start, ..)| *start);
    let found = starts.iter().enumerate();
    found
        .map(|(at, (_, end, how))| (*how, *end..next(at)))
        .collect()
}

/// The records that a passage names: what it links to, else numbers and slugs.
fn of_words(markdown: &Markdown, passage: &Passage, how: How) -> Vec<Relation> {
    let Some(block) = passage.block(markdown) else {
        return Vec::new();
    };
    let range = &passage.range;
    let links = block.links.iter();
    let links = links.filter(|link| link.text.start >= range.start && link.text.end <= range.end);
    let of_links: Vec<Relation> = links
        .map(|link| Relation {
            how,
            name: block
                .text
                .get(link.text.clone())
                .unwrap_or_default()
                .to_owned(),
            target: Some(link.target.clone()),
        })
        .collect();
    match of_links.is_empty() {
        true => of_value(how, passage.text(markdown)),
        false => of_links,
    }
}

/// The records that a text without links names: in markdown's own spelling of one, by numbers and
/// slugs, or by a title.
fn of_value(how: How, value: &str) -> Vec<Relation> {
    let relation = |name: &str, target: Option<&str>| Relation {
        how,
        name: name.trim().to_owned(),
        target: target.map(str::to_owned),
    };
    if let Some((name, rest)) = value.split_once("](") {
        let target = rest.split(')').next();
        return vec![relation(name.trim_start().trim_start_matches('['), target)];
    }
    let words = value.split(|c: char| c.is_whitespace() || ",;()[]\"'".contains(c));
    let words = words.map(|word| word.trim_matches(['.', ':', '#', '*', '_', '`']));
    let mut names = words
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
        .peekable();
    if names.peek().is_none() {
        let title = value.trim().trim_end_matches('.');
        let is_title = !title.is_empty() && title.len() <= MAX_TITLE;
        return is_title
            .then(|| relation(title, None))
            .into_iter()
            .collect();
    }
    names
        .map(|name| relation(name, name.ends_with(".md").then_some(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(how: How, value: &str) -> Vec<(String, Option<String>)> {
        let relations = of_value(how, value).into_iter();
        relations
            .map(|relation| (relation.name, relation.target))
            .collect()
    }

    #[test]
    fn records_are_named_by_numbers_slugs_and_links() {
        let name = |name: &str, target: Option<&str>| (name.to_owned(), target.map(str::to_owned));
        assert_eq!(names(How::Amends, " ADR-0005."), [name("ADR-0005", None)]);
        assert_eq!(
            names(How::Amends, "#5 and 0007-use-it"),
            [name("5", None), name("0007-use-it", None)]
        );
        assert_eq!(
            names(How::Amends, "[ADR 5](../0005-b.md)"),
            [name("ADR 5", Some("../0005-b.md"))]
        );
        assert_eq!(
            names(How::Amends, "0005-b.md"),
            [name("0005-b.md", Some("0005-b.md"))]
        );
        assert_eq!(
            names(How::Amends, " The next one."),
            [name("The next one", None)]
        );
        assert!(names(How::Amends, " . ").is_empty());
    }

    #[test]
    fn a_line_may_say_several_things() {
        let line = "Accepted, supersedes ADR-1; superseded by ADR-9";
        let said: Vec<_> = said(line)
            .into_iter()
            .map(|(how, range)| (how, line.get(range).unwrap()))
            .collect();
        let expected = [(How::Supersedes, " ADR-1; "), (How::SupersededBy, " ADR-9")];
        assert_eq!(said, expected);
    }
}
