//! What refused a call, in words for operators: a path rule, access rules, a git host, or what the credential lacks.
//!
//! The words name a glob, an access rule, or that something is hidden, so no caller may read them. They travel beside a
//! call's result, never in it: the type cannot be serialized, and its `Debug` shows its own name alone.

use std::fmt;

use crate::{access::AccessRule, misleading::on_one_line};

/// The longest text, in bytes.
pub const LONGEST: usize = 200;

/// The words: one line without misleading characters, of at most [`LONGEST`] bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct RefusedBy(Box<str>);

impl RefusedBy {
    /// Cleans a text, and cuts it with `…` if it is too long.
    pub fn new(text: &str) -> RefusedBy {
        const CUT: &str = "…";
        let clean = on_one_line(text);
        let clean = match clean.len() {
            0..=LONGEST => clean.into(),
            _ => {
                let end = clean.floor_char_boundary(LONGEST - CUT.len());
                let (start, _) = clean.split_at_checked(end).unwrap_or_default();
                [start, CUT].concat().into()
            }
        };
        RefusedBy(clean)
    }

    /// A path rule: `path rule: close glob *.sql`.
    pub fn of_path(rule: &str) -> RefusedBy {
        RefusedBy::new(&format!("path rule: {rule}"))
    }

    /// The access rules about something that they give by none of these tool families: `access rules 3, 5 deny it`,
    /// or `no access rule gives it`. Rules that deny what no other one gives are not named.
    pub fn of_access<'a>(
        rules: impl Iterator<Item = &'a AccessRule> + Clone,
        families: &[&str],
    ) -> RefusedBy {
        let is_given = |family: &&&str| rules.clone().any(|rule| rule.gives(family));
        let lost: Vec<&&str> = families.iter().filter(is_given).collect();
        let denying =
            rules.filter(|rule| rule.deny && lost.iter().any(|family| rule.covers(family)));
        let ids: Vec<String> = denying.map(|rule| rule.id.to_string()).collect();
        RefusedBy::new(&match ids.as_slice() {
            [] => "no access rule gives it".to_owned(),
            [id] => format!("access rule {id} denies it"),
            ids => format!("access rules {} deny it", ids.join(", ")),
        })
    }

    /// The text, which only operators may read.
    pub fn for_operators(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefusedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusedBy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::BASICS;

    #[test]
    fn words_are_one_visible_line_of_bounded_length() {
        let of = |text: &str| RefusedBy::new(text).for_operators().to_owned();
        assert_eq!(of("close glob *.sql"), "close glob *.sql");
        assert_eq!(of("a\0b\nc\u{202e}"), "a\\u{0}b\\nc\\u{202e}");
        assert_eq!(of(&"x".repeat(LONGEST)).len(), LONGEST);
        for long in ["x".repeat(LONGEST + 1), "ä\n".repeat(LONGEST)] {
            let cut = of(&long);
            assert!(cut.len() <= LONGEST && cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn access_rules_that_deny_what_others_give_are_named_by_their_numbers() {
        let rule = |id, families: &[&str], deny| AccessRule {
            id,
            who: Vec::new(),
            projects: Vec::new(),
            families: (!families.is_empty())
                .then(|| families.iter().map(|it| (*it).to_owned()).collect()),
            deny,
        };
        let (give_files, give_all) = (rule(1, &["files"], false), rule(2, &[], false));
        let (deny_git, deny_all) = (rule(3, &["git"], true), rule(5, &[], true));
        let deny_files = rule(4, &["files"], true);
        let any = &["", "files", "git"][..];
        let none = "no access rule gives it";
        for (rules, families, words) in [
            (vec![], any, none),
            (vec![&deny_all], any, none),
            (vec![&give_files], &["git"], none),
            (
                vec![&give_all, &deny_git],
                &["git"],
                "access rule 3 denies it",
            ),
            (
                vec![&give_all, &deny_git, &deny_all],
                &["git"],
                "access rules 3, 5 deny it",
            ),
            // What hides the whole project is not the rule about git, which nothing gives.
            (
                vec![&give_files, &deny_git, &deny_files],
                any,
                "access rule 4 denies it",
            ),
            (
                vec![&give_files, &deny_all],
                &[BASICS],
                "access rule 5 denies it",
            ),
        ] {
            let refused_by = RefusedBy::of_access(rules.into_iter(), families);
            assert_eq!(refused_by.for_operators(), words);
        }
    }

    #[test]
    fn the_words_are_not_printed() {
        let printed = format!("{:?}", Some(RefusedBy::new("close glob *.sql")));
        assert_eq!(printed, "Some(RefusedBy)");
    }
}
