//! The answer of `archway sync status` and `archway sync run`.

use serde::Serialize;

use crate::admin::print::{Answer, moment, table, table_by_tenant};
use crate::tenants::MirrorRow;

/// Characters of a commit id that people are shown.
const SHORT_COMMIT: usize = 12;

/// The mirrors of one tenant, or of all.
#[derive(Serialize)]
pub(super) struct MirrorList {
    /// Null: all tenants.
    pub(super) tenant: Option<String>,
    pub(super) mirrors: Vec<ListedMirror>,
}

#[derive(Serialize)]
pub(super) struct ListedMirror {
    tenant: String,
    project: String,
    host: String,
    /// The machine; empty for a shared volume.
    place: String,
    /// `new`, `cloning`, `ok`, `behind`, `backing_off`, `credential_missing`, `credential_refused`,
    /// `host_key_changed`, `not_found`, `ref_gone`, `too_large`, `no_space` or `failed`.
    state: String,
    since: String,
    /// Failed runs in a row.
    attempts: u32,
    /// Why the last run failed.
    message: Option<String>,
    head: Option<String>,
    bytes: Option<u64>,
    /// How far the running clone is, in percent.
    percent: Option<u8>,
    fetched_at: Option<String>,
    next_at: String,
}

impl ListedMirror {
    pub(super) fn of(tenant: &str, row: MirrorRow) -> ListedMirror {
        ListedMirror {
            tenant: tenant.to_owned(),
            project: row.project,
            host: row.host,
            place: row.place,
            state: row.state,
            since: moment(row.since),
            attempts: row.attempts,
            message: row.message,
            head: row.head,
            bytes: row.bytes,
            percent: row.percent,
            fetched_at: row.fetched_at.map(moment),
            next_at: moment(row.next_at),
        }
    }

    /// How much the mirror needs an operator's eye.
    fn concern(&self) -> usize {
        let calm = ["ok", "behind", "cloning", "new", "ref_gone", "backing_off"];
        let known = calm.iter().position(|state| *state == self.state);
        known.unwrap_or(calm.len())
    }

    /// The cells of the worst of a project's mirrors, of which there are `places`.
    fn cells(&self, places: usize) -> [String; 8] {
        let mut state = match self.percent {
            Some(percent) => format!("{} {percent} %", self.state),
            None => self.state.clone(),
        };
        if places > 1 {
            state = format!("{state} on {} (of {places})", self.place);
        }
        let head = self.head.as_deref().unwrap_or("-");
        let megabytes = self.bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1e6));
        [
            self.project.clone(),
            state,
            self.host.clone(),
            head.chars().take(SHORT_COMMIT).collect(),
            self.fetched_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            self.next_at.clone(),
            megabytes.unwrap_or_else(|| "-".to_owned()),
            self.message.clone().unwrap_or_default(),
        ]
    }
}

impl MirrorList {
    /// The worst mirror of each project, and how many the project has.
    fn worst(&self) -> impl Iterator<Item = (&ListedMirror, usize)> {
        let is_same = |one: &ListedMirror, other: &ListedMirror| {
            (&one.tenant, &one.project) == (&other.tenant, &other.project)
        };
        let projects = self.mirrors.chunk_by(is_same);
        projects.filter_map(|mirrors| {
            let worst = mirrors.iter().max_by_key(|mirror| mirror.concern())?;
            Some((worst, mirrors.len()))
        })
    }

    /// Which mirrors failed, and why.
    pub(super) fn failures(&self) -> Vec<String> {
        let failed = self.mirrors.iter().filter_map(|mirror| {
            let message = mirror.message.as_ref()?;
            Some(format!("{}: {}: {message}", mirror.project, mirror.state))
        });
        failed.collect()
    }
}

impl Answer for MirrorList {
    fn text(&self) -> String {
        let header = [
            "project", "state", "host", "head", "fetched", "next", "MB", "error",
        ];
        let none =
            "nothing is mirrored: `archway project add TENANT SLUG --git URL` adds a repository";
        match self.tenant {
            Some(_) => table(
                header,
                self.worst()
                    .map(|(row, places)| row.cells(places))
                    .collect(),
                none,
            ),
            None => {
                let rows = self
                    .worst()
                    .map(|(row, places)| (row.tenant.clone(), row.cells(places)));
                table_by_tenant(header, rows.collect(), none)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn mirror(project: &str, place: &str, state: &str) -> ListedMirror {
        let row = MirrorRow {
            project: project.to_owned(),
            host: "host".to_owned(),
            place: place.to_owned(),
            state: state.to_owned(),
            since: SystemTime::UNIX_EPOCH,
            attempts: 0,
            message: None,
            head: None,
            bytes: None,
            percent: None,
            fetched_at: None,
            tried_at: None,
            next_at: SystemTime::UNIX_EPOCH,
            is_running: false,
        };
        ListedMirror::of("acme", row)
    }

    #[test]
    fn a_project_with_several_mirrors_shows_the_worst() {
        let list = MirrorList {
            tenant: Some("acme".to_owned()),
            mirrors: vec![
                mirror("app", "a", "ok"),
                mirror("app", "b", "not_found"),
                mirror("app", "c", "backing_off"),
                mirror("site", "a", "ok"),
            ],
        };
        let text = list.text();
        assert!(text.contains("not_found on b (of 3)"), "{text}");
        assert_eq!(text.lines().count(), 3, "a header and two rows: {text}");
        assert!(!text.contains("ok on"), "{text}");
    }
}
