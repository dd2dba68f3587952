//! What `archway access explain` answers.

use serde::Serialize;

use crate::admin::print::{Answer, harmless, table};
use crate::tenants::GuardedProject;

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
    /// The issuers whose subjects rules name, if the token's is none of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) other_issuers: Vec<String>,
    /// False: everyone may use all projects.
    pub(super) has_rules: bool,
    /// Whether a host says who may read some of its projects.
    #[serde(skip)]
    pub(super) is_hosted: bool,
    /// Whether a live key with the label is for some projects or families alone, or may not read.
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
            None => self.issuer(),
            Some(0) => format!("\n{principal}: no live key of {tenant} has this label"),
            Some(1) => String::new(),
            Some(keys) => {
                format!(" {keys} live keys have this label: shown is what any of them may use.")
            }
        }
    }

    /// What is to be known about the token's issuer, which the database does not know.
    fn issuer(&self) -> String {
        let known = " Its issuer has to be in the gateways' `--issuers` file, and what that restricts it to holds besides.";
        let others: Vec<String> = self.other_issuers.iter().map(|it| harmless(it)).collect();
        match others.is_empty() {
            true => known.to_owned(),
            false => format!(
                "{known}\nno rule names a subject of this issuer: those in rules are of {}",
                others.join(", ")
            ),
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
            true => format!(
                "no rule is about it, and what no rule gives is hidden: see `archway access list {tenant}`"
            ),
            false => format!("rules {}", listed(&self.rules)),
        };
        let (principal, projects) = (harmless(&self.principal), self.projects());
        format!("{principal} of {tenant}: {rules}.{credential}\n{projects}")
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

fn listed(rules: &[i64]) -> String {
    let rules: Vec<String> = rules.iter().map(i64::to_string).collect();
    rules.join(", ")
}
