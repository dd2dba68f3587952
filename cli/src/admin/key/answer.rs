//! What `archway key` answers. Types that hold a secret have no `Debug`.

use crate::tenants::{IssuedKey, Key, KeyState};
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::admin::print::{Answer, listed, moment, table, table_by_tenant};

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
            "key {}\n\n  {}\n\nstore it now: it can't be shown again\n\
             `archway settings` prints what to paste into clients",
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

/// A tenant's keys, or those of all.
#[derive(Serialize)]
pub(super) struct List<'a> {
    /// Null: all tenants.
    tenant: Option<&'a str>,
    keys: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    tenant: String,
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
    /// None yet, of this tenant or of all.
    pub(super) fn new(tenant: Option<&'a str>) -> Self {
        let keys = Vec::new();
        List { tenant, keys }
    }

    /// Adds those of a tenant.
    pub(super) fn add(&mut self, tenant: &str, keys: Vec<Key>) {
        self.keys
            .extend(keys.into_iter().map(|key| Row::new(tenant, key)));
    }
}

impl Row {
    fn new(tenant: &str, key: Key) -> Self {
        let terms = key.terms;
        let scopes = terms.scopes.iter();
        Row {
            tenant: tenant.to_owned(),
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

    fn cells(&self) -> [String; 11] {
        [
            self.id.clone(),
            self.label.clone(),
            self.state.to_owned(),
            listed(Some(&self.scopes), "-"),
            listed(self.projects.as_deref(), "all"),
            listed(self.families.as_deref(), "all"),
            self.default_project
                .clone()
                .unwrap_or_else(|| "-".to_owned()),
            self.agents.to_string(),
            self.created_at.clone(),
            self.expires_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            self.lineage.chars().take(8).collect(),
        ]
    }
}

impl Answer for List<'_> {
    fn text(&self) -> String {
        let header = [
            "key", "label", "state", "scopes", "projects", "families", "default", "agents",
            "created", "expires", "lineage",
        ];
        let rows = self.keys.iter();
        let Some(tenant) = self.tenant else {
            let rows = rows.map(|row| (row.tenant.clone(), row.cells()));
            return table_by_tenant(header, rows.collect(), "no keys");
        };
        let none = format!("tenant {tenant} has no keys");
        table(header, rows.map(Row::cells).collect(), &none)
    }
}
