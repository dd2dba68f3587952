//! What a listing changes of what is known, and the guard against a host that forgets a company.
//!
//! Pure: the caller keeps what is known and the guard, and gives the time.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::digest::{Context, SHA256};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    filter::Exclusion,
    gather::{FoundRepositories, Listing},
    repository::HostedRepository,
};

/// How often a great loss must be listed before it is believed.
const TIMES: u32 = 3;
/// And over how long.
const OVER: SignedDuration = SignedDuration::from_hours(1);

/// A repository that a connection found before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRepository {
    /// Its path at the host when it was seen last.
    pub path: String,
    /// Its clone URL then, as [`crate::remote::RemoteUrl::as_str`] writes it.
    pub clone_url: String,
    /// Whether it is served: false after it was excluded or gone.
    pub in_use: bool,
}

/// What a listing changes. Everything is by host id; the lists are in the order of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether everything was listed. If not, `gone` is empty.
    pub is_whole: bool,
    /// Not known before.
    pub added: Vec<HostedRepository>,
    /// Known but out of use, and to be served again, perhaps from elsewhere.
    pub returned: Vec<HostedRepository>,
    /// In use, with another path or clone URL than before.
    pub moved: Vec<HostedRepository>,
    /// In use and listed as before. Its time of push, description and topics may be new.
    pub present: Vec<HostedRepository>,
    /// In use, and listed, but not to be served any more.
    pub excluded: BTreeMap<String, Exclusion>,
    /// In use, and not listed any more: deleted, moved away, or hidden from the credential.
    pub gone: BTreeSet<String>,
}

impl Changes {
    /// How many repositories would go out of use.
    pub fn lost(&self) -> usize {
        self.excluded.len() + self.gone.len()
    }

    /// The same for the same repositories.
    fn fingerprint(&self) -> String {
        let ids: BTreeSet<&String> = self.excluded.keys().chain(&self.gone).collect();
        let mut digest = Context::new(&SHA256);
        for id in ids {
            digest.update(id.as_bytes());
            digest.update(b"\n");
        }
        STANDARD.encode(digest.finish())
    }
}

/// Compares a listing with what is known, by host id. Only a whole listing finds that something is
/// gone.
pub fn compare(known: &BTreeMap<String, KnownRepository>, listing: &Listing) -> Changes {
    let (found, is_whole) = match listing {
        Listing::Unchanged => return Changes::default(),
        Listing::Changed(found) => (found, false),
        Listing::Whole(found) => (found, true),
    };
    let mut changes = Changes {
        is_whole,
        ..Changes::default()
    };
    for repository in &found.repositories {
        let list = match known.get(&repository.host_id) {
            None => &mut changes.added,
            Some(before) if !before.in_use => &mut changes.returned,
            Some(before) if before.is_at(repository) => &mut changes.present,
            Some(_) => &mut changes.moved,
        };
        list.push(repository.clone());
    }
    let in_use = known.iter().filter(|(_, it)| it.in_use).map(|(id, _)| id);
    let listed = listed(found);
    for id in in_use {
        if let Some(exclusion) = found.excluded.get(id) {
            changes.excluded.insert(id.clone(), *exclusion);
        } else if is_whole && !listed.contains(id.as_str()) {
            changes.gone.insert(id.clone());
        }
    }
    changes
}

fn listed(found: &FoundRepositories) -> BTreeSet<&str> {
    let repositories = found.repositories.iter();
    repositories.map(|it| it.host_id.as_str()).collect()
}

impl KnownRepository {
    fn is_at(&self, now: &HostedRepository) -> bool {
        self.path == now.path && self.clone_url == now.clone_url.as_str()
    }
}

/// Whether the changes of a listing are to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Make them.
    Apply,
    /// Change nothing, not even what was added: the host may be at fault.
    Hold {
        /// How many repositories the listing lost.
        lost: usize,
        /// Of how many in use.
        of: usize,
        /// How often this loss was seen, this time included.
        times: u32,
        /// When it is believed if it is still listed, or as soon after as it was seen three times.
        believed_at: Timestamp,
    },
}

/// Holds back a listing that lost everything or more than half, until it was seen three times over an
/// hour. Kept as JSON with its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct RemovalGuard {
    suspicion: Option<Suspicion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Suspicion {
    since: Timestamp,
    times: u32,
    /// Of what was lost: another loss begins anew, since a host at fault loses now this, now that.
    lost: String,
}

impl RemovalGuard {
    /// Judges the changes of a listing of any kind but `Unchanged`.
    ///
    /// `in_use` is the number of known repositories in use before. `accept` is the operator's word
    /// (`--accept-removals`, or an edit of the connection): everything is believed at once.
    pub fn judge(
        &mut self,
        in_use: usize,
        changes: &Changes,
        now: Timestamp,
        accept: bool,
    ) -> Verdict {
        let lost = changes.lost();
        if accept || lost.saturating_mul(2) <= in_use {
            // What was pushed lately says nothing about what is missing.
            if accept || changes.is_whole {
                self.suspicion = None;
            }
            return Verdict::Apply;
        }
        let fingerprint = changes.fingerprint();
        // A clock that was set back begins anew, too.
        let same = self
            .suspicion
            .take()
            .filter(|suspicion| suspicion.lost == fingerprint && suspicion.since <= now);
        let suspicion = match same {
            Some(before) => Suspicion {
                times: before.times.saturating_add(1),
                ..before
            },
            None => Suspicion {
                since: now,
                times: 1,
                lost: fingerprint,
            },
        };
        let believed_at = suspicion.since.saturating_add(OVER).unwrap_or(now);
        if suspicion.times >= TIMES && now >= believed_at {
            return Verdict::Apply;
        }
        let times = suspicion.times;
        self.suspicion = Some(suspicion);
        Verdict::Hold {
            lost,
            of: in_use,
            times,
            believed_at,
        }
    }

    /// Whether listings are held back at present.
    pub fn is_holding(&self) -> bool {
        self.suspicion.is_some()
    }
}
