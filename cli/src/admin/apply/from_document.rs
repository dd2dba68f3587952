//! Turns a document into the desired state: takes keys from the environment, and checks every entry
//! as far as that is possible without a database.

use std::collections::BTreeSet;

use archway_gateway::terms::Level;
use archway_proto::chain::Chain;
use archway_sync::hosts::ConnectionSettings;
use archway_sync::remote::AllowedProtocols;
use secrecy::SecretString;

use super::document::{
    AccessEntry, Document, KeyEntry, KeyLimits, PerMinute, ProjectEntry, TenantEntry, TenantLimits,
};
use super::{ApplyError, KeysByName};
use crate::admin::AdminError;
use crate::admin::input::{KeyEnd, check_families, check_globs};
use crate::admin::limit_targets::check_names;
use crate::desired::{
    DesiredKey, DesiredLimit, DesiredName, DesiredProject, DesiredSource, DesiredState,
    DesiredTenant, Globs,
};
use crate::tenants::{AccessTerms, KeyRequest, key_id};

impl DesiredState {
    /// The desired state of a document. Keys come from `keys`, else from environment variables.
    pub(super) fn from_document(
        document: Document,
        keys: &KeysByName,
        allowed: AllowedProtocols,
    ) -> Result<DesiredState, ApplyError> {
        DesiredState::with_variables(document, allowed, |name| {
            if let Some(key) = keys.get(name) {
                return Some(key.clone());
            }
            std::env::var_os(name)?
                .into_string()
                .ok()
                .map(SecretString::from)
        })
    }

    fn with_variables(
        document: Document,
        allowed: AllowedProtocols,
        variable: impl Fn(&str) -> Option<SecretString>,
    ) -> Result<DesiredState, ApplyError> {
        let mut checked = Checked {
            allowed,
            ..Checked::default()
        };
        let tenants = document.tenants.into_iter();
        let tenants = tenants.map(|entry| tenant(entry, &variable, &mut checked));
        Ok(DesiredState {
            tenants: tenants.collect::<Result<_, _>>()?,
        })
    }
}

/// What was checked so far, and by which rules.
#[derive(Default)]
struct Checked {
    /// The protocols that remotes may have.
    allowed: AllowedProtocols,
    /// The entries, as messages name them.
    entries: BTreeSet<String>,
    /// Globs, and whether each opens: thousands of projects have the same, and to compile one takes a
    /// millisecond.
    globs: BTreeSet<(bool, String)>,
}

impl Checked {
    /// Adds an entry, unless it is listed already.
    fn add(&mut self, what: String) -> Result<(), ApplyError> {
        if self.entries.contains(&what) {
            return Err(ApplyError::Twice(what));
        }
        self.entries.insert(what);
        Ok(())
    }

    /// Checks the globs that are new.
    fn check_globs<'a>(
        &mut self,
        opens: bool,
        globs: impl Iterator<Item = &'a String>,
    ) -> Result<(), AdminError> {
        let globs = globs.map(|glob| (opens, glob.clone()));
        let new: BTreeSet<_> = globs.filter(|glob| !self.globs.contains(glob)).collect();
        check_globs(opens, new.iter().map(|(_, glob)| glob))?;
        self.globs.extend(new);
        Ok(())
    }
}

fn tenant(
    entry: TenantEntry,
    variable: &impl Fn(&str) -> Option<SecretString>,
    checked: &mut Checked,
) -> Result<DesiredTenant, ApplyError> {
    let slug = entry.slug;
    checked.add(format!("tenant {slug}"))?;
    let limits = entry.limits.map(|limits| tenant_limits(&slug, limits));
    let limits = limits.transpose()?;
    let projects = entry.projects.map(|projects| {
        let projects = projects.into_iter();
        projects
            .map(|entry| project(&slug, entry, checked))
            .collect()
    });
    let projects = projects.transpose()?;
    let connections = entry.connections.map(|connections| {
        let connections = connections.into_iter();
        let connections = connections.map(|entry| connection(&slug, entry, checked));
        connections.collect()
    });
    let connections = connections.transpose()?;
    let access = entry.access.map(|rules| {
        let rules = (1..).zip(rules);
        rules
            .map(|(number, entry)| access_rule(&slug, number, entry))
            .collect()
    });
    let access = access.transpose()?;
    let keys = entry.keys.map(|keys| {
        let keys = keys.into_iter();
        keys.map(|entry| key(&slug, entry, variable, checked))
            .collect()
    });
    let keys = keys.transpose()?;
    Ok(DesiredTenant {
        slug,
        name: DesiredName::Always(entry.name),
        disabled: entry.disabled,
        pool: entry.pool,
        limits,
        projects,
        connections,
        access,
        keys,
    })
}

fn tenant_limits(tenant: &str, limits: TenantLimits) -> Result<Vec<DesiredLimit>, ApplyError> {
    let levels = [
        (Level::Session, limits.session),
        (Level::Key, limits.key),
        (Level::Tenant, limits.tenant),
    ];
    limits_of(&format!("tenant {tenant}"), levels)
}

fn access_rule(tenant: &str, number: usize, entry: AccessEntry) -> Result<AccessTerms, ApplyError> {
    let place = format!("access rule {number} of {tenant}");
    let AccessEntry {
        who,
        projects,
        families,
        deny,
    } = entry;
    check_families(families.as_deref()).map_err(wrong(&place))?;
    let terms = AccessTerms::read(&who, &projects, families.as_deref(), deny);
    terms.map_err(wrong(&place))
}

fn project(
    tenant: &str,
    entry: ProjectEntry,
    checked: &mut Checked,
) -> Result<DesiredProject, ApplyError> {
    let place = format!("project {tenant}/{}", entry.slug);
    let left_out = entry.left_out();
    let opened = checked.check_globs(true, entry.open.iter().flatten());
    opened.map_err(wrong(&place))?;
    let others = entry.allow.iter().chain(&entry.close).flatten();
    let closed = checked.check_globs(false, others);
    closed.map_err(wrong(&place))?;
    let source = match entry.git {
        None => DesiredSource::Folder,
        Some(git) => {
            let source = git.check(&checked.allowed).map_err(wrong(&place))?;
            DesiredSource::Mirror(Box::new(source))
        }
    };
    checked.add(place)?;
    Ok(DesiredProject {
        slug: entry.slug,
        source,
        name: DesiredName::Always(entry.name),
        globs: Some(Globs {
            allow: entry.allow,
            open: entry.open.unwrap_or_default(),
            close: entry.close.unwrap_or_default(),
        }),
        left_out,
    })
}

fn connection(
    tenant: &str,
    entry: ConnectionSettings,
    checked: &mut Checked,
) -> Result<ConnectionSettings, ApplyError> {
    let place = format!("connection {tenant}/{}", entry.name);
    let usable = entry.check(&checked.allowed);
    usable.map_err(|error| wrong(&place)(Chain(&error)))?;
    checked.add(place)?;
    Ok(entry)
}

fn key(
    tenant: &str,
    entry: KeyEntry,
    variable: &impl Fn(&str) -> Option<SecretString>,
    checked: &mut Checked,
) -> Result<DesiredKey, ApplyError> {
    let (place, left_out) = (format!("key {tenant}/{}", entry.label), entry.left_out());
    if entry.label.is_empty() {
        return Err(wrong(&place)("a key in a file needs a label"));
    }
    if entry.scopes.as_ref().is_some_and(Vec::is_empty) {
        return Err(wrong(&place)("a key needs at least one scope"));
    }
    check_families(entry.families.as_deref()).map_err(wrong(&place))?;
    let expires = entry.expires.as_deref().map(KeyEnd::at).transpose();
    let expires = expires.map_err(wrong(&place))?;
    if entry.from_env.starts_with("awy_") {
        return Err(wrong(&place)(
            "from_env names an environment variable, but this is a key. A key that was written to a file \
             is no longer secret: revoke it, and make another by `archway key generate`",
        ));
    }
    let text = variable(&entry.from_env).ok_or_else(|| ApplyError::NoVariable {
        place: place.clone(),
        variable: entry.from_env.clone(),
    })?;
    let id = key_id(&text).ok_or_else(|| {
        let variable = &entry.from_env;
        wrong(&place)(format!(
            "{variable} holds no key; `archway key generate` makes one"
        ))
    })?;
    let limits = entry.limits.map(|KeyLimits { session, key }| {
        limits_of(&place, [(Level::Session, session), (Level::Key, key)])
    });
    let limits = limits.transpose()?;
    checked.add(place)?;
    checked.add(format!("the key with the id {id}"))?;
    let default = KeyRequest::default();
    let terms = KeyRequest {
        label: entry.label,
        scopes: entry.scopes.unwrap_or(default.scopes),
        projects: entry.projects,
        families: entry.families,
        default_project: entry.default_project,
        agents: entry.agents.unwrap_or(default.agents),
        expires_at: expires.map(|end| end.0),
    };
    Ok(DesiredKey {
        text,
        terms: terms.sorted(),
        left_out,
        limits,
    })
}

fn limits_of<const N: usize>(
    place: &str,
    levels: [(Level, PerMinute); N],
) -> Result<Vec<DesiredLimit>, ApplyError> {
    let mut limits = Vec::new();
    for (level, PerMinute(by_name)) in levels {
        check_names(by_name.keys().map(String::as_str)).map_err(wrong(place))?;
        limits.extend(by_name.into_iter().map(|(of, per_minute)| DesiredLimit {
            level,
            of,
            per_minute,
        }));
    }
    Ok(limits)
}

/// For `map_err`: names the invalid entry.
fn wrong<E: ToString>(place: &str) -> impl FnOnce(E) -> ApplyError {
    let place = place.to_owned();
    move |problem| ApplyError::Entry {
        place,
        problem: problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "tenants: [{slug: acme, keys: [{label: ci, from_env: CI}]}]";

    fn desired(text: &str, value: Option<SecretString>) -> Result<DesiredState, ApplyError> {
        let document = Document::parse(text.as_bytes()).unwrap();
        DesiredState::with_variables(document, AllowedProtocols::default(), |_| value.clone())
    }

    #[test]
    fn a_key_comes_from_its_variable_and_is_not_shown() {
        let refusal = desired(KEY, None).unwrap_err().to_string();
        assert!(
            refusal.contains("key acme/ci") && refusal.contains("CI"),
            "{refusal}"
        );
        let refusal = desired(KEY, Some("awy_hush".into()))
            .unwrap_err()
            .to_string();
        assert!(
            refusal.contains("holds no key") && !refusal.contains("hush"),
            "{refusal}"
        );

        let key = crate::tenants::generate_key().unwrap().api_key;
        let desired = desired(KEY, Some(key)).unwrap();
        assert!(desired.has_keys());
        assert!(!format!("{desired:?}").contains("awy_"));
    }

    #[test]
    fn duplicate_and_invalid_entries_are_named() {
        let key = crate::tenants::generate_key().unwrap().api_key;
        let refusal = |text: &str| desired(text, Some(key.clone())).unwrap_err().to_string();
        let twice = refusal("tenants: [{slug: acme}, {slug: acme}]");
        assert_eq!(twice, "tenant acme is listed twice");
        let twice = refusal("tenants: [{slug: a, projects: [{slug: b}, {slug: b}]}]");
        assert_eq!(twice, "project a/b is listed twice");
        let shared =
            "tenants: [{slug: a, keys: [{label: x, from_env: A}, {label: y, from_env: A}]}]";
        assert!(
            refusal(shared).contains("listed twice"),
            "{}",
            refusal(shared)
        );
        let glob = refusal("tenants: [{slug: a, projects: [{slug: b, close: ['[']}]}]");
        assert!(
            glob.contains("project a/b") && glob.contains("\"[\""),
            "{glob}"
        );
        let pasted = "tenants: [{slug: a, keys: [{label: x, from_env: awy_a_b_c}]}]";
        let pasted = refusal(pasted);
        assert!(
            pasted.contains("revoke it") && !pasted.contains("awy_"),
            "{pasted}"
        );
        let idle = "tenants: [{slug: a, keys: [{label: x, from_env: A, scopes: []}]}]";
        assert!(refusal(idle).contains("at least one scope"));
        let end = "tenants: [{slug: a, keys: [{label: x, from_env: A, expires: 90d}]}]";
        assert!(refusal(end).contains("expected a day"), "{}", refusal(end));
    }
}
