//! Merges the desired state with the current one, and finds the fields that differ.

use crate::tenants::{KeyRequest, ProjectSettings};

use super::{DesiredName, DesiredProject};

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

pub(super) fn differing_settings(a: &ProjectSettings, b: &ProjectSettings) -> Vec<&'static str> {
    differing([
        ("name", a.name != b.name),
        ("allow", a.allow != b.allow),
        ("open", a.open != b.open),
        ("close", a.close != b.close),
    ])
}

pub(super) fn differing_terms(a: &KeyRequest, b: &KeyRequest) -> Vec<&'static str> {
    differing([
        ("label", a.label != b.label),
        ("scopes", a.scopes != b.scopes),
        ("projects", a.projects != b.projects),
        ("families", a.families != b.families),
        ("default_project", a.default_project != b.default_project),
        ("agents", a.agents != b.agents),
        ("expires", a.expires_at != b.expires_at),
    ])
}

fn differing<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    let differ = fields.into_iter().filter(|(_, differs)| *differs);
    differ.map(|(field, _)| field).collect()
}
