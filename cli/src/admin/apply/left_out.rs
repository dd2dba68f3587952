//! Which fields an entry of the document leaves out. Applying resets them.

use super::document::{KeyEntry, ProjectEntry};

impl ProjectEntry {
    /// The names of the fields that it leaves out.
    pub(super) fn left_out(&self) -> Vec<&'static str> {
        absent([
            ("name", self.name.is_none()),
            ("allow", self.allow.is_none()),
            ("open", self.open.is_none()),
            ("close", self.close.is_none()),
            ("git", self.git.is_none()),
        ])
    }
}

impl KeyEntry {
    /// The names of the fields that it leaves out.
    pub(super) fn left_out(&self) -> Vec<&'static str> {
        absent([
            ("scopes", self.scopes.is_none()),
            ("projects", self.projects.is_none()),
            ("families", self.families.is_none()),
            ("default_project", self.default_project.is_none()),
            ("agents", self.agents.is_none()),
            ("expires", self.expires.is_none()),
        ])
    }
}

fn absent<const N: usize>(fields: [(&'static str, bool); N]) -> Vec<&'static str> {
    let absent = fields.into_iter().filter(|(_, is_absent)| *is_absent);
    absent.map(|(name, _)| name).collect()
}
