//! Answers of `archway key`. Types that hold a secret don't implement `Debug`.

use secrecy::ExposeSecret;
use serde::Serialize;

use crate::admin::print::{Answer, listed, moment, table, table_by_tenant};
use crate::tenants::{IssuedKey, Key, KeyState};

/// A new key with its secret.
#[derive(Serialize)]
pub(super) struct NewKeyAnswer<'a> {
    id: &'a str,
    api_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip)]
    stored: bool,
}

impl<'a> NewKeyAnswer<'a> {
    pub(super) fn stored(key: &'a IssuedKey, warning: Option<String>) -> Self {
        NewKeyAnswer {
            id: &key.id,
            api_key: key.api_key.expose_secret(),
            warning,
            stored: true,
        }
    }

    pub(super) fn unstored(key: &'a IssuedKey) -> Self {
        NewKeyAnswer {
            stored: false,
            ..NewKeyAnswer::stored(key, None)
        }
    }
}

impl Answer for NewKeyAnswer<'_> {
    fn text(&self) -> String {
        if !self.stored {
            return self.api_key.to_owned();
        }
        let text = format!(
            "key {}\n\n  {}\n\nstore it now: it can't be shown again\n\
             `archway settings` prints what to paste into clients",
            self.id, self.api_key
        );
        match &self.warning {
            Some(warning) => format!("{text}\nwarning: {warning}"),
            None => text,
        }
    }
}

/// A key's successor, with its secret.
#[derive(Serialize)]
pub(super) struct RotatedKey<'a> {
    id: &'a str,
    api_key: &'a str,
    /// The older key.
    replaces: &'a str,
    /// When the older key ends.
    older_expires_at: Option<String>,
}

impl<'a> RotatedKey<'a> {
    pub(super) fn new(key: &'a IssuedKey, older: &'a Key) -> Self {
        RotatedKey {
            id: &key.id,
            api_key: key.api_key.expose_secret(),
            replaces: &older.id,
            older_expires_at: older.terms.expires_at.map(moment),
        }
    }
}

impl Answer for RotatedKey<'_> {
    fn text(&self) -> String {
        let end = self.older_expires_at.as_deref().unwrap_or("never");
        format!(
            "key {} replaces {}, which ends {end}\n\n  {}\n\n\
             store it now: it can't be shown again",
            self.id, self.replaces, self.api_key
        )
    }
}

/// A revoked key.
#[derive(Serialize)]
pub(super) struct RevokedKey<'a> {
    id: &'a str,
    done: &'static str,
}

impl<'a> RevokedKey<'a> {
    pub(super) fn new(id: &'a str, changed: bool) -> Self {
        let done = if changed { "revoked" } else { "revoked before" };
        RevokedKey { id, done }
    }
}

impl Answer for RevokedKey<'_> {
    fn text(&self) -> String {
        format!("key {}: {}", self.id, self.done)
    }
}

/// The keys of one tenant, or of all.
#[derive(Serialize)]
pub(super) struct KeyList<'a> {
    /// Null: all tenants.
    tenant: Option<&'a str>,
    keys: Vec<ListedKey>,
}

#[derive(Serialize)]
struct ListedKey {
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

impl<'a> KeyList<'a> {
    /// An empty list, of this tenant or of all.
    pub(super) fn new(tenant: Option<&'a str>) -> Self {
        let keys = Vec::new();
        KeyList { tenant, keys }
    }

    /// Adds a tenant's keys.
    pub(super) fn add(&mut self, tenant: &str, keys: Vec<Key>) {
        self.keys
            .extend(keys.into_iter().map(|key| ListedKey::new(tenant, key)));
    }
}

impl ListedKey {
    fn new(tenant: &str, key: Key) -> Self {
        let terms = key.terms;
        let scopes = terms.scopes.iter();
        ListedKey {
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

impl Answer for KeyList<'_> {
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
        table(header, rows.map(ListedKey::cells).collect(), &none)
    }
}
