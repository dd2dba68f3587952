//! What a token's claims mean: for which tenant it speaks, what it allows, and when.
//!
//! Reads only claims whose signature was verified. A tenant that the operator did not assign to the
//! issuer is refused, whoever signed the token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archway_proto::{access::LONGEST_GROUP, catalog::Scope, host_account::HostAccount};
use serde_json::{Map, Value};

use super::{
    super::{failed_credentials::FailureReason, identity::Identity},
    config::{IssuerConfig, TenantRule},
};

/// Maximum seconds from issue to expiry: a token can be revoked only by notifying every gateway.
pub(super) const LONGEST_LIFE: f64 = 3600.0;
/// Groups of a token, at most.
const MOST_GROUPS: usize = 200;
/// The latest time that a token may name: the year 5138, in seconds since 1970.
const LAST_MOMENT: f64 = 1e11;

/// The path to a claim: its name, or several names into nested objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimPath(Vec<String>);

impl ClaimPath {
    /// `None` for no name, or an empty one.
    pub(super) fn new(names: Vec<String>) -> Option<Self> {
        let named = !names.is_empty() && names.iter().all(|name| !name.is_empty());
        named.then_some(ClaimPath(names))
    }

    /// Whether the path is this single name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.0 == [name]
    }

    pub(super) fn of<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter()
            .try_fold(claims.get(first)?, |value, name| value.get(name))
            .filter(|value| !value.is_null())
    }
}

/// What a verified token says about its holder.
#[derive(Debug)]
pub(crate) struct VerifiedClaims {
    /// The tenant's slug.
    pub(crate) tenant: String,
    pub(crate) identity: Identity,
    /// As the token writes it.
    pub(crate) subject: String,
    /// The groups that the token names, at most [`MOST_GROUPS`]; none if no claim is configured.
    pub(crate) groups: Vec<String>,
    /// The holder's accounts at git hosts, as far as the token names them.
    pub(crate) accounts: Vec<HostAccount>,
    pub(crate) scopes: Vec<Scope>,
    /// The earliest time at which it can have been issued: its `iat` minus the leeway. Seconds
    /// since 1970.
    pub(crate) earliest: f64,
    /// When it expires, leeway included. Seconds since 1970.
    pub(crate) ends: f64,
}

impl VerifiedClaims {
    /// Checks verified claims against what their issuer may say.
    pub(crate) fn new(
        issuer: &IssuerConfig,
        claims: &Map<String, Value>,
    ) -> Result<Self, FailureReason> {
        let is_listed = |audience: &Value| {
            let audience = audience.as_str();
            audience.is_some_and(|one| issuer.audiences.iter().any(|own| own == one))
        };
        let audience_fits = match claims.get("aud") {
            Some(Value::Array(several)) => several.iter().any(is_listed),
            Some(one) => is_listed(one),
            None => false,
        };
        audience_fits
            .then_some(())
            .ok_or(FailureReason::WrongAudience)?;
        let (earliest, ends) = times(claims, issuer.source.leeway, now(), LONGEST_LIFE)?;
        let subject = issuer.subject.of(claims).and_then(Value::as_str);
        let identity = subject.and_then(|subject| Identity::new(&issuer.source.name, subject));
        let subject = subject.unwrap_or_default().to_owned();
        Ok(VerifiedClaims {
            tenant: tenant(&issuer.tenant, claims).ok_or(FailureReason::WrongTenant)?,
            identity: identity.ok_or(FailureReason::WrongClaims)?,
            subject,
            groups: groups(issuer, claims)?,
            accounts: (issuer.accounts.iter())
                .filter_map(|account| account.of(claims))
                .collect(),
            scopes: scopes(issuer, claims).ok_or(FailureReason::WrongClaims)?,
            earliest,
            ends,
        })
    }

    /// Whether the token has expired.
    pub(crate) fn has_expired(&self) -> bool {
        now() >= self.ends
    }
}

/// Seconds since 1970 by this machine's clock, compared with the issuer's.
pub(super) fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// The minimum age of a token by its own, unverified claims. `None` if it has expired or is not
/// valid yet, so that no signature could make it valid.
pub(super) fn least_age(
    claims: &Map<String, Value>,
    leeway: Duration,
    longest_life: f64,
) -> Option<Duration> {
    let now = now();
    let (earliest, _ends) = times(claims, leeway, now, longest_life).ok()?;
    let latest = earliest + 2.0 * leeway.as_secs_f64();
    Some(Duration::from_secs_f64((now - latest).max(0.0)))
}

/// The earliest time of issue and the expiry, both with the leeway applied. `longest_life` is in seconds.
pub(super) fn times(
    claims: &Map<String, Value>,
    leeway: Duration,
    now: f64,
    longest_life: f64,
) -> Result<(f64, f64), FailureReason> {
    let moment = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => {
            let moment = value.as_f64().filter(|at| (0.0..=LAST_MOMENT).contains(at));
            moment.map(Some).ok_or(FailureReason::WrongClaims)
        }
    };
    let leeway = leeway.as_secs_f64();
    let issued = moment("iat")?.ok_or(FailureReason::WrongClaims)?;
    let end = moment("exp")?.ok_or(FailureReason::WrongClaims)?;
    if end + leeway <= now {
        return Err(FailureReason::Expired);
    }
    if end - issued > longest_life {
        return Err(FailureReason::LivesTooLong);
    }
    if issued.max(moment("nbf")?.unwrap_or(0.0)) > now + leeway {
        return Err(FailureReason::NotYet);
    }
    Ok((issued - leeway, end + leeway))
}

fn tenant(rule: &TenantRule, claims: &Map<String, Value>) -> Option<String> {
    match rule {
        TenantRule::Fixed(slug) => Some(slug.clone()),
        TenantRule::Claim(path, slugs) => slugs.get(path.of(claims)?.as_str()?).cloned(),
    }
}

/// What the token allows; unknown words grant nothing. `None` if the claim is neither a string nor
/// a list of strings.
fn scopes(issuer: &IssuerConfig, claims: &Map<String, Value>) -> Option<Vec<Scope>> {
    let words: Vec<&str> = match issuer.scope.of(claims) {
        None => return Some(issuer.default_scopes.clone()),
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect::<Option<_>>()?,
        Some(_) => return None,
    };
    let granted = Scope::ALL.into_iter();
    let granted = granted.filter(|scope| words.iter().any(|word| issuer.grants(word, *scope)));
    Some(granted.collect())
}

/// The groups of the token: a list of texts, or one text. A cut list would be a guess, so a longer one is refused.
fn groups(
    issuer: &IssuerConfig,
    claims: &Map<String, Value>,
) -> Result<Vec<String>, FailureReason> {
    let Some(claim) = issuer.groups.as_ref().and_then(|path| path.of(claims)) else {
        return Ok(Vec::new());
    };
    let group = |value: &Value| value.as_str().map(str::to_owned);
    let groups: Option<Vec<String>> = match claim {
        Value::Array(list) if list.len() > MOST_GROUPS => {
            return Err(FailureReason::TooManyGroups);
        }
        Value::Array(list) => list.iter().map(group).collect(),
        one => group(one).map(|group| vec![group]),
    };
    let groups = groups.ok_or(FailureReason::WrongClaims)?;
    match groups.iter().any(|group| group.len() > LONGEST_GROUP) {
        true => Err(FailureReason::TooManyGroups),
        false => Ok(groups),
    }
}

impl IssuerConfig {
    /// Whether a word of the scope claim grants this scope.
    fn grants(&self, word: &str, scope: Scope) -> bool {
        match &self.scopes {
            None => scope.name() == word,
            Some(meanings) => meanings
                .get(word)
                .is_some_and(|granted| granted.contains(&scope)),
        }
    }

    /// The words to request from this issuer for a scope. Empty where roles decide: a client cannot
    /// request those.
    pub(crate) fn words_for(&self, scope: Scope) -> Vec<&str> {
        if !self.scope.is("scope") && !self.scope.is("scp") {
            return Vec::new();
        }
        let Some(meanings) = &self.scopes else {
            return vec![scope.name()];
        };
        let granting = meanings
            .iter()
            .filter(|(_, granted)| granted.contains(&scope));
        let words = granting.map(|(word, _)| word.as_str());
        words.filter(|word| is_scope_token(word)).collect()
    }

    /// For each requestable scope, the word that grants the fewest other scopes.
    pub(crate) fn narrowest_words(&self, scopes: &[Scope]) -> Vec<&str> {
        let granted = |word: &str| {
            let scopes = Scope::ALL.into_iter();
            scopes.filter(|scope| self.grants(word, *scope)).count()
        };
        let mut words: Vec<&str> = Vec::new();
        for scope in scopes {
            let granting = self.words_for(*scope).into_iter();
            let word = granting.min_by_key(|word| granted(word));
            words.extend(word.filter(|word| !words.contains(word)));
        }
        words
    }
}

/// Whether a word can appear in a challenge (RFC 6749, 3.3).
fn is_scope_token(word: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !word.is_empty() && word.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{config::checked, document::IssuersFile},
        *,
    };

    const NOW: f64 = 1_000_000.0;

    fn times_of(claims: Value) -> Result<(f64, f64), FailureReason> {
        times(
            claims.as_object().unwrap(),
            Duration::from_secs(60),
            NOW,
            LONGEST_LIFE,
        )
    }

    #[test]
    fn a_token_is_valid_from_issue_to_expiry_within_the_leeway() {
        let good = times_of(json!({ "iat": 999_000, "exp": 999_941.5 }));
        assert_eq!(good, Ok((998_940.0, 1_000_001.5)));
        assert!(times_of(json!({ "iat": 1_000_060, "exp": 1_000_070 })).is_ok());
        for (claims, reason) in [
            (
                json!({ "iat": 999_000, "exp": 999_940 }),
                FailureReason::Expired,
            ),
            (
                json!({ "iat": 1_000_061, "exp": 1_000_070 }),
                FailureReason::NotYet,
            ),
            (
                json!({ "iat": 999_000, "nbf": 1_000_061, "exp": 1_000_070 }),
                FailureReason::NotYet,
            ),
            (
                json!({ "iat": 999_000, "exp": 1_002_601 }),
                FailureReason::LivesTooLong,
            ),
            (json!({ "exp": 1_000_100 }), FailureReason::WrongClaims),
            (json!({ "iat": 999_000 }), FailureReason::WrongClaims),
            (
                json!({ "iat": "999000", "exp": 1_000_100 }),
                FailureReason::WrongClaims,
            ),
            (
                json!({ "iat": -1, "exp": 1_000_100 }),
                FailureReason::WrongClaims,
            ),
            (
                json!({ "iat": 999_000, "exp": 1e300 }),
                FailureReason::WrongClaims,
            ),
        ] {
            assert_eq!(times_of(claims.clone()), Err(reason), "{claims}");
        }
    }

    #[test]
    fn the_least_age_allows_for_leeway_and_an_invalid_token_has_none() {
        let age = |iat: f64, exp: f64| {
            let claims = json!({ "iat": now() + iat, "exp": now() + exp });
            least_age(
                claims.as_object().unwrap(),
                Duration::from_secs(60),
                LONGEST_LIFE,
            )
        };
        for just in [0.0, 30.0, -59.0] {
            assert_eq!(age(just, 600.0), Some(Duration::ZERO), "{just}");
        }
        let older = age(-100.0, 600.0).unwrap().as_secs_f64();
        assert!((40.0..41.0).contains(&older), "{older}");
        assert_eq!(age(-600.0, -61.0), None);
        assert_eq!(age(90.0, 600.0), None);
        assert_eq!(least_age(&Map::new(), Duration::ZERO, LONGEST_LIFE), None);
    }

    fn issuer(more: &str) -> IssuerConfig {
        let text = format!("issuers: [{{issuer: 'https://a.example', audience: us, {more}}}]");
        checked(IssuersFile::parse(&text).unwrap())
            .unwrap()
            .remove(0)
    }

    fn facts(issuer: &IssuerConfig, more: Value) -> Result<VerifiedClaims, FailureReason> {
        let mut claims = json!({ "aud": "us", "sub": "42", "iat": now(), "exp": now() + 60.0 });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        VerifiedClaims::new(issuer, claims.as_object().unwrap())
    }

    #[test]
    fn a_claim_may_name_only_tenants_that_the_issuer_may_speak_for() {
        let by_claim = issuer("tenant_claim: [org, slug], tenants: {one: acme, zeta: zeta}");
        let tenant = |org: Value| facts(&by_claim, json!({ "org": org })).map(|facts| facts.tenant);
        assert_eq!(tenant(json!({ "slug": "one" })), Ok("acme".to_owned()));
        for org in [
            json!({ "slug": "acme" }),
            json!("one"),
            json!({ "slug": ["one"] }),
            json!(null),
        ] {
            assert_eq!(
                tenant(org.clone()),
                Err(FailureReason::WrongTenant),
                "{org}"
            );
        }
        // A name with dots is a single name.
        let named = issuer("tenant_claim: 'https://us.example/org', tenants: [acme]");
        assert!(facts(&named, json!({ "https://us.example/org": "acme" })).is_ok());
    }

    #[test]
    fn scopes_come_as_text_or_list_and_mean_what_operators_set() {
        let scopes = |issuer: &IssuerConfig, more: Value| facts(issuer, more).unwrap().scopes;
        let (read, write) = (Scope::ToolsRead, Scope::MemoryWrite);
        let plain = issuer("tenant: acme");
        assert_eq!(
            scopes(&plain, json!({ "scope": "openid memory:write tools:read" })),
            [read, write]
        );
        assert_eq!(scopes(&plain, json!({})), []);
        let mapped = issuer(
            "tenant: acme, scope_claim: [realm, roles], default_scopes: ['tools:read'], \
             scopes: {dev: ['tools:read', 'memory:write'], guest: []}",
        );
        let roles = |roles: Value| json!({ "realm": { "roles": roles }, "scope": "memory:write" });
        assert_eq!(scopes(&mapped, roles(json!(["x", "dev"]))), [read, write]);
        assert_eq!(scopes(&mapped, roles(json!(["guest", "tools:read"]))), []);
        assert_eq!(scopes(&mapped, json!({})), [read]);
        let refused = facts(&mapped, roles(json!([7]))).err();
        assert_eq!(refused, Some(FailureReason::WrongClaims));
    }

    #[test]
    fn clients_are_given_the_issuers_own_words_and_no_roles() {
        let words = |more: &str| {
            let issuer = issuer(more);
            let words = issuer.words_for(Scope::ToolsRead).into_iter();
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("tenant: acme"), ["tools:read"]);
        let scopes = "scopes: {'a/read': ['tools:read'], 'b c': ['tools:read'], d: [admin]}";
        assert_eq!(words(&format!("tenant: acme, {scopes}")), ["a/read"]);
        assert!(words(&format!("tenant: acme, scope_claim: roles, {scopes}")).is_empty());
    }

    #[test]
    fn of_several_words_for_a_scope_the_narrowest_is_named_once() {
        let both = [Scope::ToolsRead, Scope::MemoryWrite];
        let words = |scopes: &str| {
            let issuer = issuer(&format!("tenant: acme, {scopes}"));
            let words = issuer.narrowest_words(&both).into_iter();
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let (read, write, all) = (
            "['tools:read']",
            "['memory:write']",
            "['tools:read', 'memory:write']",
        );
        assert_eq!(words(""), ["tools:read", "memory:write"]);
        let mapped = format!("scopes: {{a: {all}, b: {read}, c: {write}, d: {read}}}");
        assert_eq!(words(&mapped), ["b", "c"]);
        let boss = "['tools:read', 'memory:write', admin]";
        assert_eq!(words(&format!("scopes: {{a: {boss}, b: {all}}}")), ["b"]);
        assert_eq!(words(&format!("scopes: {{b: {read}}}")), ["b"]);
    }
}
