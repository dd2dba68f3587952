//! Merges the desired state with the current one, and finds the fields that differ.

use jiff::Timestamp;
use serde_json::json;

use super::field_change::FieldChange;
use super::{DesiredName, DesiredProject, DesiredTenant};
use crate::tenants::{KeyRequest, ProjectSettings, ProjectSource, SourceRow};

impl DesiredName {
    /// The name of a new object.
    pub(super) fn at_first(&self) -> Option<&str> {
        let (DesiredName::Always(name) | DesiredName::AtFirst(name)) = self;
        name.as_deref()
    }

    /// The name of an existing object that is called `current`.
    pub(super) fn over(&self, current: &Option<String>) -> Option<String> {
        match self {
            DesiredName::Always(name) => name.clone(),
            DesiredName::AtFirst(_) => current.clone(),
        }
    }
}

impl DesiredTenant {
    /// As [`DesiredProject::left_out`].
    pub(super) fn left_out(&self) -> &[&'static str] {
        match self.name {
            DesiredName::Always(None) => &["name"],
            DesiredName::Always(Some(_)) | DesiredName::AtFirst(_) => &[],
        }
    }
}

impl DesiredProject {
    /// The desired settings, with unspecified ones taken from `current`.
    pub(super) fn over(&self, current: &ProjectSettings) -> ProjectSettings {
        let name = self.name.over(&current.name);
        match &self.globs {
            None => ProjectSettings {
                name,
                ..current.clone()
            },
            Some(globs) => ProjectSettings {
                name,
                allow: globs.allow.clone(),
                open: globs.open.clone(),
                close: globs.close.clone(),
            },
        }
    }
}

/// The fields of a project that change; `left_out` are those that the file leaves out.
pub(super) fn differing_settings(
    before: &ProjectSettings,
    after: &ProjectSettings,
    left_out: &[&'static str],
) -> Vec<FieldChange> {
    let fields = [
        FieldChange::of("name", &before.name, &after.name),
        FieldChange::of("allow", &before.allow, &after.allow),
        FieldChange::of("open", &before.open, &after.open),
        FieldChange::of("close", &before.close, &after.close),
    ];
    differing(fields, left_out)
}

/// The same of a key.
pub(super) fn differing_terms(
    before: &KeyRequest,
    after: &KeyRequest,
    left_out: &[&'static str],
) -> Vec<FieldChange> {
    let end = |terms: &KeyRequest| {
        let end = terms
            .expires_at
            .and_then(|end| Timestamp::try_from(end).ok());
        end.map(|end| end.to_string())
    };
    let fields = [
        FieldChange::of("label", &before.label, &after.label),
        FieldChange::of("scopes", &before.scopes, &after.scopes),
        FieldChange::of("projects", &before.projects, &after.projects),
        FieldChange::of("families", &before.families, &after.families),
        FieldChange::of(
            "default_project",
            &before.default_project,
            &after.default_project,
        ),
        FieldChange::of("agents", &before.agents, &after.agents),
        FieldChange::of("expires", &end(before), &end(after)),
    ];
    differing(fields, left_out)
}

/// The change of where a project is mirrored from. `None`: from nowhere.
pub(super) fn differing_source(
    before: Option<&SourceRow>,
    after: Option<&ProjectSource>,
) -> FieldChange {
    let before = before.map(|row| {
        json!({
            "url": row.url, "ref": row.reference, "credential": row.credential, "ca_file": row.ca_file,
            "https_proxy": row.https_proxy.as_deref().map(without_user), "connection": row.connection,
        })
    });
    let after = after.map(|source| {
        json!({
            "url": source.remote.as_str(), "ref": source.reference, "credential": source.credential,
            "ca_file": source.ca_file, "https_proxy": source.https_proxy.as_deref().map(without_user),
        })
    });
    let change = FieldChange::of_members("git", &json!(before), &json!(after));
    change.unwrap_or_else(|| FieldChange::of_secret("git"))
}

/// The address of a proxy without its user and password.
fn without_user(proxy: &str) -> String {
    let (scheme, rest) = proxy.split_once("://").unwrap_or(("", proxy));
    let address = rest
        .rsplit_once('@')
        .map_or(rest, |(_user, address)| address);
    match scheme {
        "" => address.to_owned(),
        scheme => format!("{scheme}://{address}"),
    }
}

fn differing<const N: usize>(
    fields: [Option<FieldChange>; N],
    left_out: &[&'static str],
) -> Vec<FieldChange> {
    let differ = fields.into_iter().flatten();
    differ.map(|change| change.among(left_out)).collect()
}
