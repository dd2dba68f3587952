//! The rule that refused a call, in words for operators: a path rule, or what hides a project.
//!
//! A rule names a glob of an operator or a repository, or an access rule, so no caller may read it. It travels beside a
//! call's result, never in it: the type can be neither serialized nor printed, and its `Debug` is empty.

use std::fmt;

use crate::misleading::on_one_line;

/// The longest text, in bytes.
pub const LONGEST: usize = 200;

/// The words for one rule: one line without misleading characters, of at most [`LONGEST`] bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct RefusalRule(Box<str>);

impl RefusalRule {
    /// Cleans a text, and cuts it with `…` if it is too long.
    pub fn new(text: &str) -> RefusalRule {
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
        RefusalRule(clean)
    }

    /// A path rule: `path rule: close glob *.sql`.
    pub fn of_path(rule: &str) -> RefusalRule {
        RefusalRule::new(&format!("path rule: {rule}"))
    }

    /// Access rules that deny something, or none that gives it: `access rules 3, 5 deny it`.
    pub fn of_access(denying: &[i64]) -> RefusalRule {
        let ids: Vec<String> = denying.iter().map(i64::to_string).collect();
        RefusalRule::new(&match ids.as_slice() {
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

impl fmt::Debug for RefusalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusalRule")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_one_visible_line_of_bounded_length() {
        let of = |text: &str| RefusalRule::new(text).for_operators().to_owned();
        assert_eq!(of("close glob *.sql"), "close glob *.sql");
        assert_eq!(of("a\0b\nc\u{202e}"), "a\\u{0}b\\nc\\u{202e}");
        assert_eq!(of(&"x".repeat(LONGEST)).len(), LONGEST);
        for long in ["x".repeat(LONGEST + 1), "ä\n".repeat(LONGEST)] {
            let cut = of(&long);
            assert!(cut.len() <= LONGEST && cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn access_rules_are_named_by_their_numbers() {
        for (denying, words) in [
            (&[][..], "no access rule gives it"),
            (&[3], "access rule 3 denies it"),
            (&[3, 5], "access rules 3, 5 deny it"),
        ] {
            assert_eq!(RefusalRule::of_access(denying).for_operators(), words);
        }
    }

    #[test]
    fn a_rule_is_not_printed() {
        let printed = format!("{:?}", Some(RefusalRule::new("close glob *.sql")));
        assert_eq!(printed, "Some(RefusalRule)");
    }
}
