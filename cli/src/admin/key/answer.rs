//! What `archway key` answers. Types that hold a secret have no `Debug`.

use archway_gateway::tenants::{IssuedKey, Key, KeyState};
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::admin::print::{Answer, listed, moment, table};

/// A key with its secret.
#[derive(Serialize)]
pub(super) struct Issued<'a> {
    id: &'a str,
    api_key: &'a str,
    #[serde(skip)]
    stored: bool,
}

impl<'a> Issued<'a> {
    pub(super) fn stored(key: &'a IssuedKey) -> Self {
        Issued {
            id: &key.id,
            api_key: key.api_key.expose_secret(),
            stored: true,
        }
    }

    pub(super) fn unstored(key: &'a IssuedKey) -> Self {
        Issued {
            stored: false,
            ..Issued::stored(key)
        }
    }
}

impl Answer for Issued<'_> {
    fn text(&self) -> String {
        if !self.stored {
            return self.api_key.to_owned();
        }
        format!(
            "key {}\n\n  {}\n\nstore it now: it can't be shown again",
            self.id, self.api_key
        )
    }
}

/// A key's successor, with its secret.
#[derive(Serialize)]
pub(super) struct Rotated<'a> {
    id: &'a str,
    api_key: &'a str,
    /// The older key.
    replaces: &'a str,
    /// When that one ends.
    older_expires_at: Option<String>,
}

impl<'a> Rotated<'a> {
    pub(super) fn new(key: &'a IssuedKey, older: &'a Key) -> Self {
        Rotated {
            id: &key.id,
            api_key: key.api_key.expose_secret(),
            replaces: &older.id,
            older_expires_at: older.terms.expires_at.map(moment),
        }
    }
}

impl Answer for Rotated<'_> {
    fn text(&self) -> String {
        let end = self.older_expires_at.as_deref().unwrap_or("never");
        format!(
            "key {} takes the place of {}, which ends {end}\n\n  {}\n\n\
             store it now: it can't be shown again",
            self.id, self.replaces, self.api_key
        )
    }
}

/// A key that is refused from now on.
#[derive(Serialize)]
pub(super) struct Revoked<'a> {
    id: &'a str,
    done: &'static str,
}

impl<'a> Revoked<'a> {
    pub(super) fn new(id: &'a str, changed: bool) -> Self {
        let done = if changed { "revoked" } else { "revoked before" };
        Revoked { id, done }
    }
}

impl Answer for Revoked<'_> {
    fn text(&self) -> String {
        format!("key {}: {}", self.id, self.done)
    }
}

/// A tenant's keys.
#[derive(Serialize)]
pub(super) struct List<'a> {
    tenant: &'a str,
    keys: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    label: String,
    state: &'static str,
    scopes: Vec<String>,
    /// Null: all of the tenant's.
    projects: Option<Vec<String>>,
    /// Null: all.
    families: Option<Vec<String>>,
    default_project: Option<String>,
    agents: u32,
    created_at: String,
    expires_at: Option<String>,
    lineage: String,
}

impl<'a> List<'a> {
    pub(super) fn new(tenant: &'a str, keys: Vec<Key>) -> Self {
        let keys = keys.into_iter().map(Row::from).collect();
        List { tenant, keys }
    }
}

impl From<Key> for Row {
    fn from(key: Key) -> Self {
        let terms = key.terms;
        let scopes = terms.scopes.iter();
        Row {
            id: key.id,
            label: terms.label,
            state: match key.state {
                KeyState::Live => "live",
                KeyState::Expired => "expired",
                KeyState::Revoked => "revoked",
            },
            scopes: scopes.map(|scope| scope.name().to_owned()).collect(),
            projects: terms.projects,
            families: terms.families,
            default_project: terms.default_project,
            agents: terms.agents,
            created_at: moment(key.created_at),
            expires_at: terms.expires_at.map(moment),
            lineage: key.lineage.to_string(),
        }
    }
}

impl Answer for List<'_> {
    fn text(&self) -> String {
        let header = [
            "key", "label", "state", "scopes", "projects", "families", "default", "agents",
            "created", "expires", "lineage",
        ];
        let row = |row: &Row| {
            [
                row.id.clone(),
                row.label.clone(),
                row.state.to_owned(),
                listed(Some(&row.scopes), "-"),
                listed(row.projects.as_deref(), "all"),
                listed(row.families.as_deref(), "all"),
                row.default_project
                    .clone()
                    .unwrap_or_else(|| "-".to_owned()),
                row.agents.to_string(),
                row.created_at.clone(),
                row.expires_at.clone().unwrap_or_else(|| "never".to_owned()),
                row.lineage.chars().take(8).collect(),
            ]
        };
        let rows = self.keys.iter().map(row).collect();
        table(header, rows, &format!("tenant {} has no keys", self.tenant))
    }
}
