//! The answer of `archway index`.

use serde::Serialize;

use crate::admin::page::with_next;
use crate::admin::print::{Answer, moment, table, table_by_tenant};
use crate::tenants::IndexState;

/// Characters of a commit id that people are shown.
const SHORT_COMMIT: usize = 12;

/// The indexes of one tenant, or of all.
#[derive(Serialize)]
pub(super) struct IndexList {
    /// Null: all tenants.
    pub(super) tenant: Option<String>,
    pub(super) indexes: Vec<ListedIndex>,
    /// The value of `--after` for the next page; null after the last one.
    pub(super) next: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ListedIndex {
    pub(super) tenant: String,
    project: String,
    /// `whole`, `running`, `waiting` or `failed`.
    state: &'static str,
    /// Null without git, or before the first index.
    commit: Option<String>,
    pub(super) indexed_at: Option<String>,
    /// Texts that are indexed.
    pub(super) done: u64,
    /// Texts in all.
    pub(super) total: u64,
    /// Files that are not indexed, because they exceed the memory of `--index-memory-bytes`.
    left_out: u64,
    chunks: u64,
    /// Vector store, embedding model and index format.
    made_by: Option<String>,
    pub(super) failure: Option<String>,
    #[serde(skip)]
    pub(super) is_running: bool,
    #[serde(skip)]
    pub(super) is_asked: bool,
}

impl ListedIndex {
    pub(super) fn of(tenant: &str, project: &str, state: IndexState) -> ListedIndex {
        ListedIndex {
            tenant: tenant.to_owned(),
            state: match (&state.failure, state.indexed_at) {
                _ if state.is_running => "running",
                (Some(_), _) => "failed",
                (None, Some(_)) if !state.is_asked => "whole",
                (None, _) => "waiting",
            },
            indexed_at: state.indexed_at.map(moment),
            project: project.to_owned(),
            commit: state.commit,
            done: state.done,
            total: state.total,
            left_out: state.left_out,
            chunks: state.chunks,
            made_by: state.made_by,
            failure: state.failure,
            is_running: state.is_running,
            is_asked: state.is_asked,
        }
    }
}

impl Answer for IndexList {
    fn text(&self) -> String {
        let rows = self.indexes.iter();
        let header = ["project", "state", "texts", "chunks", "commit", "indexed"];
        let table = match self.tenant {
            Some(_) => table(
                header,
                rows.map(ListedIndex::cells).collect(),
                "no projects",
            ),
            None => {
                let rows = rows.map(|row| (row.tenant.clone(), row.cells()));
                table_by_tenant(header, rows.collect(), "no projects")
            }
        };
        with_next(table, self.next.as_deref())
    }
}

impl ListedIndex {
    fn cells(&self) -> [String; 6] {
        let commit = self.commit.as_deref().unwrap_or("-");
        let state = match (&self.failure, self.left_out) {
            (Some(failure), _) if self.state == "failed" => format!("failed: {failure}"),
            (_, 1..) if self.state == "whole" => format!(
                "whole, but {} files exceed --index-memory-bytes",
                self.left_out
            ),
            _ => self.state.to_owned(),
        };
        [
            self.project.clone(),
            state,
            format!("{}/{}", self.done, self.total),
            self.chunks.to_string(),
            commit.chars().take(SHORT_COMMIT).collect(),
            self.indexed_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
        ]
    }
}
