//! Relations between records: supersedes, is superseded by, amends, is amended by.
//!
//! The library resolves the names to records, because it knows all of them.

use std::ops::Range;

use super::Passage;
use super::parts::{Part, Segment};
use crate::markdown::Markdown;

/// The kind of a relation, seen from the record that states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelationKind {
    /// This record replaces the other.
    Supersedes,
    /// The other record replaces this one.
    SupersededBy,
    /// This record changes part of the other.
    Amends,
    /// The other record changes part of this one.
    AmendedBy,
}

/// A relation that a record states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    pub(crate) kind: RelationKind,
    /// The other record's number, slug or title, as written.
    pub(crate) name: String,
    /// The target of the link to the other record, as written.
    pub(crate) target: Option<String>,
}

/// At most this many relations are read per record.
const MAX_RELATIONS: usize = 50;
/// At most this many relations are read per line.
const MAX_MENTIONS: usize = 50;
/// The longest title that can name another record, in bytes.
const MAX_TITLE: usize = 200;

/// Phrases that state a relation. If one contains another, the longer one comes first.
const WORDS: [(&str, RelationKind); 20] = [
    ("superseded by", RelationKind::SupersededBy),
    ("superceded by", RelationKind::SupersededBy),
    ("superseded with", RelationKind::SupersededBy),
    ("superseded in favor of", RelationKind::SupersededBy),
    ("superseded in favour of", RelationKind::SupersededBy),
    ("superseded:", RelationKind::SupersededBy),
    ("replaced by", RelationKind::SupersededBy),
    ("replaced with", RelationKind::SupersededBy),
    ("obsoleted by", RelationKind::SupersededBy),
    ("deprecated by", RelationKind::SupersededBy),
    ("in favor of", RelationKind::SupersededBy),
    ("supersedes", RelationKind::Supersedes),
    ("supercedes", RelationKind::Supersedes),
    ("replaces", RelationKind::Supersedes),
    ("obsoletes", RelationKind::Supersedes),
    ("amended by", RelationKind::AmendedBy),
    ("refined by", RelationKind::AmendedBy),
    ("extended by", RelationKind::AmendedBy),
    ("amends", RelationKind::Amends),
    ("refines", RelationKind::Amends),
];

/// Front matter fields that state a relation.
const FIELDS: [(&str, RelationKind); 8] = [
    ("superseded-by", RelationKind::SupersededBy),
    ("supersededby", RelationKind::SupersededBy),
    ("replaced-by", RelationKind::SupersededBy),
    ("supersedes", RelationKind::Supersedes),
    ("replaces", RelationKind::Supersedes),
    ("amended-by", RelationKind::AmendedBy),
    ("amends", RelationKind::Amends),
    ("refines", RelationKind::Amends),
];

/// All relations that a record states, without duplicates.
pub(super) fn of(markdown: &Markdown, segments: &[Segment]) -> Vec<Relation> {
    let mut found = Vec::new();
    for (name, kind) in FIELDS {
        let values = markdown
            .field(name)
            .into_iter()
            .flat_map(|field| &field.values);
        found.extend(values.flat_map(|value| of_text(kind, value)));
    }
    for field in markdown.front.iter().filter(|field| field.is("status")) {
        for (kind, range) in mentions(&field.value()) {
            let value = field.value();
            found.extend(of_text(kind, value.get(range).unwrap_or_default()));
        }
    }
    for segment in segments {
        if found.len() >= MAX_RELATIONS {
            break;
        }
        found.extend(of_segment(markdown, segment));
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

/// The relations that a passage states, line by line. Outside of a status and links, only lines
/// about the record itself count.
fn of_segment(markdown: &Markdown, segment: &Segment) -> Vec<Relation> {
    let text = segment.passage.text(markdown);
    let (mut found, mut offset) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let lower = line.to_ascii_lowercase();
        let applies = matches!(segment.part, Part::Status | Part::Links)
            || WORDS.iter().any(|(word, _)| lower.starts_with(word))
            || ["this adr ", "this decision ", "this record "]
                .iter()
                .any(|it| lower.contains(it));
        if applies {
            for (kind, range) in mentions(line) {
                let range = offset + range.start..offset + range.end;
                found.extend(of_passage(markdown, &segment.passage.within(range), kind));
            }
        }
        offset += line.len();
    }
    found
}

/// Whether a text begins by naming the record's successor.
pub(super) fn names_successor(text: &str) -> bool {
    WORDS.iter().any(|(word, kind)| {
        // "In favour of it speaks …" begins an argument.
        let is_own = *kind == RelationKind::SupersededBy && !word.starts_with("in ");
        let start = text.get(..word.len());
        is_own && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

/// The relations that a line states, each with the range that names the records.
fn mentions(line: &str) -> Vec<(RelationKind, Range<usize>)> {
    let lower = line.to_ascii_lowercase();
    let mut starts: Vec<(usize, usize, RelationKind)> = Vec::new();
    for (word, kind) in WORDS {
        for (at, _) in lower.match_indices(word).take(MAX_MENTIONS) {
            let is_covered = starts
                .iter()
                .any(|(start, end, _)| (*start..*end).contains(&at));
            if !is_covered && starts.len() < MAX_MENTIONS {
                starts.push((at, at + word.len(), kind));
            }
        }
    }
    starts.sort_unstable_by_key(|(start, ..)| *start);
    let next = |at: usize| starts.get(at + 1).map_or(line.len(), |(start, ..)| *start);
    let found = starts.iter().enumerate();
    found
        .map(|(at, (_, end, kind))| (*kind, *end..next(at)))
        .collect()
}

/// The records that a passage names: its links, otherwise numbers and slugs.
fn of_passage(markdown: &Markdown, passage: &Passage, kind: RelationKind) -> Vec<Relation> {
    let Some(block) = passage.block(markdown) else {
        return Vec::new();
    };
    let range = &passage.range;
    let links = block.links.iter();
    let links = links.filter(|link| link.text.start >= range.start && link.text.end <= range.end);
    let of_links: Vec<Relation> = links
        .map(|link| Relation {
            kind,
            name: block
                .text
                .get(link.text.clone())
                .unwrap_or_default()
                .to_owned(),
            target: Some(link.target.clone()),
        })
        .collect();
    match of_links.is_empty() {
        true => of_text(kind, passage.text(markdown)),
        false => of_links,
    }
}

/// The records that a text without parsed links names: by raw markdown links, by numbers and slugs,
/// or by a title.
fn of_text(kind: RelationKind, value: &str) -> Vec<Relation> {
    let relation = |name: &str, target: Option<&str>| Relation {
        kind,
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

    fn names(kind: RelationKind, value: &str) -> Vec<(String, Option<String>)> {
        let relations = of_text(kind, value).into_iter();
        relations
            .map(|relation| (relation.name, relation.target))
            .collect()
    }

    #[test]
    fn records_are_named_by_numbers_slugs_and_links() {
        let name = |name: &str, target: Option<&str>| (name.to_owned(), target.map(str::to_owned));
        assert_eq!(
            names(RelationKind::Amends, " ADR-0005."),
            [name("ADR-0005", None)]
        );
        assert_eq!(
            names(RelationKind::Amends, "#5 and 0007-use-it"),
            [name("5", None), name("0007-use-it", None)]
        );
        assert_eq!(
            names(RelationKind::Amends, "[ADR 5](../0005-b.md)"),
            [name("ADR 5", Some("../0005-b.md"))]
        );
        assert_eq!(
            names(RelationKind::Amends, "0005-b.md"),
            [name("0005-b.md", Some("0005-b.md"))]
        );
        assert_eq!(
            names(RelationKind::Amends, " The next one."),
            [name("The next one", None)]
        );
        assert!(names(RelationKind::Amends, " . ").is_empty());
    }

    #[test]
    fn a_line_may_state_several_relations() {
        let line = "Accepted, supersedes ADR-1; superseded by ADR-9";
        let mentions: Vec<_> = mentions(line)
            .into_iter()
            .map(|(kind, range)| (kind, line.get(range).unwrap()))
            .collect();
        let expected = [
            (RelationKind::Supersedes, " ADR-1; "),
            (RelationKind::SupersededBy, " ADR-9"),
        ];
        assert_eq!(mentions, expected);
    }
}
