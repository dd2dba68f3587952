//! `archway access explain`: what a principal may use, project by project, and what says so.
//!
//! The code that decides is that of gateways ([`AccessRule::is_about`]) and workers ([`CompiledRule`]); this file only
//! asks it, and shows what hosts answered.

use std::collections::{BTreeMap, BTreeSet};

use archway_proto::access::{AccessRule, BASICS, Who, covers_family, is_given};
use archway_proto::catalog::Scope;
use archway_workers::access::CompiledRule;

use super::CallerArgs;
use super::answer::live_keys;
use super::explained::{Explained, ExplainedProject, HostAnswer};
use crate::admin::AdminError;
use crate::admin::connect::Installation;
use crate::admin::input::{families, scoped_families};
use crate::admin::source_text::refused;
use crate::tenants::{GuardedProject, Key};

/// What a principal may use, project by project.
pub(super) async fn explain(
    installation: &Installation,
    tenant: &str,
    who: &CallerArgs,
    only: Option<&str>,
) -> Result<Explained, AdminError> {
    let read = installation.read(async |tx, _| {
        let id = tx.find_tenant(tenant).await?;
        let projects = tx.projects(id).await?.into_iter();
        let projects = projects.filter(|it| it.removed_at.is_none());
        let mut slugs: Vec<String> = projects.map(|it| it.slug).collect();
        if let Some(only) = only {
            slugs.retain(|slug| slug == only);
            if slugs.is_empty() {
                return Err(tx.missing("project", only).into());
            }
        }
        Ok((
            tx.access_rules(id).await?,
            slugs,
            tx.project_topics(id).await?,
            tx.guarded_projects(id, &who.account).await?,
            tx.keys(id).await?,
        ))
    });
    let (rules, slugs, topics, guarded, keys) = read.await?;
    let guarded = guarded.into_iter().map(|it| (it.project.clone(), it));
    let guarded: BTreeMap<String, GuardedProject> = guarded.collect();
    let other_issuers = other_issuers(who, &rules);
    let caller = ExplainedCaller::new(who, rules, &keys)?;
    let live_keys = who.key.is_some().then_some(caller.keys.len());
    let projects = slugs.iter().map(|slug| {
        let topics = topics.get(slug).map_or(&[][..], Vec::as_slice);
        caller.in_project(slug, topics, guarded.get(slug))
    });
    Ok(Explained {
        tenant: tenant.to_owned(),
        principal: who.name(),
        key_exists: live_keys.map(|count| count > 0),
        live_keys,
        other_issuers,
        has_rules: caller.has_rules,
        is_hosted: !guarded.is_empty(),
        is_narrowed: caller.is_narrowed(),
        rules: caller.about.iter().map(|rule| rule.rule().id).collect(),
        projects: projects.collect(),
    })
}

/// The issuers whose subjects rules name, if that of the token is none of them.
fn other_issuers(who: &CallerArgs, rules: &[AccessRule]) -> Vec<String> {
    let named = rules.iter().flat_map(|rule| &rule.who);
    let named = named.filter_map(|who| match who {
        Who::Subject { issuer, .. } => Some(issuer),
        Who::Everyone | Who::Group(_) | Who::Key(_) => None,
    });
    let named: BTreeSet<&String> = named.collect();
    match &who.issuer {
        Some(issuer) if !named.contains(issuer) => named.into_iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// A caller, and the rules about it.
struct ExplainedCaller<'a> {
    who: &'a CallerArgs,
    /// The live keys with its label. What any of them may use, the label may.
    keys: Vec<&'a Key>,
    has_rules: bool,
    about: Vec<CompiledRule>,
    /// All families.
    families: Vec<String>,
    /// The family of each tool, and the scope that it needs.
    needs: Vec<(String, Scope)>,
}

impl<'a> ExplainedCaller<'a> {
    /// A caller of a tenant with these rules and keys.
    fn new(
        who: &'a CallerArgs,
        rules: Vec<AccessRule>,
        keys: &'a [Key],
    ) -> Result<ExplainedCaller<'a>, AdminError> {
        let has_rules = !rules.is_empty();
        let about = rules.into_iter().filter(|rule| rule.is_about(who.caller()));
        let about = about.map(CompiledRule::of).collect::<Result<Vec<_>, _>>();
        let label = who.key.as_deref();
        Ok(ExplainedCaller {
            who,
            keys: label.map_or_else(Vec::new, |label| live_keys(keys, label).collect()),
            has_rules,
            about: about.map_err(refused)?,
            families: families()?,
            needs: scoped_families()?,
        })
    }

    /// What it may use in a project, which a host may guard.
    fn in_project(
        &self,
        slug: &str,
        topics: &[String],
        guarded: Option<&GuardedProject>,
    ) -> ExplainedProject {
        let about = self.about.iter().filter(|rule| rule.is_about(slug, topics));
        let about: Vec<&AccessRule> = about.map(CompiledRule::rule).collect();
        let host = guarded.map(|it| HostAnswer::of(it, self.who.key.is_some()));
        let is_hidden = host.as_ref().is_some_and(|answer| !answer.gives());
        let key_families = self.key_families(slug);
        let others = self.families.iter().filter(|family| *family != BASICS);
        let given = others.filter(|family| {
            let by_rules = !self.has_rules || is_given(about.iter().copied(), family);
            let by_key = key_families.as_ref().is_none_or(|it| it.contains(family));
            by_rules && by_key && (!is_hidden || self.is_labelled(&about, family))
        });
        let mut given: Vec<String> = given.cloned().collect();
        let has_basics = key_families
            .as_ref()
            .is_none_or(|it| it.iter().any(|one| one == BASICS));
        if !given.is_empty() && has_basics {
            given.insert(0, BASICS.to_owned());
        }
        let by = |deny: bool| {
            let rules = about.iter().filter(|rule| rule.deny == deny);
            rules.map(|rule| rule.id).collect()
        };
        ExplainedProject {
            project: slug.to_owned(),
            is_whole: given.len() == self.families.len(),
            families: given,
            given_by: by(false),
            denied_by: by(true),
            key_families,
            host,
        }
    }

    /// Whether one of its keys is for some projects or families alone, or may not read.
    fn is_narrowed(&self) -> bool {
        let is_narrow = |key: &&Key| {
            let terms = &key.terms;
            let reads = terms.scopes.contains(&Scope::ToolsRead);
            terms.projects.is_some() || terms.families.is_some() || !reads
        };
        self.keys.iter().any(is_narrow)
    }

    /// Whether a key is for a family, and has the scope that any of its tools needs.
    fn is_for(&self, key: &Key, family: &str) -> bool {
        let is_callable =
            |(of, scope): &(String, Scope)| of == family && key.terms.scopes.contains(scope);
        covers_family(key.terms.families.as_deref(), family) && self.needs.iter().any(is_callable)
    }

    /// The families that its keys are for in a project; `None` for all.
    fn key_families(&self, slug: &str) -> Option<Vec<String>> {
        let is_for_it = |key: &&&Key| {
            let projects = key.terms.projects.as_ref();
            projects.is_none_or(|projects| projects.iter().any(|one| one == slug))
        };
        let keys: Vec<_> = self.keys.iter().filter(is_for_it).collect();
        let has = |family: &&String| keys.iter().any(|key| self.is_for(key, family));
        let families: Vec<String> = self.families.iter().filter(has).cloned().collect();
        (self.is_narrowed() && families.len() < self.families.len()).then_some(families)
    }

    /// Whether a rule that names the key by its label gives the family: it stands for the host.
    fn is_labelled(&self, about: &[&AccessRule], family: &str) -> bool {
        let named = about
            .iter()
            .filter(|rule| rule.names_key(self.who.caller()));
        is_given(named.copied(), family)
    }
}
