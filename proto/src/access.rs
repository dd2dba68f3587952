//! Access rules: who may use which projects and tool families of a tenant.
//!
//! A tenant without rules gives everything to everyone. Once it has one, a principal has what rules give it, and
//! nothing else; a rule that denies wins over all that give. The gateway knows who calls and finds the rules about
//! them. A worker knows the projects and applies these rules, which a pass names by their ids.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Rules of a tenant, at most: a pass names those of its caller, and has to fit into a header.
pub const MAX_RULES: usize = 500;
/// Principals of one rule, at most.
pub const MAX_WHO: usize = 100;
/// Projects, globs and topics of one rule, at most.
pub const MAX_PROJECTS: usize = 200;
/// The family of the tools that say what there is (`hello`, `list_projects`): given where any other is.
pub const BASICS: &str = "basics";
/// Tool families of one rule, at most.
pub const MAX_FAMILIES: usize = 20;
/// The longest name of a group, in bytes.
pub const LONGEST_GROUP: usize = 128;
/// The longest text of a principal or a project, in bytes.
const LONGEST: usize = 1024;
/// The longest glob or topic, in bytes.
const LONGEST_PATTERN: usize = 64;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRule {
    /// A changed rule has another id.
    pub id: i64,
    /// Whom it is about: any of these.
    pub who: Vec<Who>,
    /// The projects that it is about: any of these.
    pub projects: Vec<ProjectPattern>,
    /// The tool families that it is about; `None` for all.
    pub families: Option<Vec<String>>,
    /// Whether it denies instead of giving.
    pub deny: bool,
}

/// A principal, or several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Who {
    /// Every caller of the tenant.
    Everyone,
    /// Those whose token names this group.
    Group(String),
    /// The subject of an issuer.
    Subject {
        /// As tokens write it in `iss`.
        issuer: String,
        /// As tokens write it, by default in `sub`.
        subject: String,
    },
    /// The API keys with this label.
    Key(String),
}

/// The projects that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ProjectPattern {
    /// A slug, or a glob of slugs.
    Slug(String),
    /// Projects whose host gives them this topic.
    Topic(String),
}

/// Why a text is no principal or project of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessTextError {
    /// It is no principal.
    #[error("{0:?} is no principal: use everyone, group:NAME, subject:ISSUER#SUBJECT or key:LABEL")]
    Who(String),
    /// It is no project.
    #[error("{0:?} is no project: use a slug, a glob of slugs as web-*, or topic:NAME")]
    Project(String),
}

/// A caller, as rules see it.
#[derive(Clone, Copy, Debug)]
pub enum Caller<'a> {
    /// The holder of an API key with this label.
    Key {
        /// The key's label.
        label: &'a str,
    },
    /// The holder of a token.
    Token {
        /// As the token writes it in `iss`.
        issuer: &'a str,
        /// As the token writes it.
        subject: &'a str,
        /// The groups that the token names.
        groups: &'a [String],
    },
}

impl AccessRule {
    /// Whether the rule is about this caller.
    pub fn is_about(&self, caller: Caller<'_>) -> bool {
        self.who.iter().any(|who| who.is(caller))
    }

    /// Whether the caller is an API key that the rule names by its label.
    pub fn names_key(&self, caller: Caller<'_>) -> bool {
        let is_it = |who: &Who| matches!(who, Who::Key(_)) && who.is(caller);
        self.who.iter().any(is_it)
    }

    /// Whether the rule is about tools of this family.
    pub fn covers(&self, family: &str) -> bool {
        let families = self.families.as_ref();
        families.is_none_or(|families| families.iter().any(|one| one == family))
    }

    /// Whether the rule gives tools of this family, unless another one denies them. Tools that say what there is are
    /// given with any other family.
    pub fn gives(&self, family: &str) -> bool {
        !self.deny && (family == BASICS || self.covers(family))
    }

    /// Whether the rule denies tools of this family in all projects.
    pub fn denies_everywhere(&self, family: &str) -> bool {
        let is_all = |it: &ProjectPattern| matches!(it, ProjectPattern::Slug(glob) if glob == "*");
        self.deny && self.covers(family) && self.projects.iter().any(is_all)
    }
}

/// Whether a credential that is for these families of tools, or for all, covers a family. Tools that say what there is
/// come with any.
pub fn covers_family(families: Option<&[String]>, family: &str) -> bool {
    family == BASICS || families.is_none_or(|names| names.iter().any(|name| name == family))
}

/// Whether rules about a project give it by a family of tools: one gives it, and none denies it.
pub fn is_given<'a>(about: impl IntoIterator<Item = &'a AccessRule>, family: &str) -> bool {
    let mut covering = about.into_iter().filter(|rule| rule.covers(family));
    covering.next().is_some_and(|first| !first.deny) && covering.all(|rule| !rule.deny)
}

/// Whether rules about a caller give tools of this family in any project, and none denies them in all.
///
/// A gateway checks this, since it knows no projects.
pub fn is_given_anywhere<'a>(
    mut rules: impl Iterator<Item = &'a AccessRule> + Clone,
    family: &str,
) -> bool {
    rules.clone().any(|rule| rule.gives(family))
        && !rules.any(|rule| rule.denies_everywhere(family))
}

impl Who {
    fn is(&self, caller: Caller<'_>) -> bool {
        match (self, caller) {
            (Who::Everyone, _) => true,
            (Who::Key(own), Caller::Key { label }) => own == label,
            (Who::Group(own), Caller::Token { groups, .. }) => groups.contains(own),
            (
                Who::Subject { issuer, subject },
                Caller::Token {
                    issuer: of,
                    subject: is,
                    ..
                },
            ) => issuer == of && subject == is,
            (Who::Group(_) | Who::Subject { .. }, Caller::Key { .. })
            | (Who::Key(_), Caller::Token { .. }) => false,
        }
    }

    fn parse(text: &str) -> Option<Who> {
        if text == "everyone" {
            return Some(Who::Everyone);
        }
        let (kind, name) = text.split_once(':')?;
        let fits = (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
        match kind {
            _ if !fits => None,
            "group" if name.len() <= LONGEST_GROUP => Some(Who::Group(name.to_owned())),
            "key" => Some(Who::Key(name.to_owned())),
            "subject" => {
                // An issuer's URL has no fragment.
                let (issuer, subject) = name.split_once('#')?;
                let are_there = !issuer.is_empty() && !subject.is_empty();
                are_there.then(|| Who::Subject {
                    issuer: issuer.to_owned(),
                    subject: subject.to_owned(),
                })
            }
            _ => None,
        }
    }
}

impl ProjectPattern {
    fn parse(text: &str) -> Option<ProjectPattern> {
        let is_of_slugs = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'*' | b'?');
        match text.strip_prefix("topic:") {
            Some(topic) => {
                let fits = (1..=LONGEST_PATTERN).contains(&topic.len());
                let fits = fits && !topic.chars().any(|c| c.is_control() || c.is_whitespace());
                fits.then(|| ProjectPattern::Topic(topic.to_lowercase()))
            }
            None => {
                let fits = (1..=LONGEST_PATTERN).contains(&text.len());
                let fits = fits && text.bytes().all(is_of_slugs);
                fits.then(|| ProjectPattern::Slug(text.to_owned()))
            }
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Everyone => f.write_str("everyone"),
            Who::Group(name) => write!(f, "group:{name}"),
            Who::Subject { issuer, subject } => write!(f, "subject:{issuer}#{subject}"),
            Who::Key(label) => write!(f, "key:{label}"),
        }
    }
}

impl fmt::Display for ProjectPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProjectPattern::Slug(glob) => f.write_str(glob),
            ProjectPattern::Topic(topic) => write!(f, "topic:{topic}"),
        }
    }
}

impl TryFrom<String> for Who {
    type Error = AccessTextError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Who::parse(&text).ok_or(AccessTextError::Who(text))
    }
}

impl TryFrom<String> for ProjectPattern {
    type Error = AccessTextError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        ProjectPattern::parse(&text).ok_or(AccessTextError::Project(text))
    }
}

impl From<Who> for String {
    fn from(who: Who) -> String {
        who.to_string()
    }
}

impl From<ProjectPattern> for String {
    fn from(pattern: ProjectPattern) -> String {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(text: &str) -> Option<Who> {
        Who::try_from(text.to_owned()).ok()
    }

    #[test]
    fn texts_of_rules_are_read_and_written_alike() {
        for text in [
            "everyone",
            "group:Team A",
            "subject:https://login.example/#ada#1",
            "key:ci: nightly",
        ] {
            assert_eq!(who(text).unwrap().to_string(), text);
        }
        let long = format!("group:{}", "a".repeat(LONGEST_GROUP + 1));
        for bad in [
            "",
            "Everyone",
            "group:",
            "subject:ada",
            "subject:#ada",
            "team:a",
            "key:a\nb",
            &long,
        ] {
            assert_eq!(who(bad), None, "{bad}");
        }
        let project = |text: &str| ProjectPattern::try_from(text.to_owned()).ok();
        for text in ["web", "web-*", "*", "topic:payments"] {
            assert_eq!(project(text).unwrap().to_string(), text);
        }
        assert_eq!(
            project("topic:Payments").unwrap().to_string(),
            "topic:payments"
        );
        for bad in ["", "Web", "a/b", "[a]", "{a,b}", "topic:", "topic:a b"] {
            assert_eq!(project(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_principal_is_a_key_by_its_label_or_a_token_by_subject_or_group() {
        let groups = ["dev".to_owned()];
        let token = Caller::Token {
            issuer: "https://a",
            subject: "ada",
            groups: &groups,
        };
        let key = Caller::Key { label: "ci" };
        for (text, of_token, of_key) in [
            ("everyone", true, true),
            ("group:dev", true, false),
            ("group:ops", false, false),
            ("subject:https://a#ada", true, false),
            ("subject:https://b#ada", false, false),
            ("key:ci", false, true),
            ("key:ada", false, false),
        ] {
            let who = who(text).unwrap();
            assert_eq!((who.is(token), who.is(key)), (of_token, of_key), "{text}");
        }
    }
}
