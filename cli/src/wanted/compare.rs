//! What is wanted, beside what is there: how the two make one, and in which fields they differ.

use crate::tenants::{KeyRequest, ProjectSettings};

use super::{WantedName, WantedProject};

impl WantedName {
    /// For one that is made now.
    pub(super) fn at_first(&self) -> Option<&str> {
        let (WantedName::Always(name) | WantedName::AtFirst(name)) = self;
        name.as_deref()
    }

    /// For one that is called `there`.
    pub(super) fn over(&self, there: &Option<String>) -> Option<String> {
        match self {
            WantedName::Always(name) => name.clone(),
            WantedName::AtFirst(_) => there.clone(),
        }
    }
}

impl WantedProject {
    /// What is wanted, with what is left alone taken from `there`.
    pub(super) fn over(&self, there: &ProjectSettings) -> ProjectSettings {
        let name = self.name.over(&there.name);
        match &self.globs {
            None => ProjectSettings {
                name,
                ..there.clone()
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
