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

    fn cells(&self) -> [String; 8] {
        let state = match self.percent {
            Some(percent) => format!("{} {percent} %", self.state),
            None => self.state.clone(),
        };
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
                self.mirrors.iter().map(ListedMirror::cells).collect(),
                none,
            ),
            None => {
                let rows = self
                    .mirrors
                    .iter()
                    .map(|row| (row.tenant.clone(), row.cells()));
                table_by_tenant(header, rows.collect(), none)
            }
        }
    }
}
