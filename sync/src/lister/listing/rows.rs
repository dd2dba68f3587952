//! The rows of a listing's changes, as functions of the database take them.

use serde_json::{Value, json};

use crate::hosts::changes::Changes;
use crate::hosts::{ConnectionSettings, CredentialSetting, HostedRepository, Visibility, slugs};
use crate::store::KnownSources;

/// What `record_found` takes: everything that is listed and to be served, as descriptions and topics may be new.
pub(super) fn found(
    changes: &Changes,
    known: &KnownSources,
    settings: &ConnectionSettings,
    below: &str,
) -> Vec<Value> {
    let listed: Vec<HostedRepository> = listed(changes)
        .filter(|it| !known.taken_repositories.contains(&it.clone_url.identity()))
        .cloned()
        .collect();
    let slugs = slugs::assign(&known.slugs, &known.taken_slugs, below, &listed);
    let credential = match &settings.credential {
        Some(CredentialSetting::Name(name)) => Some(name),
        Some(CredentialSetting::App(_)) | None => None,
    };
    let row = |it: &HostedRepository| {
        json!({
            "host_id": it.host_id,
            "slug": slugs.get(&it.host_id),
            "url": it.clone_url.as_str(),
            "host": it.clone_url.host(),
            "host_path": it.path,
            "pushed_at": it.pushed_at,
            "is_private": it.visibility != Visibility::Public,
            "visibility": it.visibility,
            "description": it.description,
            "default_branch": it.default_branch,
            "topics": it.topics,
            "credential": credential,
            "ca_file": settings.ca_file,
            "https_proxy": settings.https_proxy,
        })
    };
    listed.iter().map(row).collect()
}

/// What `record_lost` takes: what is gone, what the filters leave out, and what an operator serves by its URL.
pub(super) fn lost(changes: &Changes, known: &KnownSources) -> Vec<Value> {
    let row = |id: &str, reason: &str| json!({ "host_id": id, "reason": reason });
    let excluded = changes.excluded.iter();
    let excluded = excluded.map(|(id, why)| row(id, why.name()));
    let gone = changes.gone.iter().map(|id| row(id, "gone"));
    let is_named = |it: &&HostedRepository| {
        known.repositories.contains_key(&it.host_id)
            && known.taken_repositories.contains(&it.clone_url.identity())
    };
    let named = listed(changes).filter(is_named);
    let named = named.map(|it| row(&it.host_id, "named"));
    excluded.chain(gone).chain(named).collect()
}

fn listed(changes: &Changes) -> impl Iterator<Item = &HostedRepository> {
    let Changes {
        added,
        returned,
        moved,
        pushed,
        present,
        ..
    } = changes;
    [added, returned, moved, pushed, present]
        .into_iter()
        .flatten()
}
