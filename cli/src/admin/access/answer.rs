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
    /// How many of them give projects.
    allow_rules: usize,
    /// Labels that it names and that no live key has.
    unknown_labels: Vec<String>,
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
        }
    }

    /// With the labels that it names, of which some key should have each.
    pub(super) fn naming(mut self, who: &[Who], keys: &[Key]) -> AccessChange {
        let labels = who.iter().filter_map(|who| match who {
            Who::Key(label) => Some(label),
            Who::Everyone | Who::Group(_) | Who::Subject { .. } => None,
        });
        let unknown = labels.filter(|label| live_keys(keys, label).next().is_none());
        self.unknown_labels = unknown.cloned().collect();
        self
    }

    pub(super) fn removed(tenant: &str, rule: i64, rules: &[AccessRule]) -> AccessChange {
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
            allow_rules,
            unknown_labels,
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
    /// How many live keys have the label. `None` for a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) live_keys: Option<usize>,
    /// False: everyone may use all projects.
    pub(super) has_rules: bool,
    /// Whether a host says who may read some of its projects.
    #[serde(skip)]
    pub(super) is_hosted: bool,
    /// Whether each live key with the label is for some projects or families alone.
    #[serde(skip)]
    pub(super) is_narrowed: bool,
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
    /// The families that the live keys with the label are for there, together; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_families: Option<Vec<String>>,
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

impl ExplainedProject {
    /// What its host and the caller's keys say, besides the rules.
    fn besides(&self) -> String {
        let key = self.key_families.as_deref().map(|families| match families {
            [] => "its key: not for this project".to_owned(),
            some => format!("its key: {}", some.join(", ")),
        });
        let host = self.host.as_ref().map(HostAnswer::text);
        let both: Vec<String> = host.into_iter().chain(key).collect();
        both.join("; ")
    }

    fn row(&self) -> [String; 5] {
        let families = match (self.is_whole, self.families.is_empty()) {
            (true, _) => "all".to_owned(),
            (false, true) => "none".to_owned(),
            (false, false) => self.families.join(", "),
        };
        let (given, denied) = (listed(&self.given_by), listed(&self.denied_by));
        [
            self.project.clone(),
            families,
            given,
            denied,
            self.besides(),
        ]
    }
}

impl Explained {
    /// What is to be known about the keys with the label, or about the token's issuer.
    fn credential(&self) -> String {
        let (tenant, principal) = (&self.tenant, harmless(&self.principal));
        match self.live_keys {
            None => " What its issuer is restricted to holds besides.".to_owned(),
            Some(0) => format!("\n{principal}: no live key of {tenant} has this label"),
            Some(1) => String::new(),
            Some(keys) => {
                format!(" {keys} live keys have this label: shown is what any of them may use.")
            }
        }
    }

    /// The projects, with a column for hosts and keys if they decide, too.
    fn projects(&self) -> String {
        let rows = self.projects.iter().map(ExplainedProject::row);
        let none = "there are no projects";
        let header = ["project", "families", "given by", "denied by"];
        match self.is_hosted || self.is_narrowed {
            true => {
                let [a, b, c, d] = header;
                table([a, b, c, d, "host and key"], rows.collect(), none)
            }
            false => {
                let rows = rows.map(|[a, b, c, d, _]| [a, b, c, d]);
                table(header, rows.collect(), none)
            }
        }
    }
}

impl Answer for Explained {
    fn text(&self) -> String {
        let (tenant, credential) = (&self.tenant, self.credential());
        if !self.has_rules && !self.is_hosted && !self.is_narrowed {
            return format!(
                "{tenant} has no access rules: everyone may use all projects.{credential}"
            );
        }
        let rules = match self.rules.is_empty() {
            _ if !self.has_rules => "the tenant has no rules".to_owned(),
            true => "no rule is about it".to_owned(),
            false => format!("rules {}", listed(&self.rules)),
        };
        let (principal, projects) = (harmless(&self.principal), self.projects());
        format!("{principal} of {tenant}: {rules}.{credential}\n{projects}")
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

fn listed(rules: &[i64]) -> String {
    let rules: Vec<String> = rules.iter().map(i64::to_string).collect();
    rules.join(", ")
}
