//! What a listing found: pages are added one by one, each within its bounds.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    connection::{Connection, MOST_REPOSITORIES},
    dialect::HostAddress,
    error::ListingError,
    filter::Exclusion,
    repository::{HostEntry, HostedRepository},
};

/// How many ids a mark has at most; more were pushed within one second only in a test.
const MOST_MARKED: usize = 1000;

/// A listing's answer.
#[derive(Clone, Debug)]
pub enum Listing {
    /// Nothing changed since the mark (304), which stays good.
    Unchanged,
    /// What was pushed since the mark, perhaps nothing. It tells nothing of what is missing.
    Changed(FoundRepositories),
    /// Everything that the owner has.
    Whole(FoundRepositories),
}

/// The repositories that a listing found.
#[derive(Clone, Debug, Default)]
pub struct FoundRepositories {
    /// To be served, by path; at most `max`.
    pub repositories: Vec<HostedRepository>,
    /// Ids that the host lists, but that are not to be served. At most 100,000.
    pub excluded: BTreeMap<String, Exclusion>,
    /// How many entries of the host have no id, and were left out.
    pub unreadable: usize,
    /// How many pages were read.
    pub pages: usize,
    /// To be given to the next listing; `None` for a list of URLs.
    pub mark: Option<ListingMark>,
}

/// What a listing saw, so that the next one reads only what is newer. Opaque; kept as JSON.
///
/// It is good for the same connection: after an edit of its settings, list without a mark.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ListingMark {
    /// The URL of the first page.
    pub(super) route: String,
    pub(super) etag: Option<String>,
    /// The latest push, never in the future.
    newest: Option<Timestamp>,
    /// Which repositories were pushed then.
    newest_ids: BTreeSet<u64>,
}

/// What an entry has at least.
#[derive(Deserialize)]
struct EntryId {
    id: u64,
}

/// A listing under way.
pub(super) struct Gathering<'a> {
    connection: &'a Connection,
    address: &'a HostAddress,
    since: Option<&'a ListingMark>,
    now: Timestamp,
    seen: HashSet<u64>,
    /// Served ones, those above `max` included.
    served: usize,
    found: FoundRepositories,
    mark: ListingMark,
}

impl<'a> Gathering<'a> {
    /// With `since`, only newer entries are taken.
    pub(super) fn new(
        connection: &'a Connection,
        address: &'a HostAddress,
        since: Option<&'a ListingMark>,
        first: (String, Option<String>),
    ) -> Gathering<'a> {
        let (route, etag) = first;
        let mark = ListingMark {
            route,
            etag,
            newest: since.and_then(|mark| mark.newest),
            newest_ids: since.map_or_else(BTreeSet::new, |mark| mark.newest_ids.clone()),
        };
        Gathering {
            connection,
            address,
            since,
            now: Timestamp::now(),
            seen: HashSet::new(),
            served: 0,
            found: FoundRepositories::default(),
            mark,
        }
    }

    /// Adds the entries of a page, and says whether the pages after it can have more.
    pub(super) fn add(&mut self, body: &[u8]) -> Result<bool, ListingError> {
        let entries: Vec<&RawValue> = serde_json::from_slice(body)
            .map_err(|error| ListingError::invalid(&format!("a page is no list: {error}")))?;
        self.found.pages += 1;
        let (mut read, mut has_news) = (0, false);
        for json in &entries {
            match self.address.kind.entry(json.get()) {
                Ok(entry) => {
                    read += 1;
                    has_news |= self.take(entry)?;
                }
                Err(_unreadable) => read += usize::from(self.leave_out(json)?),
            }
        }
        if read == 0 && !entries.is_empty() {
            return Err(ListingError::invalid("no entry of a page is a repository"));
        }
        Ok(has_news)
    }

    /// An entry that can't be read is listed all the same, if it has an id: it is not gone. Says
    /// whether it has.
    fn leave_out(&mut self, json: &RawValue) -> Result<bool, ListingError> {
        match serde_json::from_str(json.get()) {
            Ok(EntryId { id }) if self.seen.insert(id) => {
                let excluded = &mut self.found.excluded;
                excluded.insert(id.to_string(), Exclusion::Unusable);
            }
            Ok(EntryId { .. }) => {}
            Err(_no_id) => {
                self.found.unreadable += 1;
                return Ok(false);
            }
        }
        match self.seen.len() > MOST_REPOSITORIES as usize {
            true => Err(too_many_listed()),
            false => Ok(true),
        }
    }

    /// The listing, if it is within the connection's bound.
    pub(super) fn finish(mut self) -> Result<Listing, ListingError> {
        check_max(self.connection, self.served)?;
        self.found.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.mark = Some(self.mark);
        Ok(match self.since {
            Some(_) => Listing::Changed(self.found),
            None => Listing::Whole(self.found),
        })
    }

    /// Whether the entry is new, and thus taken.
    fn take(&mut self, entry: HostEntry) -> Result<bool, ListingError> {
        // What is pushed while pages are read moves to the first page, and others move down a place:
        // they are seen twice.
        if !self.seen.insert(entry.id) {
            return Ok(false);
        }
        if self.seen.len() > MOST_REPOSITORIES as usize {
            return Err(too_many_listed());
        }
        if self.since.is_some_and(|mark| !mark.is_before(&entry)) {
            return Ok(false);
        }
        self.mark.see(&entry, self.now);
        let below = self.address.below(&entry.path);
        let exclusion = self.connection.filter.exclusion(&entry, below);
        let id = entry.id.to_string();
        if let Some(exclusion) = exclusion {
            self.found.excluded.insert(id, exclusion);
            return Ok(true);
        }
        match entry.checked(&self.address.clone_origin, &self.connection.allowed) {
            None => _ = self.found.excluded.insert(id, Exclusion::Unusable),
            Some(repository) => {
                self.served += 1;
                if self.served <= self.connection.max {
                    self.found.repositories.push(repository);
                }
            }
        }
        Ok(true)
    }
}

fn too_many_listed() -> ListingError {
    ListingError::TooMany {
        found: MOST_REPOSITORIES as usize + 1,
        limit: MOST_REPOSITORIES as usize,
        remedy: "the host lists more than one connection takes: name a smaller group or organisation",
    }
}

/// Whether a connection may serve so many.
pub(super) fn check_max(connection: &Connection, served: usize) -> Result<(), ListingError> {
    match served <= connection.max {
        true => Ok(()),
        false => Err(ListingError::TooMany {
            found: served,
            limit: connection.max,
            remedy: "raise `max` of the connection, or narrow it by `include` and `exclude`",
        }),
    }
}

impl FoundRepositories {
    /// With what an earlier listing of the connection found besides.
    ///
    /// # Errors
    /// If these are more than the connection may serve.
    pub(crate) fn joined(
        mut self,
        earlier: FoundRepositories,
        connection: &Connection,
    ) -> Result<FoundRepositories, ListingError> {
        let seen: HashSet<String> = self.ids().map(str::to_owned).collect();
        let is_new = |id: &String| !seen.contains(id);
        let repositories = earlier.repositories.into_iter();
        self.repositories
            .extend(repositories.filter(|it| is_new(&it.host_id)));
        self.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        let excluded = earlier.excluded.into_iter();
        self.excluded.extend(excluded.filter(|(id, _)| is_new(id)));
        check_max(connection, self.repositories.len())?;
        Ok(self)
    }

    /// The ids of all entries that were read.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        let served = self.repositories.iter().map(|it| it.host_id.as_str());
        served.chain(self.excluded.keys().map(String::as_str))
    }

    /// How many repositories are listed, but cannot be served: because of their name, or because their
    /// clone URL is refused or on another host.
    pub fn unusable(&self) -> usize {
        let is_unusable = |exclusion: &&Exclusion| **exclusion == Exclusion::Unusable;
        self.excluded.values().filter(is_unusable).count()
    }
}

impl ListingMark {
    /// Whether the entry was pushed after the mark was made.
    fn is_before(&self, entry: &HostEntry) -> bool {
        match (self.newest, entry.pushed_at) {
            (Some(newest), Some(at)) if at == newest => !self.newest_ids.contains(&entry.id),
            (Some(newest), Some(at)) => at > newest,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    /// A time in the future is left out: it would hide every push until then.
    fn see(&mut self, entry: &HostEntry, now: Timestamp) {
        let Some(at) = entry.pushed_at.filter(|at| *at <= now) else {
            return;
        };
        if self.newest.is_none_or(|newest| at > newest) {
            self.newest = Some(at);
            self.newest_ids.clear();
        }
        if self.newest == Some(at) && self.newest_ids.len() < MOST_MARKED {
            self.newest_ids.insert(entry.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::hosts::{connection::Source, testing};

    proptest! {
        #[test]
        fn no_page_panics_and_what_is_found_is_fit_to_show(
            entries in proptest::collection::vec(entry(), 0..8), cut in 0..4000_usize,
        ) {
            let source = json!({ "github": { "org": "acme", "url": "https://host" } });
            let connection = testing::checked(source, json!({}));
            let Source::Host(address) = &connection.source else { unreachable!() };
            let mut gathering = Gathering::new(&connection, address, None, (String::new(), None));
            let whole = format!("[{}]", entries.join(","));
            let cut: Vec<u8> = whole.bytes().take(cut).collect();
            // Refusals are good here: what counts is that they are refusals.
            _ = gathering.add(&cut);
            _ = gathering.add(whole.as_bytes());
            let Ok(Listing::Whole(found)) = gathering.finish() else { unreachable!() };
            for it in &found.repositories {
                prop_assert!(it.clone_url.as_str().starts_with("https://host/"));
                let texts = [Some(&it.path), it.description.as_ref(), it.default_branch.as_ref()];
                for text in texts.into_iter().flatten().chain(&it.topics) {
                    prop_assert!(!archway_proto::misleading::misleads(text) && !text.contains('\n'));
                }
            }
        }
    }

    /// An entry, each field of which may be missing or of any shape.
    fn entry() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            any::<String>().prop_map(|text| json!(text)),
            "https://(host|evil)/[a-z./-]{0,9}".prop_map(|text| json!(text)),
            any::<u64>().prop_map(|number| json!(number)),
            any::<bool>().prop_map(|flag| json!(flag)),
            proptest::collection::vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
            Just(json!(null)),
        ];
        const FIELDS: [&str; 8] = [
            "id",
            "full_name",
            "clone_url",
            "default_branch",
            "description",
            "topics",
            "fork",
            "pushed_at",
        ];
        let changes = proptest::collection::vec((0..FIELDS.len(), value), 0..4);
        (0..9_u64, "[ -~é\u{202e}\n]{0,9}", changes).prop_map(|(id, name, changes)| {
            let mut entry = testing::entry("https://host", id, &name, "2026-01-01T00:00:00Z");
            for (field, value) in changes {
                entry[FIELDS[field]] = value;
            }
            entry.to_string()
        })
    }
}
