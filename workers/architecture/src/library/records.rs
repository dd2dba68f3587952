//! Resolves relations between decisions: their ids, and which supersedes which.

use std::collections::{BTreeSet, HashMap};

use archway_repo::RepoPath;

use crate::adr::{Relation, RelationKind, Status, number_of_stem};
use crate::document::{Document, Kind, Record};

/// At most this many superseded decisions, and superseding ones, are listed in a record.
const MAX_NAMED: usize = 50;

/// Sets the record of each decision.
pub(super) fn resolve(documents: &mut [Document]) {
    let records = {
        let index = Index::of(documents);
        // Pairs of indexes: the newer decision, and the one it supersedes.
        let mut pairs = BTreeSet::new();
        for (at, document) in documents.iter().enumerate() {
            let relations = document.adr().into_iter().flat_map(|adr| &adr.relations);
            for relation in relations {
                let Some(other) = index.find(document, relation).filter(|other| *other != at)
                else {
                    continue;
                };
                match relation.kind {
                    RelationKind::Supersedes => _ = pairs.insert((at, other)),
                    RelationKind::SupersededBy => _ = pairs.insert((other, at)),
                    RelationKind::Amends | RelationKind::AmendedBy => {}
                }
            }
        }
        let supersessions = Supersessions::of(documents.len(), &pairs);
        let records = (0..documents.len()).map(|at| record(documents, at, &supersessions));
        records.collect::<Vec<_>>()
    };
    for (document, record) in documents.iter_mut().zip(records) {
        document.record = record;
    }
}

/// For each decision, the indexes of those that supersede it and that it supersedes.
struct Supersessions {
    newer: Vec<Vec<usize>>,
    older: Vec<Vec<usize>>,
}

impl Supersessions {
    fn of(count: usize, pairs: &BTreeSet<(usize, usize)>) -> Supersessions {
        let mut supersessions = Supersessions {
            newer: vec![Vec::new(); count],
            older: vec![Vec::new(); count],
        };
        for (newer, older) in pairs {
            supersessions
                .newer
                .get_mut(*older)
                .into_iter()
                .for_each(|list| list.push(*newer));
            supersessions
                .older
                .get_mut(*newer)
                .into_iter()
                .for_each(|list| list.push(*older));
        }
        supersessions
    }
}

/// The record of a document; `None` if it is not a decision.
fn record(documents: &[Document], at: usize, supersessions: &Supersessions) -> Option<Record> {
    let document = documents.get(at)?;
    let adr = document.adr()?;
    let slugs = |indexes: &[usize]| {
        let named = indexes.iter().filter_map(|at| documents.get(*at));
        let slugs = named.map(|document| document.slug.clone());
        slugs.take(MAX_NAMED).collect()
    };
    let (newer, older) = (supersessions.newer.get(at)?, supersessions.older.get(at)?);
    // A proposed or rejected decision doesn't supersede others.
    let is_in_effect = |newer: &usize| {
        let newer = documents.get(*newer).and_then(Document::adr);
        let status = newer.map(|adr| adr.status);
        !matches!(status, Some(Status::Proposed | Status::Rejected))
    };
    let status = match adr.status {
        Status::Accepted | Status::Unknown if newer.iter().any(is_in_effect) => Status::Superseded,
        status => status,
    };
    let stem = document.slug.split('~').next().unwrap_or_default();
    let number = number_of_stem(stem).or(adr.number.as_deref());
    Some(Record {
        id: number.unwrap_or(&document.slug).to_owned(),
        status,
        supersedes: slugs(older),
        superseded_by: slugs(newer),
    })
}

/// Decisions by path, name and number.
struct Index<'a> {
    by_path: HashMap<&'a RepoPath, usize>,
    by_name: HashMap<String, NamedDecisions>,
    by_number: HashMap<u64, NamedDecisions>,
}

/// Decisions with the same name: the first of all, and the first in each folder.
#[derive(Default)]
struct NamedDecisions {
    first: Option<usize>,
    by_folder: HashMap<Option<RepoPath>, usize>,
}

impl<'a> Index<'a> {
    fn of(documents: &'a [Document]) -> Index<'a> {
        let mut index = Index {
            by_path: HashMap::new(),
            by_name: HashMap::new(),
            by_number: HashMap::new(),
        };
        let decisions = documents.iter().enumerate();
        for (at, document) in decisions.filter(|(_, document)| document.kind == Kind::Adr) {
            let Some(adr) = document.adr() else { continue };
            index.by_path.insert(&document.path, at);
            for name in [&document.slug, &adr.title, &document.title] {
                index
                    .by_name
                    .entry(name.to_lowercase())
                    .or_default()
                    .add(document, at);
            }
            let number = number_of_stem(&document.slug).or(adr.number.as_deref());
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                index.by_number.entry(number).or_default().add(document, at);
            }
        }
        index
    }

    /// The decision that a relation in `from` names: by a link's path, a name, or a number.
    fn find(&self, from: &Document, relation: &Relation) -> Option<usize> {
        let target = relation.target.as_deref();
        let linked = target.and_then(|target| self.linked(from, target));
        let name = || {
            let name = relation.name.to_lowercase();
            let name = name.trim_end_matches(".md");
            self.by_name.get(name)?.nearest(from)
        };
        let number = || {
            let (number, _) = crate::adr::split_number(&format!("{}:", relation.name));
            let number = number?.parse().ok()?;
            self.by_number.get(&number)?.nearest(from)
        };
        let of_slug = || {
            let number = number_of_stem(&relation.name)?.parse().ok()?;
            self.by_number.get(&number)?.nearest(from)
        };
        linked.or_else(name).or_else(of_slug).or_else(number)
    }

    /// The decision that a link points to: by path, otherwise by file name.
    fn linked(&self, from: &Document, target: &str) -> Option<usize> {
        let path = target.split(['#', '?']).next()?;
        let found = joined(&from.path, path).and_then(|path| self.by_path.get(&path).copied());
        found.or_else(|| {
            let name = path.trim_end_matches('/').rsplit('/').next()?;
            let stem = name.trim_end_matches(".md").trim_end_matches(".html");
            self.by_name.get(&stem.to_lowercase())?.nearest(from)
        })
    }
}

impl NamedDecisions {
    fn add(&mut self, document: &Document, at: usize) {
        self.first.get_or_insert(at);
        self.by_folder.entry(document.path.parent()).or_insert(at);
    }

    /// The decision in the same folder, otherwise the first.
    fn nearest(&self, from: &Document) -> Option<usize> {
        let in_folder = self.by_folder.get(&from.path.parent()).copied();
        in_folder.or(self.first)
    }
}

/// Resolves a relative path from a document; `None` if it is above the root or a URL.
fn joined(from: &RepoPath, path: &str) -> Option<RepoPath> {
    if path.contains("://") {
        return None;
    }
    let mut folder = match path.starts_with('/') {
        true => RepoPath::root(),
        false => from.parent()?,
    };
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        folder = match name {
            ".." => folder.parent()?,
            name => folder.join(name.as_bytes()),
        };
    }
    Some(folder)
}
