//! The configured issuers after validation: every [`IssuerConfig`] is usable.

use std::{collections::BTreeMap, path::Path};

use archway_proto::catalog::Scope;

use super::{
    accounts::{AccountClaim, account_claims},
    claims::ClaimPath,
    document::{self, IssuerEntry, IssuersFile, TenantEntry},
    error::{IssuerProblem, IssuersError, MOST_ISSUERS, MOST_PROJECTS},
    source::{SourceConfig, SourceEntry},
};
use crate::slug::is_slug;

/// For which tenants an issuer speaks.
#[derive(Debug)]
pub(super) enum TenantRule {
    Fixed(String),
    /// By a claim: maps each value that it may have to a tenant's slug.
    Claim(ClaimPath, BTreeMap<String, String>),
}

/// A validated issuer.
#[derive(Debug)]
pub(crate) struct IssuerConfig {
    pub(crate) source: SourceConfig,
    pub(super) audiences: Vec<String>,
    pub(super) tenant: TenantRule,
    pub(super) subject: ClaimPath,
    pub(super) groups: Option<ClaimPath>,
    pub(super) accounts: Vec<AccountClaim>,
    pub(super) scope: ClaimPath,
    /// What the words of the scope claim mean; `None` means that they are Archway's own scope
    /// names.
    pub(super) scopes: Option<BTreeMap<String, Vec<Scope>>>,
    pub(super) default_scopes: Vec<Scope>,
    pub(crate) projects: Option<Vec<String>>,
    pub(crate) families: Option<Vec<String>>,
    pub(crate) default_project: Option<String>,
}

/// Loads the issuers of a file.
pub(super) fn load(path: &Path) -> Result<Vec<IssuerConfig>, IssuersError> {
    checked(IssuersFile::load(path)?)
}

pub(super) fn checked(document: IssuersFile) -> Result<Vec<IssuerConfig>, IssuersError> {
    let count = document.issuers.len();
    if !(1..=MOST_ISSUERS).contains(&count) {
        return Err(IssuersError::Number(count));
    }
    let mut issuers: Vec<IssuerConfig> = Vec::with_capacity(count);
    for (index, entry) in document.issuers.into_iter().enumerate() {
        if issuers
            .iter()
            .any(|earlier| earlier.source.name == entry.issuer)
        {
            return Err(IssuersError::Twice(entry.issuer));
        }
        let config = IssuerConfig::new(entry);
        issuers.push(config.map_err(|problem| IssuersError::Issuer {
            number: index + 1,
            problem,
        })?);
    }
    Ok(issuers)
}

impl IssuerConfig {
    fn new(entry: IssuerEntry) -> Result<Self, IssuerProblem> {
        let audiences = entry.audience.list();
        if audiences.is_empty() || audiences.iter().any(String::is_empty) {
            return Err(IssuerProblem::Audience);
        }
        let claim = |what, words: Option<document::ScopeWords>, default: &str| {
            let words = words.map_or_else(|| vec![default.to_owned()], document::ScopeWords::list);
            ClaimPath::new(words).ok_or(IssuerProblem::Claim(what))
        };
        let tenant = tenant_rule(entry.tenant, entry.tenant_claim, entry.tenants)?;
        check_narrowing("families", entry.families.as_deref())?;
        check_projects(entry.projects.as_deref(), entry.default_project.as_ref())?;
        let source = SourceConfig::new(SourceEntry {
            issuer: entry.issuer,
            algorithms: &entry.algorithms,
            leeway: entry.leeway,
            jwks_uri: entry.jwks_uri.as_deref(),
            ca_file: entry.ca_file.as_deref(),
        })?;
        Ok(IssuerConfig {
            source,
            audiences,
            tenant,
            subject: claim("subject_claim", entry.subject_claim, "sub")?,
            groups: match entry.groups_claim {
                Some(words) => Some(claim("groups_claim", Some(words), "")?),
                None => None,
            },
            accounts: account_claims(entry.host_accounts)?,
            scope: claim("scope_claim", entry.scope_claim, "scope")?,
            scopes: entry.scopes,
            default_scopes: entry.default_scopes,
            projects: entry.projects,
            families: entry.families,
            default_project: entry.default_project,
        })
    }
}

fn tenant_rule(
    fixed: Option<String>,
    claim: Option<document::ScopeWords>,
    tenants: Option<TenantEntry>,
) -> Result<TenantRule, IssuerProblem> {
    match (fixed, claim, tenants) {
        (Some(slug), None, None) => {
            check_slugs("tenant", [&slug])?;
            Ok(TenantRule::Fixed(slug))
        }
        (None, Some(claim), Some(tenants)) => {
            let claim = ClaimPath::new(claim.list()).ok_or(IssuerProblem::Claim("tenant_claim"))?;
            let slugs: BTreeMap<String, String> = match tenants {
                TenantEntry::List(slugs) => {
                    slugs.into_iter().map(|slug| (slug.clone(), slug)).collect()
                }
                TenantEntry::Map(slugs) => slugs,
            };
            if slugs.is_empty() {
                return Err(IssuerProblem::Tenants);
            }
            check_slugs("tenants", slugs.values())?;
            Ok(TenantRule::Claim(claim, slugs))
        }
        _ => Err(IssuerProblem::Tenants),
    }
}

fn check_slugs<'a>(
    what: &'static str,
    slugs: impl IntoIterator<Item = &'a String>,
) -> Result<(), IssuerProblem> {
    match slugs.into_iter().find(|slug| !is_slug(slug)) {
        Some(slug) => Err(IssuerProblem::Slug(what, slug.clone())),
        None => Ok(()),
    }
}

fn check_narrowing(what: &'static str, list: Option<&[String]>) -> Result<(), IssuerProblem> {
    let nothing = list.is_some_and(<[String]>::is_empty);
    (!nothing).then_some(()).ok_or(IssuerProblem::Nothing(what))
}

fn check_projects(
    projects: Option<&[String]>,
    default: Option<&String>,
) -> Result<(), IssuerProblem> {
    check_narrowing("projects", projects)?;
    check_slugs("projects", projects.unwrap_or_default())?;
    check_slugs("default_project", default)?;
    let (Some(projects), default) = (projects, default) else {
        return Ok(());
    };
    if projects.len() > MOST_PROJECTS {
        return Err(IssuerProblem::Projects);
    }
    let inside = default.is_none_or(|slug| projects.contains(slug));
    inside.then_some(()).ok_or(IssuerProblem::DefaultOutside)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jsonwebtoken::Algorithm;

    use super::*;

    const URL: &str = "https://a.example";

    fn read(text: &str) -> Result<Vec<IssuerConfig>, IssuersError> {
        checked(IssuersFile::parse(text)?)
    }

    /// The problem found in an entry, as text.
    fn problem(entry: &str) -> String {
        let refused = read(&format!("issuers: [{{{entry}}}]")).unwrap_err();
        match refused {
            IssuersError::Issuer { problem, .. } => problem.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn an_issuer_has_safe_defaults() {
        let text = "issuers: [{issuer: 'https://a.example/', audience: us, tenant: acme}]";
        let issuer = read(text).unwrap().remove(0);
        assert_eq!(issuer.source.algorithms, [Algorithm::RS256]);
        assert_eq!(issuer.source.leeway, Duration::from_secs(60));
        assert_eq!(issuer.source.name, "https://a.example/");
        assert!(issuer.default_scopes.is_empty());
    }

    #[test]
    fn an_untrustworthy_issuer_is_refused_with_the_reason() {
        for (issuer, more, says) in [
            ("http://a.example", "", "`issuer`"),
            ("https://a.example?b", "", "`issuer`"),
            ("https://me@a.example", "", "`issuer`"),
            (URL, "jwks_uri: 'http://a.example'", "`jwks_uri`"),
            (URL, "jwks_uri: 'http://127.0.0.1'", "`jwks_uri`"),
            (URL, "jwks_uri: 'https://me@a.example/keys'", "`jwks_uri`"),
            (URL, "jwks_uri: 'https://:hunter2@a.example'", "`jwks_uri`"),
            (
                URL,
                "jwks_uri: 'https:///me:hunter2@a.example'",
                "`jwks_uri`",
            ),
            (URL, "algorithms: [HS256]", "\"HS256\""),
            (URL, "algorithms: [none]", "\"none\""),
            (URL, "leeway: 121", "121 seconds"),
            (URL, "ca_file: /nonexistent", "`ca_file`"),
            (URL, "client_secret: x", "client_secret"),
        ] {
            let said = problem(&format!(
                "issuer: '{issuer}', audience: us, tenant: acme, {more}"
            ));
            assert!(said.contains(says), "{issuer} {more}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let nobody = problem(&format!("issuer: '{URL}', audience: [], tenant: acme"));
        assert!(nobody.contains("`audience`"), "{nobody}");
    }

    #[test]
    fn keys_may_be_on_another_host_and_behind_a_query() {
        let uri = "https://keys.example/of?policy=b@c";
        let text = format!(
            "issuers: [{{issuer: '{URL}', audience: us, tenant: acme, jwks_uri: '{uri}'}}]"
        );
        let found = read(&text).unwrap().remove(0).source.jwks_uri;
        assert_eq!(found.map(String::from).as_deref(), Some(uri));
    }

    #[test]
    fn invalid_rules_of_an_issuer_are_refused_with_the_reason() {
        for (more, says) in [
            ("leeway: 1", "which tenants it speaks for"),
            ("tenant_claim: org", "which tenants it speaks for"),
            (
                "tenant_claim: org, tenants: []",
                "which tenants it speaks for",
            ),
            (
                "tenant: acme, tenants: [acme]",
                "which tenants it speaks for",
            ),
            ("tenant: Acme", "not a slug"),
            ("tenant_claim: org, tenants: {a: Acme}", "not a slug"),
            ("tenant_claim: [], tenants: [a]", "`tenant_claim`"),
            ("tenant: acme, subject_claim: ''", "`subject_claim`"),
            ("tenant: acme, projects: []", "`projects`"),
            (
                "tenant: acme, projects: [a], default_project: b",
                "not among",
            ),
        ] {
            let said = problem(&format!("issuer: '{URL}', audience: us, {more}"));
            assert!(said.contains(says), "{more}: {said}");
        }
    }

    #[test]
    fn the_file_is_bounded_and_names_each_issuer_once() {
        let entry = |name: &str| format!("{{issuer: 'https://{name}', audience: us, tenant: a}}");
        let twice = format!("issuers: [{0}, {0}]", entry("a.example"));
        assert!(matches!(read(&twice), Err(IssuersError::Twice(_))));
        let many: Vec<String> = (0..101)
            .map(|number| entry(&format!("a{number}")))
            .collect();
        let many = format!("issuers: [{}]", many.join(", "));
        assert!(matches!(read(&many), Err(IssuersError::Number(101))));
        assert!(matches!(read("issuers: []"), Err(IssuersError::Number(0))));
        assert!(matches!(read("issuer: x"), Err(IssuersError::Syntax(_))));
    }
}
