//! What making it so changed, in the order in which it did.

use serde::Serialize;

/// What making it so came to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Whether all of it was undone at the end.
    pub(crate) dry_run: bool,
    changes: Vec<Change>,
    /// How many entries were as they shall be.
    unchanged: u64,
}

#[derive(Debug, Serialize)]
struct Change {
    action: &'static str,
    kind: &'static str,
    name: String,
    /// What of it was changed, where that is more than its state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<&'static str>,
    /// A limit's number before and after.
    #[serde(flatten)]
    turn: Option<Turn>,
}

#[derive(Debug, Serialize)]
struct Turn {
    before: u32,
    after: u32,
}

impl Report {
    /// Notes that something was done.
    pub(super) fn did(&mut self, action: &'static str, kind: &'static str, name: &str) {
        self.changed(action, kind, name, Vec::new());
    }

    /// Notes that an entry is as it shall be, or what of it was changed.
    pub(super) fn compared(&mut self, kind: &'static str, name: &str, fields: Vec<&'static str>) {
        if fields.is_empty() {
            self.unchanged += 1;
        } else {
            self.changed("changed", kind, name, fields);
        }
    }

    /// Notes that a limit has another number.
    pub(super) fn turned(&mut self, kind: &'static str, name: &str, before: u32, after: u32) {
        self.changes.push(Change {
            action: "changed",
            kind,
            name: name.to_owned(),
            fields: vec!["per_minute"],
            turn: Some(Turn { before, after }),
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
            turn: None,
        });
    }
}

impl Report {
    /// A line for each change, for people.
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
        match (&self.turn, self.fields.as_slice()) {
            (Some(Turn { before, after }), _) => {
                format!("{action} {kind} {name}: {before} to {after} a minute")
            }
            (None, []) => format!("{action} {kind} {name}"),
            (None, fields) => format!("{action} {kind} {name}: {}", fields.join(", ")),
        }
    }
}
