//! The state of all tenants' indexes.

use archway_gateway::store::{IndexOverview, UnfinishedIndex};

use crate::admin::print::table;

/// `12 whole, 1 running, 0 failed, 2 waiting`.
pub(super) fn line(overview: &IndexOverview) -> String {
    let IndexOverview {
        whole,
        running,
        failed,
        waiting,
        ..
    } = overview;
    format!("{whole} whole, {running} running, {failed} failed, {waiting} waiting")
}

/// A table for people of the indexes that are not complete.
pub(super) fn shown(overview: &IndexOverview) -> Option<String> {
    let rows = &overview.unfinished;
    let header = ["tenant", "project", "index", "texts"];
    (!rows.is_empty()).then(|| {
        let table = table(header, rows.iter().map(cells).collect(), "");
        format!("indexes that are not whole: `archway index status` shows more\n{table}")
    })
}

fn cells(index: &UnfinishedIndex) -> [String; 4] {
    let state = match &index.failure {
        Some(failure) if index.state == "failed" => format!("failed: {failure}"),
        _ => index.state.clone(),
    };
    [
        index.tenant.clone(),
        index.project.clone(),
        state,
        format!("{}/{}", index.done, index.total),
    ]
}
