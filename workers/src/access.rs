//! Which projects a caller may use: the access rules that its pass names, applied to its tenant's projects, and what
//! git hosts say of its accounts.
//!
//! Rules are read again when a pass names a later edition of them. Sets of projects are cached, since a tenant may have
//! thousands of projects and each call asks. A set is for one list of projects, some rules, some tool families, and one
//! answer of the hosts. Both have to give a project; a rule that names a key by its label stands for its host.

mod set;
mod families;
mod hiding;
mod readable;
mod readers;

use std::sync::Arc;

use archway_proto::{
    access::{AccessRule, ProjectPattern, is_given, is_given_anywhere},
    chain::Chain,
    failure::Failure,
    fault::Fault,
    pass::Pass,
};
use archway_store::Stores;
use globset::{Glob, GlobSet, GlobSetBuilder};
use uuid::Uuid;

use crate::projects::{ProjectList, Projects};
use families::{is_any, needed};
use readers::Readers;
use set::ProjectSet;

pub use families::Families;
pub use readable::Readable;

/// Tenants whose rules are cached.
const MAX_TENANTS: u64 = 10_000;
/// Bytes of cached sets, at most: 5,000 projects take 632.
const MAX_SET_BYTES: u64 = 16 << 20;
/// What a cached set takes besides its bits and its rules' ids: the rest of its key, and the cache's own data.
const SET_OVERHEAD: usize = 300;

/// The projects of tenants, as far as their callers may use them.
#[derive(Clone)]
pub struct ProjectAccess {
    stores: Stores,
    projects: Projects,
    rules: moka::sync::Cache<Uuid, Arc<TenantRules>>,
    readers: Readers,
    sets: moka::sync::Cache<SetKey, Arc<ProjectSet>>,
}

/// The rules of a tenant, by id.
struct TenantRules {
    edition: i64,
    rules: Vec<CompiledRule>,
}

/// A rule with its patterns.
#[derive(Debug)]
pub struct CompiledRule {
    rule: AccessRule,
    slugs: GlobSet,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct SetKey {
    tenant: Uuid,
    /// A hash of the list of projects.
    list: u64,
    /// That of the rules, and their ids; `None` for a tenant without rules.
    rules: Option<(i64, Box<[i64]>)>,
    by_label: Box<[i64]>,
    families: Families,
    /// Those of the caller's credential, if rules have to give any of them.
    own: Option<Box<[String]>>,
    /// The number of the hosts' answer.
    reads: Option<u64>,
}

impl ProjectAccess {
    /// Those that these stores have.
    pub fn new(stores: Stores) -> ProjectAccess {
        ProjectAccess {
            readers: Readers::new(stores.clone()),
            projects: Projects::new(stores.clone()),
            stores,
            rules: moka::sync::Cache::new(MAX_TENANTS),
            sets: moka::sync::Cache::builder()
                .max_capacity(MAX_SET_BYTES)
                .weigher(|key: &SetKey, set: &Arc<ProjectSet>| {
                    let rules = key.rules.as_ref().map_or(0, |(_, ids)| ids.len());
                    let own = key.own.as_deref().unwrap_or_default().iter();
                    let own = own.map(|name| 3 + name.len() / 8).sum::<usize>();
                    let words = set.words() + rules + key.by_label.len() + own;
                    u32::try_from(words * 8 + SET_OVERHEAD).unwrap_or(u32::MAX)
                })
                .build(),
        }
    }

    /// The projects that a caller may read, and use by any of these tool families. None: by any at all.
    ///
    /// # Errors
    /// `unavailable` if the projects, the rules, or the hosts' answers cannot be read.
    pub async fn readable(
        &self,
        pass: &Arc<Pass>,
        families: Families,
    ) -> Result<Readable, Failure> {
        let all = self.projects.of(pass.tenant_id, pass.edition()).await?;
        let given = self.given(pass, &all, families).await?;
        Ok(Readable::new(all, given, Arc::clone(pass)))
    }

    /// Whether rules give a caller tools of this family in any project, as its gateway decides.
    ///
    /// # Errors
    /// `unavailable` if the rules cannot be read.
    pub(crate) async fn gives(&self, pass: &Pass, family: &str) -> Result<bool, Failure> {
        let Some(ids) = pass.rules() else {
            return Ok(true);
        };
        let rules = self.rules(pass.tenant_id, pass.edition()).await?;
        let rules = rules.rules.iter().map(CompiledRule::rule);
        let about = rules.filter(|rule| ids.contains(&rule.id));
        Ok(is_given_anywhere(about, family))
    }

    /// The projects of all tenants, to add some for tests.
    #[cfg(test)]
    pub(crate) fn projects(&self) -> &Projects {
        &self.projects
    }

    /// The projects of a list that rules and hosts give to the caller by any of these families; `None` if its tenant
    /// has no rules, and no host says who may read any of them.
    ///
    /// # Errors
    /// `unavailable` if the rules, or the hosts' answers, cannot be read.
    async fn given(
        &self,
        pass: &Pass,
        list: &ProjectList,
        families: Families,
    ) -> Result<Option<Arc<ProjectSet>>, Failure> {
        let (rules, reads) = (pass.rules(), list.has_guarded());
        if rules.is_none() && !reads {
            return Ok(None);
        }
        let rules = match rules {
            Some(ids) => Some((self.rules(pass.tenant_id, pass.edition()).await?, ids)),
            None => None,
        };
        let reads = match reads {
            true => Some(self.readers.of(pass, list).await?),
            false => None,
        };
        let by_label = pass.hosted.as_ref().map(|hosted| &*hosted.by_label);
        let by_label = by_label.unwrap_or_default();
        let own = pass.families.as_deref();
        let own = own.filter(|_| rules.is_some() && is_any(families));
        let key = SetKey {
            tenant: pass.tenant_id,
            list: list.hash(),
            rules: rules.as_ref().map(|(it, ids)| (it.edition, (*ids).into())),
            by_label: by_label.into(),
            families,
            own: own.map(Box::from),
            reads: reads.as_ref().map(|reads| reads.number),
        };
        if let Some(known) = self.sets.get(&key) {
            return Ok(Some(known));
        }
        let mut set = match &rules {
            Some((rules, ids)) => rules.applied(ids, list, (families, own)),
            None => ProjectSet::full(list.len()),
        };
        if let Some(reads) = reads {
            let labelled = rules.map(|(rules, _)| rules.applied(by_label, list, (families, own)));
            set.guard(list, &reads.set, labelled.as_ref());
        }
        let set = Arc::new(set);
        self.sets.insert(key, Arc::clone(&set));
        Ok(Some(set))
    }

    /// The rules of a tenant, of this edition or a later one.
    async fn rules(&self, tenant: Uuid, edition: i64) -> Result<Arc<TenantRules>, Failure> {
        let known = self.rules.get(&tenant);
        if let Some(known) = known.filter(|known| known.edition >= edition) {
            return Ok(known);
        }
        let (edition, rules) = usable(self.stores.tenant(tenant).access_rules().await)?;
        // A rule that is left out could be one that denies.
        let rules = usable(rules.into_iter().map(CompiledRule::of).collect())?;
        let rules = Arc::new(TenantRules { edition, rules });
        self.rules.insert(tenant, Arc::clone(&rules));
        Ok(rules)
    }
}

impl TenantRules {
    /// The projects that the rules with these ids give by any of these families: for any, by one of the credential's
    /// `own`.
    fn applied(
        &self,
        ids: &[i64],
        list: &ProjectList,
        (families, own): (Families, Option<&[String]>),
    ) -> ProjectSet {
        let is_named = |rule: &&CompiledRule| ids.contains(&rule.rule.id);
        let rules: Vec<&CompiledRule> = self.rules.iter().filter(is_named).collect();
        let families = needed(families, own, rules.iter().map(|it| &it.rule));
        let mut set = ProjectSet::empty(list.len());
        for (at, project) in list.iter().enumerate() {
            let is_about = |it: &&&CompiledRule| it.is_about(&project.slug, &project.hosted.topics);
            let about: Vec<&AccessRule> =
                rules.iter().filter(is_about).map(|it| &it.rule).collect();
            if families
                .iter()
                .any(|family| is_given(about.iter().copied(), family))
            {
                set.add(at);
            }
        }
        set
    }
}

impl CompiledRule {
    /// Compiles the patterns of a rule.
    ///
    /// # Errors
    /// If one of them is no glob.
    pub fn of(rule: AccessRule) -> Result<CompiledRule, globset::Error> {
        let mut slugs = GlobSetBuilder::new();
        for pattern in &rule.projects {
            if let ProjectPattern::Slug(glob) = pattern {
                slugs.add(Glob::new(glob)?);
            }
        }
        let slugs = slugs.build()?;
        Ok(CompiledRule { rule, slugs })
    }

    /// The rule.
    pub fn rule(&self) -> &AccessRule {
        &self.rule
    }

    /// Whether the rule is about a project with this slug and these topics.
    pub fn is_about(&self, slug: &str, topics: &[String]) -> bool {
        let is_of = |pattern: &ProjectPattern| match pattern {
            ProjectPattern::Topic(topic) => {
                topics.iter().any(|own| own.eq_ignore_ascii_case(topic))
            }
            ProjectPattern::Slug(_) => false,
        };
        self.slugs.is_match(slug) || self.rule.projects.iter().any(is_of)
    }
}

fn usable<T>(read: Result<T, impl std::error::Error + 'static>) -> Result<T, Failure> {
    read.map_err(|error| {
        tracing::warn!(error = %Chain(&error), "access rules cannot be used");
        unavailable()
    })
}

fn unavailable() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the access rules cannot be read at the moment",
        "try again in a few seconds",
    )
    .detail("retry_after_seconds", 5)
}

#[cfg(test)]
mod tests {
    use archway_proto::access::BASICS;

    use super::*;
    use crate::projects::Project;

    fn rule(id: i64, projects: &[&str], families: &[&str], deny: bool) -> CompiledRule {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let projects = texts(projects).into_iter();
        let rule = AccessRule {
            id,
            who: Vec::new(),
            projects: projects.map(|it| it.try_into().unwrap()).collect(),
            families: (!families.is_empty()).then(|| texts(families)),
            deny,
        };
        CompiledRule::of(rule).unwrap()
    }

    fn list() -> ProjectList {
        let named = ["api", "web-1", "web-2", "wiki"].map(Project::with_slug);
        let mut projects = Vec::from(named);
        projects[0].hosted.topics = vec!["Payments".to_owned()];
        ProjectList::of(projects.into_iter().map(Arc::new).collect())
    }

    /// The slugs that the rules with these ids give.
    fn given(rules: Vec<CompiledRule>, ids: &[i64], families: Families) -> Vec<String> {
        given_to(None, rules, ids, families)
    }

    /// The same for a credential that is for its own families.
    fn given_to(
        own: Option<&[String]>,
        rules: Vec<CompiledRule>,
        ids: &[i64],
        families: Families,
    ) -> Vec<String> {
        let rules = TenantRules { edition: 1, rules };
        let list = list();
        let set = rules.applied(ids, &list, (families, own));
        let given = list.iter().enumerate().filter(|(at, _)| set.has(*at));
        given.map(|(_, project)| project.slug.clone()).collect()
    }

    #[test]
    fn rules_add_up_and_one_that_denies_wins() {
        let rules = || {
            vec![
                rule(1, &["web-*"], &[], false),
                rule(2, &["wiki", "topic:payments"], &[], false),
                rule(3, &["web-2"], &[], true),
            ]
        };
        assert_eq!(given(rules(), &[1], &[]), ["web-1", "web-2"]);
        assert_eq!(
            given(rules(), &[1, 2], &[]),
            ["api", "web-1", "web-2", "wiki"]
        );
        assert_eq!(given(rules(), &[1, 2, 3], &[]), ["api", "web-1", "wiki"]);
        assert_eq!(given(rules(), &[3], &[]), Vec::<String>::new());
        assert_eq!(given(rules(), &[], &[]), Vec::<String>::new());
        assert_eq!(
            given(rules(), &[9], &[]),
            Vec::<String>::new(),
            "a rule that is gone"
        );
    }

    #[test]
    fn a_project_is_given_for_the_families_of_its_rules_alone() {
        let rules = || {
            vec![
                rule(1, &["web-*"], &["memory"], false),
                rule(2, &["api"], &["files", "git"], false),
                rule(3, &["*"], &["git"], true),
            ]
        };
        assert_eq!(given(rules(), &[1, 2], &["files"]), ["api"]);
        assert_eq!(given(rules(), &[1, 2], &["memory"]), ["web-1", "web-2"]);
        assert_eq!(given(rules(), &[1, 2, 3], &["git"]), Vec::<String>::new());
        assert_eq!(given(rules(), &[1, 2, 3], &["git", "files"]), ["api"]);
        for any in [&[][..], &[BASICS]] {
            assert_eq!(given(rules(), &[1, 2, 3], any), ["api", "web-1", "web-2"]);
            for (own, projects) in [
                ("files", &["api"][..]),
                ("memory", &["web-1", "web-2"]),
                ("git", &[]),
                // Such a credential may ask what there is.
                (BASICS, &["api", "web-1", "web-2"]),
            ] {
                let own = [own.to_owned()];
                let given = given_to(Some(&own), rules(), &[1, 2, 3], any);
                assert_eq!(given, projects, "{own:?}");
            }
        }
    }

    #[test]
    fn a_guarded_project_is_given_by_its_host_or_by_a_rule_for_the_key() {
        let mut projects = Vec::from(["api", "web", "wiki"].map(Project::with_slug));
        for guarded in [0, 1] {
            projects[guarded].is_guarded = true;
        }
        let list = ProjectList::of(projects.into_iter().map(Arc::new).collect());
        let of = |positions: &[usize]| {
            let mut set = ProjectSet::empty(list.len());
            positions.iter().for_each(|at| set.add(*at));
            set
        };
        for (by_rules, by_host, labelled, expected) in [
            (&[0, 1, 2][..], &[][..], None, &[2][..]),
            (&[0, 1, 2], &[1], None, &[1, 2]),
            (&[0, 2], &[1], None, &[2]),
            (&[0, 1, 2], &[], Some(&[0][..]), &[0, 2]),
            // A rule for the key gives nothing that another one denies.
            (&[2], &[], Some(&[0]), &[2]),
            (&[], &[0, 1, 2], Some(&[0, 1, 2]), &[]),
        ] {
            let mut set = of(by_rules);
            set.guard(&list, &of(by_host), labelled.map(of).as_ref());
            assert_eq!(set, of(expected), "{by_rules:?} {by_host:?} {labelled:?}");
        }
    }
}
