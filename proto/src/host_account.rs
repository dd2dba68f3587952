//! Accounts of a caller at git hosts, by which hosts say what it may read there.

use serde::{Deserialize, Serialize};

/// Accounts of one caller, at most: a pass names them, and has to fit into a header.
pub const MAX_ACCOUNTS: usize = 20;
/// The longest name of an account, in bytes.
pub const LONGEST_ACCOUNT: usize = 255;

/// An account at the host of a connection, as a caller's token names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostAccount {
    /// The connection's name within the tenant.
    pub connection: String,
    /// What the name is.
    pub by: AccountKey,
    /// The name: 1 to [`LONGEST_ACCOUNT`] bytes, in lower case; of an id, decimal digits.
    pub name: String,
}

/// By what a host knows an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountKey {
    /// The host's own number, which stays when the account is renamed.
    Id,
    /// The name that its owner logs in by.
    Login,
    /// An email address that the host has verified.
    Email,
}

impl AccountKey {
    /// All of them.
    pub const ALL: [AccountKey; 3] = [AccountKey::Id, AccountKey::Login, AccountKey::Email];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            AccountKey::Id => "id",
            AccountKey::Login => "login",
            AccountKey::Email => "email",
        }
    }
}

impl HostAccount {
    /// The account with this name; `None` if no account of a host has it.
    pub fn new(connection: &str, by: AccountKey, name: &str) -> Option<HostAccount> {
        let is_plain = !name.chars().any(|c| c.is_control() || c.is_whitespace());
        let fits = (1..=LONGEST_ACCOUNT).contains(&name.len()) && is_plain;
        let is_of_kind = match by {
            AccountKey::Id => id(name).is_some(),
            AccountKey::Login => true,
            AccountKey::Email => name.contains('@'),
        };
        (fits && is_of_kind).then(|| HostAccount {
            connection: connection.to_owned(),
            by,
            name: name.to_lowercase(),
        })
    }

    /// The host's number, if the account is named by it.
    pub fn id(&self) -> Option<i64> {
        match self.by {
            AccountKey::Id => id(&self.name),
            AccountKey::Login | AccountKey::Email => None,
        }
    }

    /// Reads `CONNECTION:KEY:NAME`, such as `github:login:ada`.
    pub fn parse(text: &str) -> Option<HostAccount> {
        let (connection, rest) = text.split_once(':')?;
        let (by, name) = rest.split_once(':')?;
        let by = AccountKey::ALL.into_iter().find(|key| key.name() == by)?;
        HostAccount::new(connection, by, name)
    }
}

impl std::fmt::Display for HostAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.connection, self.by.name(), self.name)
    }
}

/// A number as hosts write ids: decimal digits without a leading zero, above 0.
fn id(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_named_by_number_login_or_address() {
        for (text, shown) in [
            ("github:login:Ada", "github:login:ada"),
            ("github:id:583231", "github:id:583231"),
            ("lab:email:Ada@Example.org", "lab:email:ada@example.org"),
        ] {
            assert_eq!(HostAccount::parse(text).unwrap().to_string(), shown);
        }
        let long = format!("github:login:{}", "a".repeat(LONGEST_ACCOUNT + 1));
        for bad in [
            "ada",
            "github:ada",
            "github:name:ada",
            "github:login:",
            "github:login:a b",
            "github:login:a\nb",
            "github:id:0",
            "github:id:01",
            "github:id:-1",
            "github:id:ada",
            "github:id:99999999999999999999",
            "github:email:ada",
            &long,
        ] {
            assert_eq!(HostAccount::parse(bad), None, "{bad}");
        }
        assert_eq!(HostAccount::parse("g:id:5").unwrap().id(), Some(5));
        assert_eq!(HostAccount::parse("g:login:5").unwrap().id(), None);
    }
}
