//! Decisions among each other: their ids, and which supersedes which.

use std::collections::{BTreeSet, HashMap};

use archway_repo::RepoPath;

use crate::adr::{How, Relation, Status, number_of_stem};
use crate::document::{Document, Kind, Record};

/// How many decisions a record names that it supersedes, and how many that supersede it.
const MAX_NAMED: usize = 50;

/// Gives each decision its record.
pub(super) fn resolve(documents: &mut [Document]) {
    let records = {
        let index = Index::of(documents);
        // Who takes whose place, by their places among the documents.
        let mut pairs = BTreeSet::new();
        for (at, document) in documents.iter().enumerate() {
            let relations = document.adr().into_iter().flat_map(|adr| &adr.relations);
            for relation in relations {
                let Some(other) = index.find(document, relation).filter(|other| *other != at)
                else {
                    continue;
                };
                match relation.how {
                    How::Supersedes => _ = pairs.insert((at, other)),
                    How::SupersededBy => _ = pairs.insert((other, at)),
                    How::Amends | How::AmendedBy => {}
                }
            }
        }
        let order = Order::of(documents.len(), &pairs);
        let records = (0..documents.len()).map(|at| record(documents, at, &order));
        records.collect::<Vec<_>>()
    };
    for (document, record) in documents.iter_mut().zip(records) {
        document.record = record;
    }
}

/// Which decisions stand before and behind each, by their places.
struct Order {
    newer: Vec<Vec<usize>>,
    older: Vec<Vec<usize>>,
}

impl Order {
    fn of(count: usize, pairs: &BTreeSet<(usize, usize)>) -> Order {
        let mut order = Order {
            newer: vec![Vec::new(); count],
            older: vec![Vec::new(); count],
        };
        for (newer, older) in pairs {
            order
                .newer
                .get_mut(*older)
                .into_iter()
                .for_each(|known| known.push(*newer));
            order
                .older
                .get_mut(*newer)
                .into_iter()
                .for_each(|known| known.push(*older));
        }
        order
    }
}

/// What one document is among the decisions; `None` if it is none.
fn record(documents: &[Document], at: usize, order: &Order) -> Option<Record> {
    let document = documents.get(at)?;
    let adr = document.adr()?;
    let slugs = |places: &[usize]| {
        let named = places.iter().filter_map(|at| documents.get(*at));
        let slugs = named.map(|document| document.slug.clone());
        slugs.take(MAX_NAMED).collect()
    };
    let (newer, older) = (order.newer.get(at)?, order.older.get(at)?);
    // What is only proposed, or was turned down, takes nobody's place yet.
    let holds = |newer: &usize| {
        let newer = documents.get(*newer).and_then(Document::adr);
        let status = newer.map(|adr| adr.status);
        !matches!(status, Some(Status::Proposed | Status::Rejected))
    };
    let status = match adr.status {
        Status::Accepted | Status::Unknown if newer.iter().any(holds) => Status::Superseded,
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

/// Decisions by what others may call them.
struct Index<'a> {
    by_path: HashMap<&'a RepoPath, usize>,
    by_name: HashMap<String, Places>,
    by_number: HashMap<u64, Places>,
}

/// The decisions of one name: the first of all, and the first of each folder.
#[derive(Default)]
struct Places {
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

    /// The decision that `from` means: by a link's path, a slug or title, or a number.
    fn find(&self, from: &Document, relation: &Relation) -> Option<usize> {
        let target = relation.target.as_deref();
        let linked = target.and_then(|target| self.linked(from, target));
        let name = || {
            let name = relation.name.to_lowercase();
            let name = name.trim_end_matches(".md");
            self.by_name.get(name)?.nearest(from)
        };
        let number = || {
            let (number, _) = crate::adr::parted(&format!("{}:", relation.name));
            let number = number?.parse().ok()?;
            self.by_number.get(&number)?.nearest(from)
        };
        let of_slug = || {
            let number = number_of_stem(&relation.name)?.parse().ok()?;
            self.by_number.get(&number)?.nearest(from)
        };
        linked.or_else(name).or_else(of_slug).or_else(number)
    }

    /// The decision that a link leads to: at its path, else the one that is called so.
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

impl Places {
    fn add(&mut self, document: &Document, at: usize) {
        self.first.get_or_insert(at);
        self.by_folder.entry(document.path.parent()).or_insert(at);
    }

    /// Of several the one in the same folder.
    fn nearest(&self, from: &Document) -> Option<usize> {
        let beside = self.by_folder.get(&from.path.parent()).copied();
        beside.or(self.first)
    }
}

/// Where a relative path leads from a document; `None` above the root, or to another host.
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
