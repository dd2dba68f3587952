//! Answers of `archway connection`.

use serde::Serialize;
use serde_json::Value;

use crate::admin::access::age_text;
use crate::admin::print::{Answer, moment, table};
use crate::tenants::{ConnectionRow, PermissionsState};

/// What was done to a connection.
#[derive(Serialize)]
pub(super) struct ConnectionChange<'a> {
    tenant: &'a str,
    connection: &'a str,
    done: String,
}

/// The connections of a tenant.
#[derive(Serialize)]
pub(super) struct ConnectionList<'a> {
    tenant: &'a str,
    connections: Vec<ListedConnection>,
}

#[derive(Serialize)]
struct ListedConnection {
    name: String,
    /// The organisation and its host.
    source: String,
    /// Repositories that it serves, and that its filters left out.
    served: u32,
    left_out: u32,
    /// When a listing last succeeded, and when the next is due.
    listed_at: Option<String>,
    next_at: String,
    /// Why the last listing failed or was held back.
    message: Option<String>,
}

/// A connection with its settings.
#[derive(Serialize)]
pub(super) struct ShownConnection<'a> {
    tenant: &'a str,
    #[serde(flatten)]
    listed: ListedConnection,
    /// How it goes with what the host says of who may read, with `permissions: host`.
    permissions: Option<ShownPermissions>,
    settings: Value,
}

/// How it goes with what a host says of who may read.
#[derive(Serialize)]
struct ShownPermissions {
    /// Private repositories.
    private: i64,
    /// Those that have an answer that counts. The others are hidden.
    answered: i64,
    /// Since the oldest of these answers.
    oldest_seconds: Option<i64>,
    /// Why the last round failed, or why a repository had no answer.
    message: Option<String>,
}

impl<'a> ConnectionChange<'a> {
    pub(super) fn of(tenant: &'a str, connection: &'a str, done: String) -> ConnectionChange<'a> {
        ConnectionChange {
            tenant,
            connection,
            done,
        }
    }
}

impl Answer for ConnectionChange<'_> {
    fn text(&self) -> String {
        format!(
            "connection {}/{}: {}",
            self.tenant, self.connection, self.done
        )
    }
}

impl<'a> ConnectionList<'a> {
    pub(super) fn of(tenant: &'a str, rows: Vec<ConnectionRow>) -> ConnectionList<'a> {
        ConnectionList {
            tenant,
            connections: rows.iter().map(ListedConnection::of).collect(),
        }
    }
}

impl Answer for ConnectionList<'_> {
    fn text(&self) -> String {
        let header = [
            "connection",
            "source",
            "served",
            "left out",
            "listed",
            "next",
            "error",
        ];
        let none = "no connections: `archway connection add TENANT NAME --github ORG` adds one";
        table(
            header,
            self.connections
                .iter()
                .map(ListedConnection::cells)
                .collect(),
            none,
        )
    }
}

impl ListedConnection {
    fn of(row: &ConnectionRow) -> ListedConnection {
        ListedConnection {
            name: row.name.clone(),
            source: source(&row.settings),
            served: row.served,
            left_out: row.left_out,
            listed_at: row.listed_at.map(moment),
            next_at: moment(row.next_at),
            message: row.message.clone(),
        }
    }

    fn cells(&self) -> [String; 7] {
        let never = || "never".to_owned();
        [
            self.name.clone(),
            self.source.clone(),
            self.served.to_string(),
            self.left_out.to_string(),
            self.listed_at.clone().unwrap_or_else(never),
            self.next_at.clone(),
            self.message.clone().unwrap_or_default(),
        ]
    }
}

impl<'a> ShownConnection<'a> {
    pub(super) fn of(
        tenant: &'a str,
        row: ConnectionRow,
        permissions: Option<PermissionsState>,
    ) -> ShownConnection<'a> {
        ShownConnection {
            tenant,
            listed: ListedConnection::of(&row),
            permissions: permissions.map(|state| ShownPermissions {
                private: state.private,
                answered: state.answered,
                oldest_seconds: state.oldest,
                message: state.message,
            }),
            settings: row.settings,
        }
    }
}

impl Answer for ShownConnection<'_> {
    fn text(&self) -> String {
        let ListedConnection {
            name,
            source,
            served,
            left_out,
            listed_at,
            next_at,
            message,
        } = &self.listed;
        let listed_at = listed_at.as_deref().unwrap_or("never");
        let mut lines = vec![
            format!("connection {}/{name}: {source}", self.tenant),
            format!("served {served}, left out {left_out}"),
            format!("listed {listed_at}, next {next_at}"),
        ];
        lines.extend(message.as_ref().map(|message| format!("error: {message}")));
        lines.extend(self.permissions.iter().map(ShownPermissions::text));
        lines.push(format!("{:#}", self.settings));
        lines.join("\n")
    }
}

impl ShownPermissions {
    fn text(&self) -> String {
        let ShownPermissions {
            private,
            answered,
            oldest_seconds,
            message,
        } = self;
        let oldest = oldest_seconds.map(|age| format!(", the oldest {} ago", age_text(age)));
        let error = message
            .as_ref()
            .map(|message| format!("; error: {message}"));
        format!(
            "permissions: the host said who may read {answered} of {private} private repositories{}{}",
            oldest.unwrap_or_default(),
            error.unwrap_or_default()
        )
    }
}

/// The organisation and its host, of settings as the database has them.
fn source(settings: &Value) -> String {
    let host = |kind: &str, owner: &str, default: &str| {
        let source = settings.get(kind)?;
        let owner = source.get(owner)?.as_str()?;
        let url = source.get("url").and_then(Value::as_str);
        Some(format!("{owner} at {}", url.unwrap_or(default)))
    };
    let urls = || {
        let list = settings.get("urls")?.get("list")?.as_array()?;
        Some(format!("{} URLs", list.len()))
    };
    host("github", "org", "https://github.com")
        .or_else(|| host("gitlab", "group", "https://gitlab.com"))
        .or_else(|| host("gitea", "org", ""))
        .or_else(urls)
        .unwrap_or_default()
}
