//! The report of what applying the desired state changed, in the order of the changes.

use serde::Serialize;

/// What was changed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ApplyReport {
    /// Whether the changes were rolled back.
    pub(crate) dry_run: bool,
    changes: Vec<Change>,
    /// How many entries were as desired already.
    unchanged: u64,
}

#[derive(Debug, Serialize)]
struct Change {
    action: &'static str,
    kind: &'static str,
    name: String,
    /// The changed fields; empty for actions such as `created`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<&'static str>,
    /// A limit's value before and after.
    #[serde(flatten)]
    number: Option<NumberChange>,
}

#[derive(Debug, Serialize)]
struct NumberChange {
    before: u32,
    after: u32,
}

impl ApplyReport {
    /// Records an action.
    pub(super) fn add_action(&mut self, action: &'static str, kind: &'static str, name: &str) {
        self.changed(action, kind, name, Vec::new());
    }

    /// Records an entry that already matched (no `fields`), or the fields that were changed.
    pub(super) fn add_comparison(
        &mut self,
        kind: &'static str,
        name: &str,
        fields: Vec<&'static str>,
    ) {
        if fields.is_empty() {
            self.unchanged += 1;
        } else {
            self.changed("changed", kind, name, fields);
        }
    }

    /// Records a changed limit.
    pub(super) fn add_limit_change(
        &mut self,
        kind: &'static str,
        name: &str,
        before: u32,
        after: u32,
    ) {
        self.changes.push(Change {
            action: "changed",
            kind,
            name: name.to_owned(),
            fields: vec!["per_minute"],
            number: Some(NumberChange { before, after }),
        });
    }

    fn changed(
        &mut self,
        action: &'static str,
        kind: &'static str,
        name: &str,
        fields: Vec<&'static str>,
    ) {
        self.changes.push(Change {
            action,
            kind,
            name: name.to_owned(),
            fields,
            number: None,
        });
    }
}

impl ApplyReport {
    /// One line per change, for people.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<String> = self.changes.iter().map(Change::text).collect();
        lines.push(format!("unchanged {}", self.unchanged));
        if self.dry_run {
            lines.push("dry run: nothing was changed".to_owned());
        }
        lines.join("\n")
    }
}

impl Change {
    fn text(&self) -> String {
        let Change {
            action, kind, name, ..
        } = self;
        match (&self.number, self.fields.as_slice()) {
            (Some(NumberChange { before, after }), _) => {
                format!("{action} {kind} {name}: {before} to {after} a minute")
            }
            (None, []) => format!("{action} {kind} {name}"),
            (None, fields) => format!("{action} {kind} {name}: {}", fields.join(", ")),
        }
    }
}
