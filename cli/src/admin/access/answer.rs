//! What `archway access` answers.

use archway_proto::access::{AccessRule, ProjectPattern, Who};
use serde::Serialize;

use crate::admin::print::{Answer, harmless, table};

/// A rule that was added or removed.
#[derive(Serialize)]
pub(super) struct AccessChange {
    tenant: String,
    rule: i64,
    action: &'static str,
    /// How many rules the tenant has now.
    rules: usize,
}

impl AccessChange {
    pub(super) fn added(tenant: &str, rule: i64, rules: usize) -> AccessChange {
        AccessChange {
            tenant: tenant.to_owned(),
            rule,
            action: "added",
            rules,
        }
    }

    pub(super) fn removed(tenant: &str, rule: i64, rules: usize) -> AccessChange {
        AccessChange {
            action: "removed",
            ..AccessChange::added(tenant, rule, rules)
        }
    }
}

impl Answer for AccessChange {
    fn text(&self) -> String {
        let AccessChange {
            tenant,
            rule,
            action,
            rules,
        } = self;
        let state = match rules {
            0 => "without rules, everyone may use all of its projects".to_owned(),
            1 => "what its one rule does not give is hidden".to_owned(),
            rules => format!("it has {rules} rules"),
        };
        format!("access rule {rule} of {tenant} {action}; {state}")
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

/// What a principal may use.
#[derive(Serialize)]
pub(super) struct Explained {
    pub(super) tenant: String,
    pub(super) principal: String,
    /// False: everyone may use all projects.
    pub(super) has_rules: bool,
    /// The rules about the principal.
    pub(super) rules: Vec<i64>,
    pub(super) projects: Vec<ExplainedProject>,
}

/// What a principal may use in one project.
#[derive(Serialize)]
pub(super) struct ExplainedProject {
    pub(super) project: String,
    /// The tool families that it may use there.
    pub(super) families: Vec<String>,
    /// Whether these are all.
    #[serde(skip)]
    pub(super) is_whole: bool,
    pub(super) given_by: Vec<i64>,
    pub(super) denied_by: Vec<i64>,
}

impl Answer for Explained {
    fn text(&self) -> String {
        let (tenant, principal) = (&self.tenant, harmless(&self.principal));
        if !self.has_rules {
            return format!("{tenant} has no access rules: everyone may use all projects");
        }
        let row = |it: &ExplainedProject| {
            let families = match (it.is_whole, it.families.is_empty()) {
                (true, _) => "all".to_owned(),
                (false, true) => "none".to_owned(),
                (false, false) => it.families.join(", "),
            };
            let project = it.project.clone();
            [
                project,
                families,
                listed(&it.given_by),
                listed(&it.denied_by),
            ]
        };
        let projects = table(
            ["project", "families", "given by", "denied by"],
            self.projects.iter().map(row).collect(),
            "there are no projects",
        );
        let rules = match self.rules.is_empty() {
            true => "no rule is about it".to_owned(),
            false => format!("rules {}", listed(&self.rules)),
        };
        format!(
            "{principal} of {tenant}: {rules}. What its key or issuer is restricted to holds besides.\n{projects}"
        )
    }
}

fn listed(rules: &[i64]) -> String {
    let rules: Vec<String> = rules.iter().map(i64::to_string).collect();
    rules.join(", ")
}
