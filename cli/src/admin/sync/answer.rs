//! The answer of `archway sync status` and `archway sync run`.

use serde::Serialize;

use crate::admin::print::{Answer, moment, table, table_by_tenant};
use crate::tenants::{MirrorRow, OutOfUseRow};

/// Characters of a commit id that people are shown.
const SHORT_COMMIT: usize = 12;

/// Why a run did not fetch what it should, though git did not fail.
const REF_GONE: &str =
    "the remote no longer has this branch or tag: its last commit is still served";

/// The mirrors of one tenant, or of all.
#[derive(Serialize)]
pub(super) struct MirrorList {
    /// Null: all tenants.
    pub(super) tenant: Option<String>,
    pub(super) mirrors: Vec<ListedMirror>,
    /// Projects that their connections put out of use.
    pub(super) out_of_use: Vec<OutOfUse>,
}

/// A project that its connection put out of use.
#[derive(Serialize)]
pub(super) struct OutOfUse {
    tenant: String,
    project: String,
    host: String,
    /// `gone`, `archived`, `fork`, `excluded`, `topic`, `unusable`, `named` or `connection`.
    reason: String,
    since: String,
}

impl OutOfUse {
    pub(super) fn of(tenant: &str, row: OutOfUseRow) -> OutOfUse {
        OutOfUse {
            tenant: tenant.to_owned(),
            project: row.project,
            host: row.host,
            reason: row.reason,
            since: moment(row.since),
        }
    }

    fn cells(&self) -> [String; 4] {
        [&self.project, &self.reason, &self.host, &self.since].map(String::clone)
    }
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
        let gone = (row.state == "ref_gone").then(|| REF_GONE.to_owned());
        ListedMirror {
            tenant: tenant.to_owned(),
            project: row.project,
            host: row.host,
            place: row.place,
            state: row.state,
            since: moment(row.since),
            attempts: row.attempts,
            message: row.message.or(gone),
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

    /// A table of one tenant, or by tenant.
    fn table<const N: usize>(
        &self,
        header: [&str; N],
        rows: Vec<(&String, [String; N])>,
        none: &str,
    ) -> String {
        let rows = rows.into_iter();
        match self.tenant {
            Some(_) => table(header, rows.map(|(_, cells)| cells).collect(), none),
            None => {
                let rows = rows.map(|(tenant, cells)| (tenant.clone(), cells));
                table_by_tenant(header, rows.collect(), none)
            }
        }
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
        let none = "nothing is mirrored: `archway project add TENANT SLUG --git URL` adds a repository, and what a connection finds \
             comes once `archway sync` runs. `archway connection list TENANT` says why a listing failed";
        let rows = self.worst();
        let rows = rows.map(|(row, places)| (&row.tenant, row.cells(places)));
        let mirrors = self.table(header, rows.collect(), none);
        if self.out_of_use.is_empty() {
            return mirrors;
        }
        let rows = self.out_of_use.iter();
        let rows = rows.map(|row| (&row.tenant, row.cells())).collect();
        let header = ["out of use", "reason", "host", "since"];
        format!("{mirrors}\n\n{}", self.table(header, rows, ""))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::SystemTime;

    use super::*;

    pub(in super::super) fn mirror_row(project: &str, place: &str, state: &str) -> MirrorRow {
        MirrorRow {
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
        }
    }

    fn mirror(project: &str, place: &str, state: &str) -> ListedMirror {
        ListedMirror::of("acme", mirror_row(project, place, state))
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
            out_of_use: Vec::new(),
        };
        let text = list.text();
        assert!(text.contains("not_found on b (of 3)"), "{text}");
        assert_eq!(text.lines().count(), 3, "a header and two rows: {text}");
        assert!(!text.contains("ok on"), "{text}");
    }
}
