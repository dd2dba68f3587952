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
    /// The push that was listed last.
    pub pushed_at: Option<Timestamp>,
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
    /// In use where it was, with a push that was not listed before.
    pub pushed: Vec<HostedRepository>,
    /// In use and listed as before. Its description, topics and default branch may be new.
    pub present: Vec<HostedRepository>,
    /// In use, and listed, but not to be served any more.
    pub excluded: BTreeMap<String, Exclusion>,
    /// In use, and not listed any more: deleted, moved away, or hidden from the credential.
    pub gone: BTreeSet<String>,
}

impl Changes {
    /// How many repositories would go out of use, without those that their host lists as archived.
    pub fn lost(&self) -> usize {
        self.lost_ids().count()
    }

    fn lost_ids(&self) -> impl Iterator<Item = &String> {
        let excluded = self.excluded.iter();
        let lost = excluded.filter(|(_, exclusion)| **exclusion != Exclusion::Archived);
        lost.map(|(id, _)| id).chain(&self.gone)
    }

    /// The same for the same repositories.
    fn fingerprint(&self) -> String {
        let ids: BTreeSet<&String> = self.lost_ids().collect();
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
            Some(before) if !before.is_at(repository) => &mut changes.moved,
            Some(before) if before.pushed_at != repository.pushed_at => &mut changes.pushed,
            Some(_) => &mut changes.present,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::remote::{AllowedProtocols, RemoteUrl};

    fn repository(id: u32, path: &str) -> HostedRepository {
        let url = format!("https://host/{path}.git");
        let url = RemoteUrl::parse(&url, &AllowedProtocols::default()).unwrap();
        HostedRepository {
            host_id: id.to_string(),
            path: path.to_owned(),
            ..HostedRepository::of_url(&url)
        }
    }

    fn known(ids: std::ops::Range<u32>) -> BTreeMap<String, KnownRepository> {
        let known = |id: u32| KnownRepository {
            path: format!("acme/r{id}"),
            clone_url: format!("https://host/acme/r{id}.git"),
            pushed_at: None,
            in_use: true,
        };
        ids.map(|id| (id.to_string(), known(id))).collect()
    }

    fn found(ids: impl IntoIterator<Item = u32>) -> FoundRepositories {
        let repositories = ids
            .into_iter()
            .map(|id| repository(id, &format!("acme/r{id}")));
        FoundRepositories {
            repositories: repositories.collect(),
            ..FoundRepositories::default()
        }
    }

    fn ids(list: &[HostedRepository]) -> Vec<&str> {
        list.iter().map(|it| it.host_id.as_str()).collect()
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    #[test]
    fn each_repository_is_told_by_what_became_of_it() {
        let mut known = known(0..7);
        for out in ["4", "5"] {
            known.get_mut(out).unwrap().in_use = false;
        }
        let mut listing = found([0, 4, 9]);
        listing.repositories.push(repository(1, "acme/renamed"));
        listing.repositories.push(HostedRepository {
            pushed_at: Some(at(1)),
            ..repository(6, "acme/r6")
        });
        listing.excluded.insert("2".to_owned(), Exclusion::Archived);
        listing.excluded.insert("5".to_owned(), Exclusion::Archived);
        listing.excluded.insert("7".to_owned(), Exclusion::Fork);
        let changes = compare(&known, &Listing::Whole(listing.clone()));
        assert_eq!(ids(&changes.present), ["0"]);
        assert_eq!(ids(&changes.returned), ["4"]);
        assert_eq!(ids(&changes.added), ["9"]);
        assert_eq!(ids(&changes.moved), ["1"]);
        assert_eq!(ids(&changes.pushed), ["6"]);
        assert_eq!(
            changes.excluded,
            BTreeMap::from([("2".to_owned(), Exclusion::Archived)])
        );
        assert_eq!(changes.gone, BTreeSet::from(["3".to_owned()]));
        // What was pushed lately says nothing about the others.
        let changes = compare(&known, &Listing::Changed(listing));
        assert!(changes.gone.is_empty() && changes.excluded.len() == 1 && !changes.is_whole);
        assert_eq!(compare(&known, &Listing::Unchanged), Changes::default());
    }

    fn judge(guard: &mut RemovalGuard, listed: std::ops::Range<u32>, minutes: i64) -> Verdict {
        let changes = compare(&known(0..10), &Listing::Whole(found(listed)));
        guard.judge(10, &changes, at(minutes), false)
    }

    #[test]
    fn up_to_half_may_go_at_once() {
        let mut guard = RemovalGuard::default();
        assert_eq!(judge(&mut guard, 0..5, 0), Verdict::Apply);
        assert!(!guard.is_holding());
        let first = compare(&BTreeMap::new(), &Listing::Whole(found(0..0)));
        assert_eq!(guard.judge(0, &first, at(0), false), Verdict::Apply);
    }

    #[test]
    fn a_great_loss_is_believed_after_three_times_over_an_hour() {
        for listed in [0..0, 0..4] {
            let mut guard = RemovalGuard::default();
            let lost = 10 - listed.len();
            for (minutes, times) in [(0, 1), (1, 2), (2, 3), (59, 4)] {
                let believed_at = at(60);
                let hold = Verdict::Hold {
                    lost,
                    of: 10,
                    times,
                    believed_at,
                };
                assert_eq!(judge(&mut guard, listed.clone(), minutes), hold);
            }
            assert_eq!(judge(&mut guard, listed.clone(), 60), Verdict::Apply);
            assert!(!guard.is_holding());
        }
        let mut guard = RemovalGuard::default();
        assert!(matches!(judge(&mut guard, 0..0, 0), Verdict::Hold { .. }));
        // Twice is not enough, however long it took.
        assert!(matches!(
            judge(&mut guard, 0..0, 500),
            Verdict::Hold { times: 2, .. }
        ));
        assert_eq!(judge(&mut guard, 0..0, 501), Verdict::Apply);
    }

    #[test]
    fn a_host_that_recovers_or_loses_others_begins_anew() {
        let mut guard = RemovalGuard::default();
        for minutes in [0, 30] {
            assert!(matches!(
                judge(&mut guard, 0..4, minutes),
                Verdict::Hold { .. }
            ));
        }
        // More is lost than was seen before.
        assert!(matches!(
            judge(&mut guard, 0..0, 61),
            Verdict::Hold { times: 1, .. }
        ));
        assert_eq!(judge(&mut guard, 0..10, 62), Verdict::Apply);
        assert!(matches!(
            judge(&mut guard, 0..0, 63),
            Verdict::Hold { times: 1, .. }
        ));
        // A clock that was set back.
        assert!(matches!(
            judge(&mut guard, 0..0, 1),
            Verdict::Hold { times: 1, .. }
        ));
    }

    #[test]
    fn the_operators_word_is_believed_at_once() {
        let mut guard = RemovalGuard::default();
        assert!(matches!(judge(&mut guard, 0..0, 0), Verdict::Hold { .. }));
        let nothing = compare(&known(0..10), &Listing::Whole(found(0..0)));
        assert_eq!(guard.judge(10, &nothing, at(1), true), Verdict::Apply);
        assert!(!guard.is_holding());
    }

    #[test]
    fn a_listing_of_news_does_not_end_a_suspicion() {
        let mut guard = RemovalGuard::default();
        assert!(matches!(judge(&mut guard, 0..0, 0), Verdict::Hold { .. }));
        let news = compare(&known(0..10), &Listing::Changed(found(0..2)));
        assert_eq!(guard.judge(10, &news, at(1), false), Verdict::Apply);
        let kept = serde_json::to_string(&guard).unwrap();
        guard = serde_json::from_str(&kept).unwrap();
        assert!(matches!(
            judge(&mut guard, 0..0, 2),
            Verdict::Hold { times: 2, .. }
        ));
    }

    proptest! {
        #[test]
        fn every_repository_stands_in_one_list_at_most(
            before in proptest::collection::btree_map(0..20_u32, any::<bool>(), 0..20),
            now in proptest::collection::btree_map(0..20_u32, 0..3_u8, 0..20),
        ) {
            let mut known = known(0..20);
            known.retain(|id, _| before.contains_key(&id.parse().unwrap()));
            for (id, in_use) in &before {
                known.get_mut(&id.to_string()).unwrap().in_use = *in_use;
            }
            let mut listing = found(now.iter().filter(|(_, how)| **how == 0).map(|(id, _)| *id));
            for (id, how) in &now {
                match how {
                    1 => listing.repositories.push(repository(*id, "acme/moved")),
                    2 => _ = listing.excluded.insert(id.to_string(), Exclusion::Name),
                    _ => {}
                }
            }
            let changes = compare(&known, &Listing::Whole(listing));
            let lists = [&changes.added, &changes.returned, &changes.moved, &changes.pushed,
                &changes.present];
            let listed = lists.into_iter().flatten().map(|it| &it.host_id);
            let told: Vec<&String> = listed.chain(changes.excluded.keys()).chain(&changes.gone).collect();
            let distinct: BTreeSet<_> = told.iter().collect();
            prop_assert_eq!(distinct.len(), told.len());
            let in_use = known.iter().filter(|(_, it)| it.in_use);
            prop_assert!(in_use.map(|(id, _)| id).all(|id| told.contains(&id)));
        }
    }
}
