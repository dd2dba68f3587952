//! The report of what applying the desired state changed, in the order of the changes.

use archway_gateway::terms::{MEMORY, MONTH};
use serde::Serialize;

use super::field_change::FieldChange;

/// What was changed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ApplyReport {
    /// Whether the changes were rolled back.
    pub(crate) dry_run: bool,
    changes: Vec<Change>,
    /// What was hidden and is not any more, or the other way round, most likely unmeant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
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
    /// What these fields were and are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<FieldChange>,
    /// A limit's value before and after.
    #[serde(flatten)]
    number: Option<NumberChange>,
}

#[derive(Debug, Serialize)]
struct NumberChange {
    before: u32,
    after: u32,
    #[serde(skip)]
    unit: &'static str,
}

impl ApplyReport {
    /// Records an action.
    pub(super) fn add_action(&mut self, action: &'static str, kind: &'static str, name: &str) {
        self.changed(action, kind, name, Vec::new());
    }

    /// Adds a warning.
    pub(super) fn add_warning(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Records an entry that already matched (no `values`), or the fields that were changed.
    pub(super) fn add_comparison(
        &mut self,
        kind: &'static str,
        name: &str,
        values: Vec<FieldChange>,
    ) {
        if values.is_empty() {
            self.unchanged += 1;
            return;
        }
        let warnings = values.iter().flat_map(FieldChange::warnings);
        let warnings = warnings.map(|warning| format!("{kind} {name}: {warning}"));
        self.warnings.extend(warnings);
        self.changed("changed", kind, name, values);
    }

    /// Records a changed limit of something.
    pub(super) fn add_limit_change(&mut self, name: &str, of: &str, (before, after): (u32, u32)) {
        let unit = match of {
            MONTH => "units a month",
            MEMORY => "MiB in all",
            _ => "a minute",
        };
        self.changes.push(Change {
            action: "changed",
            kind: "limit",
            name: name.to_owned(),
            fields: vec!["per_minute"],
            values: Vec::new(),
            number: Some(NumberChange {
                before,
                after,
                unit,
            }),
        });
    }

    fn changed(
        &mut self,
        action: &'static str,
        kind: &'static str,
        name: &str,
        values: Vec<FieldChange>,
    ) {
        self.changes.push(Change {
            action,
            kind,
            name: name.to_owned(),
            fields: values.iter().map(|change| change.field).collect(),
            values,
            number: None,
        });
    }
}

impl ApplyReport {
    /// One line per change, for people.
    pub(crate) fn text(&self) -> String {
        let mut lines: Vec<String> = self.changes.iter().map(Change::text).collect();
        lines.extend(self.warnings.iter().map(|text| format!("warning: {text}")));
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
        let mut text = format!("{action} {kind} {name}");
        if let Some(NumberChange {
            before,
            after,
            unit,
        }) = self.number
        {
            text = format!("{text}: {before} to {after} {unit}");
        }
        for change in &self.values {
            text = format!("{text}\n  {}", change.text());
        }
        text
    }
}
