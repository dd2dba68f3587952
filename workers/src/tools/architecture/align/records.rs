//! The decisions of a library, as they are compared.

use std::collections::HashMap;

use archway_architecture::{
    alignment::{Decision, Label},
    document::{Document, Kind},
    library::Library,
};
use archway_repo::{Cancel, Stopped};

/// The decision records of a library. Decisions are identified by their index here.
pub(super) fn documents(library: &Library) -> Vec<&Document> {
    library.of_kind(Kind::Adr).collect()
}

/// The decision of each document.
pub(super) fn decisions<'a>(
    documents: &[&'a Document],
    successors: &'a [Vec<usize>],
    cancel: &Cancel,
) -> Result<Vec<Decision<'a>>, Stopped> {
    let mut decisions = Vec::with_capacity(documents.len());
    for (document, successors) in documents.iter().zip(successors) {
        cancel.check()?;
        decisions.extend(decision(document, successors));
    }
    Ok(decisions)
}

/// For each decision, the indexes of those that supersede it.
pub(super) fn successors(documents: &[&Document]) -> Vec<Vec<usize>> {
    let indexes = documents.iter().enumerate();
    let indexes: HashMap<&str, usize> = indexes
        .map(|(at, document)| (document.slug.as_str(), at))
        .collect();
    let index_of = |slug: &String| indexes.get(slug.as_str()).copied();
    let of = |document: &&Document| {
        let record = document.record.as_ref();
        let slugs = record.into_iter().flat_map(|record| &record.superseded_by);
        slugs.filter_map(index_of).collect()
    };
    documents.iter().map(of).collect()
}

fn decision<'a>(document: &'a Document, successors: &'a [usize]) -> Option<Decision<'a>> {
    let record = document.record.as_ref()?;
    Some(Decision {
        id: &record.id,
        status: record.status,
        successors,
        positions: document.positions()?,
        markdown: &document.content.markdown,
        source: document.text(),
    })
}

/// A label as answers write it.
pub(super) fn name(label: Label) -> &'static str {
    match label {
        Label::Conflicts => "conflicts",
        Label::Supports => "supports",
        Label::Related => "related",
    }
}
