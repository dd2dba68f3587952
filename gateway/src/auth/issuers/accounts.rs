//! Which account at a git host a token's holder has, by a claim of the token.

use std::collections::BTreeMap;

use archway_proto::host_account::{AccountKey, HostAccount, MAX_ACCOUNTS};
use serde_json::{Map, Value};

use super::{claims::ClaimPath, document::AccountEntry, error::IssuerProblem};
use crate::slug::is_slug;

/// The claim that names the account at the host of one connection.
#[derive(Debug)]
pub(super) struct AccountClaim {
    connection: String,
    by: AccountKey,
    claim: ClaimPath,
}

/// The claims of an issuer, checked.
pub(super) fn account_claims(
    entries: BTreeMap<String, AccountEntry>,
) -> Result<Vec<AccountClaim>, IssuerProblem> {
    if entries.len() > MAX_ACCOUNTS {
        return Err(IssuerProblem::Accounts(entries.len()));
    }
    entries.into_iter().map(AccountClaim::new).collect()
}

impl AccountClaim {
    fn new((connection, entry): (String, AccountEntry)) -> Result<AccountClaim, IssuerProblem> {
        let AccountEntry { id, login, email } = entry;
        let (by, words) = match (id, login, email) {
            (Some(words), None, None) => (AccountKey::Id, words),
            (None, Some(words), None) => (AccountKey::Login, words),
            (None, None, Some(words)) => (AccountKey::Email, words),
            _ => return Err(IssuerProblem::Account(connection)),
        };
        let claim = ClaimPath::new(words.list());
        match claim.filter(|_| is_slug(&connection)) {
            Some(claim) => Ok(AccountClaim {
                connection,
                by,
                claim,
            }),
            None => Err(IssuerProblem::Account(connection)),
        }
    }

    /// The account that a verified token names; `None` if it names none that a host could have.
    pub(super) fn of(&self, claims: &Map<String, Value>) -> Option<HostAccount> {
        // OpenID Connect Core 1.0, 5.1: only then has the issuer checked whose address it is.
        let is_vouched =
            !self.claim.is("email") || claims.get("email_verified") == Some(&Value::Bool(true));
        let name = match (self.claim.of(claims)?, self.by) {
            (Value::String(name), _) => name.clone(),
            (Value::Number(number), AccountKey::Id) => number.to_string(),
            _ => return None,
        };
        HostAccount::new(&self.connection, self.by, &name).filter(|_| is_vouched)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::document::ScopeWords, *};

    fn entry(by: AccountKey, path: &[&str]) -> AccountEntry {
        let words = |of: AccountKey| {
            let words = path.iter().map(|&word| word.to_owned()).collect();
            (of == by).then_some(ScopeWords::Many(words))
        };
        AccountEntry {
            id: words(AccountKey::Id),
            login: words(AccountKey::Login),
            email: words(AccountKey::Email),
        }
    }

    fn account(by: AccountKey, path: &[&str], claims: &Value) -> Option<String> {
        let entries = BTreeMap::from([("github".to_owned(), entry(by, path))]);
        let claims_of = account_claims(entries).unwrap();
        let found = claims_of[0].of(claims.as_object().unwrap());
        found.map(|account| account.to_string())
    }

    #[test]
    fn a_claim_names_the_account_at_a_host() {
        use AccountKey::{Email, Id, Login};
        let claims = json!({
            "preferred_username": "Ada", "identities": { "github": 583, "other": "0583" },
            "email": "ada@example.org", "email_verified": true, "upn": "ada@corp.example", "list": ["ada"],
        });
        for (by, path, expected) in [
            (Login, &["preferred_username"][..], Some("github:login:ada")),
            (Id, &["identities", "github"], Some("github:id:583")),
            (Email, &["email"], Some("github:email:ada@example.org")),
            (Email, &["upn"], Some("github:email:ada@corp.example")),
            (Id, &["identities", "other"], None),
            (Login, &["identities", "github"], None),
            (Login, &["list"], None),
            (Login, &["nickname"], None),
            (Id, &["preferred_username"], None),
        ] {
            assert_eq!(account(by, path, &claims).as_deref(), expected, "{path:?}");
        }
        for unverified in [
            json!({ "email": "ada@example.org" }),
            json!({ "email": "ada@example.org", "email_verified": "true" }),
        ] {
            assert_eq!(account(Email, &["email"], &unverified), None);
        }
    }

    #[test]
    fn an_entry_names_one_claim_and_a_connection() {
        let both = AccountEntry {
            id: Some(ScopeWords::One("id".to_owned())),
            ..entry(AccountKey::Login, &["login"])
        };
        let none = AccountEntry {
            id: None,
            login: None,
            email: None,
        };
        let of = |name: &str, entry| account_claims(BTreeMap::from([(name.to_owned(), entry)]));
        assert!(of("github", both).is_err());
        assert!(of("github", none).is_err());
        assert!(of("GitHub", entry(AccountKey::Login, &["login"])).is_err());
        assert!(of("github", entry(AccountKey::Login, &[""])).is_err());
        let many =
            (0..=MAX_ACCOUNTS).map(|n| (n.to_string(), entry(AccountKey::Login, &["login"])));
        assert!(account_claims(many.collect()).is_err());
    }
}
