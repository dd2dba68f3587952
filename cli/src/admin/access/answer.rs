//! What `archway access` answers.

use archway_proto::access::{AccessRule, ProjectPattern, Who};
use archway_proto::nearest;
use serde::Serialize;

use crate::admin::print::{Answer, harmless, table};
use crate::tenants::{AccessTerms, Key, KeyState};

/// Near slugs that are named for one that no project has.
const MOST_NEAR: usize = 3;

/// A rule that was added or removed.
#[derive(Serialize)]
pub(super) struct AccessChange {
    tenant: String,
    rule: i64,
    action: &'static str,
    /// How many rules the tenant has now.
    rules: usize,
    /// How many of them give projects.
    allow_rules: usize,
    /// Labels that it names and that no live key has.
    unknown_labels: Vec<String>,
    /// Slugs that it names and that no project has.
    unknown_projects: Vec<UnknownProject>,
}

#[derive(Serialize)]
struct UnknownProject {
    project: String,
    /// Slugs of projects that may be meant, the nearest first.
    near: Vec<String>,
}

impl AccessChange {
    pub(super) fn added(tenant: &str, rule: i64, rules: &[AccessRule]) -> AccessChange {
        AccessChange {
            tenant: tenant.to_owned(),
            rule,
            action: "added",
            rules: rules.len(),
            allow_rules: rules.iter().filter(|rule| !rule.deny).count(),
            unknown_labels: Vec::new(),
            unknown_projects: Vec::new(),
        }
    }

    /// With what it names and nothing has, of these labels of live keys and slugs of projects.
    pub(super) fn naming(
        mut self,
        terms: &AccessTerms,
        labels: &[String],
        slugs: &[String],
    ) -> AccessChange {
        let unknown = terms.unknown_labels(labels).into_iter();
        self.unknown_labels = unknown.cloned().collect();
        let unknown = terms.unknown_slugs(slugs).into_iter();
        let unknown = unknown.map(|named| UnknownProject::of(named, slugs));
        self.unknown_projects = unknown.collect();
        self
    }

    pub(super) fn removed(tenant: &str, rule: i64, rules: &[AccessRule]) -> AccessChange {
        AccessChange {
            action: "removed",
            ..AccessChange::added(tenant, rule, rules)
        }
    }
}

impl UnknownProject {
    fn of(project: &str, slugs: &[String]) -> UnknownProject {
        let near = nearest::among(project, slugs.iter().map(String::as_str), MOST_NEAR);
        UnknownProject {
            project: project.to_owned(),
            near: near.into_iter().map(str::to_owned).collect(),
        }
    }

    fn line(&self, tenant: &str) -> String {
        let UnknownProject { project, near } = self;
        let near = match near.is_empty() {
            true => String::new(),
            false => format!(" did you mean {}?", near.join(" or ")),
        };
        format!(
            "no project of {tenant} has the slug {project}:{near} `archway project list {tenant}` lists what exists"
        )
    }
}

impl Answer for AccessChange {
    fn text(&self) -> String {
        let AccessChange {
            tenant,
            rule,
            action,
            rules,
            allow_rules,
            unknown_labels,
            unknown_projects,
        } = self;
        let state = match (rules, allow_rules) {
            (0, _) => "without rules, everyone may use all of its projects".to_owned(),
            (_, 0) => format!(
                "no rule gives a project, so all are hidden from everyone. To give the others, run \
                 `archway access allow {tenant} --who everyone --project '*'`"
            ),
            (1, _) => "what its one rule does not give is hidden".to_owned(),
            (rules, _) => format!("it has {rules} rules"),
        };
        let labels = unknown_labels.iter().map(|label| no_key(tenant, label));
        let projects = unknown_projects.iter().map(|it| it.line(tenant));
        let unknown = labels.chain(projects);
        let unknown: String = unknown.map(|line| format!("\n{line}")).collect();
        format!("access rule {rule} of {tenant} {action}; {state}{unknown}")
    }
}

/// The rules of a tenant.
#[derive(Serialize)]
pub(super) struct RuleList {
    tenant: String,
    rules: Vec<ListedRule>,
}

#[derive(Serialize)]
struct ListedRule {
    rule: i64,
    who: Vec<String>,
    projects: Vec<String>,
    families: Option<Vec<String>>,
    deny: bool,
}

impl RuleList {
    pub(super) fn of(tenant: &str, rules: &[AccessRule]) -> RuleList {
        let listed = |rule: &AccessRule| {
            let projects = rule.projects.iter();
            ListedRule {
                rule: rule.id,
                who: rule.who.iter().map(Who::to_string).collect(),
                projects: projects.map(ProjectPattern::to_string).collect(),
                families: rule.families.clone(),
                deny: rule.deny,
            }
        };
        RuleList {
            tenant: tenant.to_owned(),
            rules: rules.iter().map(listed).collect(),
        }
    }
}

impl Answer for RuleList {
    fn text(&self) -> String {
        let row = |it: &ListedRule| {
            let families = it.families.as_ref();
            [
                it.rule.to_string(),
                if it.deny { "deny" } else { "allow" }.to_owned(),
                it.who.join(", "),
                it.projects.join(", "),
                families.map_or_else(|| "all".to_owned(), |it| it.join(", ")),
            ]
        };
        table(
            ["rule", "effect", "who", "projects", "families"],
            self.rules.iter().map(row).collect(),
            "there are no access rules: everyone may use all projects",
        )
    }
}

/// The live keys with this label.
pub(super) fn live_keys<'k>(keys: &'k [Key], label: &str) -> impl Iterator<Item = &'k Key> {
    let live = keys.iter().filter(|key| key.state == KeyState::Live);
    live.filter(move |key| key.terms.label == label)
}

fn no_key(tenant: &str, label: &str) -> String {
    let label = harmless(label);
    format!("no live key of {tenant} has the label {label}: see `archway key list {tenant}`")
}
