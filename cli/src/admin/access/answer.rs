//! What `archway access` answers.

use archway_proto::access::{AccessRule, ProjectPattern, Who};
use serde::Serialize;

use crate::admin::print::{Answer, harmless, table};
use crate::tenants::{GuardedProject, Key, KeyState};

/// A rule that was added or removed.
#[derive(Serialize)]
pub(super) struct AccessChange {
    tenant: String,
    rule: i64,
    action: &'static str,
    /// How many rules the tenant has now.
    rules: usize,
    /// Labels that it names and that no live key has.
    unknown_labels: Vec<String>,
}

impl AccessChange {
    pub(super) fn added(tenant: &str, rule: i64, rules: usize) -> AccessChange {
        AccessChange {
            tenant: tenant.to_owned(),
            rule,
            action: "added",
            rules,
            unknown_labels: Vec::new(),
        }
    }

    /// With the labels that it names, of which some key should have each.
    pub(super) fn naming(mut self, who: &[Who], keys: &[Key]) -> AccessChange {
        let labels = who.iter().filter_map(|who| match who {
            Who::Key(label) => Some(label),
            Who::Everyone | Who::Group(_) | Who::Subject { .. } => None,
        });
        let unknown = labels.filter(|label| !is_held(keys, label));
        self.unknown_labels = unknown.cloned().collect();
        self
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
            unknown_labels,
        } = self;
        let state = match rules {
            0 => "without rules, everyone may use all of its projects".to_owned(),
            1 => "what its one rule does not give is hidden".to_owned(),
            rules => format!("it has {rules} rules"),
        };
        let unknown = unknown_labels.iter().map(|label| no_key(tenant, label));
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

/// What a principal may use.
#[derive(Serialize)]
pub(super) struct Explained {
    pub(super) tenant: String,
    pub(super) principal: String,
    /// Whether a live key has the label. `None` for a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_exists: Option<bool>,
    /// False: everyone may use all projects.
    pub(super) has_rules: bool,
    /// Whether a host says who may read some of its projects.
    #[serde(skip)]
    pub(super) is_hosted: bool,
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
    /// What its host says, if the host decides who may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<HostAnswer>,
}

/// What the host of a private project says about a principal.
#[derive(Serialize)]
pub(super) struct HostAnswer {
    connection: String,
    answer: HostSays,
    /// Since the host was asked.
    age_seconds: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum HostSays {
    Reads,
    DoesNotRead,
    /// The answer is older than the grace of the connection.
    TooOld,
    Nothing,
    /// An API key is nobody's account.
    NoAccount,
}

impl HostAnswer {
    pub(super) fn of(project: &GuardedProject, is_key: bool) -> HostAnswer {
        let answer = match project.age {
            _ if is_key => HostSays::NoAccount,
            None => HostSays::Nothing,
            Some(age) if age >= project.grace => HostSays::TooOld,
            Some(_) if project.is_reader => HostSays::Reads,
            Some(_) => HostSays::DoesNotRead,
        };
        HostAnswer {
            connection: project.connection.clone(),
            answer,
            age_seconds: project.age,
        }
    }

    /// Whether it gives the project.
    pub(super) fn gives(&self) -> bool {
        self.answer == HostSays::Reads
    }

    fn text(&self) -> String {
        let (connection, age) = (&self.connection, self.age_seconds);
        let age = age.map(age_text).unwrap_or_default();
        match self.answer {
            HostSays::Reads => format!("{connection}: reads it, as of {age} ago"),
            HostSays::DoesNotRead => format!("{connection}: does not read it, as of {age} ago"),
            HostSays::TooOld => format!("{connection}: its answer of {age} ago counts no more"),
            HostSays::Nothing => format!("{connection}: has not answered yet"),
            HostSays::NoAccount => format!("{connection}: a key has no account"),
        }
    }
}

/// `40 s`, `12 min` or `3 h`.
pub(in crate::admin) fn age_text(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{} s", seconds.max(0)),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

impl Answer for Explained {
    fn text(&self) -> String {
        let (tenant, principal) = (&self.tenant, harmless(&self.principal));
        let unknown = match self.key_exists {
            Some(false) => format!("\n{principal}: no live key of {tenant} has this label"),
            _ => String::new(),
        };
        if !self.has_rules && !self.is_hosted {
            return format!("{tenant} has no access rules: everyone may use all projects{unknown}");
        }
        let row = |it: &ExplainedProject| {
            let families = match (it.is_whole, it.families.is_empty()) {
                (true, _) => "all".to_owned(),
                (false, true) => "none".to_owned(),
                (false, false) => it.families.join(", "),
            };
            let project = it.project.clone();
            let host = it.host.as_ref().map(HostAnswer::text);
            [
                project,
                families,
                listed(&it.given_by),
                listed(&it.denied_by),
                host.unwrap_or_default(),
            ]
        };
        let rows: Vec<[String; 5]> = self.projects.iter().map(row).collect();
        let none = "there are no projects";
        let header = [
            "project",
            "families",
            "given by",
            "denied by",
            "at its host",
        ];
        let projects = match self.is_hosted {
            true => table(header, rows, none),
            false => {
                let rows = rows.into_iter().map(|[a, b, c, d, _]| [a, b, c, d]);
                let [a, b, c, d, _] = header;
                table([a, b, c, d], rows.collect(), none)
            }
        };
        let rules = match self.rules.is_empty() {
            _ if !self.has_rules => "the tenant has no rules".to_owned(),
            true => "no rule is about it".to_owned(),
            false => format!("rules {}", listed(&self.rules)),
        };
        format!(
            "{principal} of {tenant}: {rules}. What its key or issuer is restricted to holds besides.{unknown}\n{projects}"
        )
    }
}

/// Whether a live key has this label.
pub(super) fn is_held(keys: &[Key], label: &str) -> bool {
    let mut live = keys.iter().filter(|key| key.state == KeyState::Live);
    live.any(|key| key.terms.label == label)
}

fn no_key(tenant: &str, label: &str) -> String {
    let label = harmless(label);
    format!("no live key of {tenant} has the label {label}: see `archway key list {tenant}`")
}

fn listed(rules: &[i64]) -> String {
    let rules: Vec<String> = rules.iter().map(i64::to_string).collect();
    rules.join(", ")
}
