//! The grammar of revisions. Needs no repository.
//!
//! A base (a name, an id, `@`, `@{-1}`), then at most one `@{upstream}` and one reflog selector,
//! then steps through the graph. Ranges, paths and message searches are rejected, and so is text
//! that a command line would take for an option.

use jiff::Timestamp;

use super::super::date;

/// The longest revision, in bytes.
const MAX_LENGTH: usize = 256;

/// Numbers in `@{…}` from here on are seconds since 1970, as in git.
const FIRST_TIME: u64 = 100_000_000;

/// A parsed revision.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedRevision<'a> {
    pub(super) base: Base<'a>,
    /// Replaces the base by its upstream branch.
    pub(super) upstream: bool,
    /// Selects an earlier value of the base.
    pub(super) reflog: Option<ReflogSelector>,
    pub(super) steps: Vec<Step>,
}

/// The beginning of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base<'a> {
    /// `@`, or an empty base before `@{…}`: HEAD, whose reflog is that of its branch.
    Head,
    /// `@{-n}`: what was checked out n switches ago, from 1.
    PreviousCheckout(usize),
    /// An id, an abbreviated id, or a reference.
    Name(&'a str),
}

/// Selects a value from a reflog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReflogSelector {
    /// The value this many changes ago.
    Nth(u64),
    /// The value at this second since 1970.
    Time(i64),
}

/// One step from an object to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `^n`: the nth parent, from 1; `^0` is the commit itself.
    Parent(u64),
    /// `~n`: n first parents back.
    Ancestor(u64),
    /// `^{commit}`: the commit that a tag names.
    Commit,
    /// `^{tag}`: requires a tag object.
    Tag,
    /// `^{}` and `^{object}`: no-ops, since only commits count at the end.
    Same,
}

/// Parses a revision.
///
/// # Errors
/// The reason why the form is not supported.
pub(super) fn parse(revision: &str, now: Timestamp) -> Result<ParsedRevision<'_>, &'static str> {
    reject_unsupported(revision)?;
    let base = revision.find(['~', '^']).unwrap_or(revision.len());
    let base = revision.find("@{").map_or(base, |at| at.min(base));
    let (name, mut rest) = revision.split_at_checked(base).unwrap_or((revision, ""));
    let mut parsed = ParsedRevision {
        base: match name {
            "" | "@" => Base::Head,
            name => Base::Name(name),
        },
        upstream: false,
        reflog: None,
        steps: Vec::new(),
    };
    while let Some((inside, after)) = braces(rest, "@{")? {
        parsed.apply_braces(inside, name.is_empty(), now)?;
        rest = after;
    }
    while !rest.is_empty() {
        let (step, after) = step(rest)?;
        parsed.steps.push(step);
        rest = after;
    }
    Ok(parsed)
}

/// Rejects git's forms that name no commit, or search all of history for one.
fn reject_unsupported(revision: &str) -> Result<(), &'static str> {
    let has = |text| revision.contains(text);
    let outside_of_marks = || {
        revision.split("@{").enumerate().any(|(nth, part)| {
            let outside = if nth == 0 {
                Some(part)
            } else {
                part.split_once('}').map(|(_, after)| after)
            };
            outside.is_some_and(|outside| outside.contains(':'))
        })
    };
    match () {
        () if revision.trim().is_empty() => Err("it is empty"),
        () if revision.len() > MAX_LENGTH => Err("it has more than 256 bytes"),
        () if revision.contains(char::is_control) => Err("it has control characters"),
        () if revision.starts_with('-') => Err("a revision can't begin with a dash"),
        () if revision.starts_with(":/") || has("^{/") => {
            Err("commits are not looked up by message; git_log shows messages")
        }
        () if has("..") => Err(
            "it is a range; put its halves into ref1 and ref2 (git_diff), or into since and ref \
             (git_log)",
        ),
        () if revision.starts_with('^') || has("^!") || has("^@") || has("^-") => {
            Err("it is a range; give one commit")
        }
        () if outside_of_marks() => {
            Err("it names a path; give the commit alone and the path apart")
        }
        () if has("^{tree}") || has("^{blob}") => Err("it names no commit; leave out the braces"),
        () => Ok(()),
    }
}

/// The text between `mark` and the closing brace, and what follows. `None` if `text` begins
/// otherwise.
fn braces<'a>(text: &'a str, mark: &str) -> Result<Option<(&'a str, &'a str)>, &'static str> {
    match text.strip_prefix(mark).map(|text| text.split_once('}')) {
        None => Ok(None),
        Some(Some(parts)) => Ok(Some(parts)),
        Some(None) => Err("a brace is not closed"),
    }
}

impl ParsedRevision<'_> {
    /// Applies one `@{…}`.
    fn apply_braces(
        &mut self,
        inside: &str,
        at_start: bool,
        now: Timestamp,
    ) -> Result<(), &'static str> {
        const REPEATED: &str = "it has too many @{…}";
        if let Some(digits) = inside.strip_prefix('-') {
            let first = at_start && self.base == Base::Head && self.is_bare();
            let nth = digits.parse().ok().filter(|&nth| first && nth > 0);
            self.base = Base::PreviousCheckout(
                nth.ok_or("@{-n} must come at the beginning, with n from 1")?,
            );
            return Ok(());
        }
        match inside.to_ascii_lowercase().as_str() {
            "u" | "upstream" if self.is_bare() => {
                self.upstream = true;
                return Ok(());
            }
            "u" | "upstream" => return Err(REPEATED),
            "push" => return Err("@{push} is not supported; name the branch"),
            _ => {}
        }
        let selector = match inside.parse() {
            Ok(nth) if nth < FIRST_TIME => ReflogSelector::Nth(nth),
            Ok(second) => ReflogSelector::Time(i64::try_from(second).unwrap_or(i64::MAX)),
            Err(_no_number) => ReflogSelector::Time(
                date::moment(inside, now)
                    .ok_or("the text in @{…} is not a number, a date or \"upstream\"")?,
            ),
        };
        match self.reflog.replace(selector) {
            None => Ok(()),
            Some(_) => Err(REPEATED),
        }
    }

    fn is_bare(&self) -> bool {
        !self.upstream && self.reflog.is_none()
    }
}

/// The first step in `text`, which is not empty, and what follows it.
fn step(text: &str) -> Result<(Step, &str), &'static str> {
    if let Some((inside, after)) = braces(text, "^{")? {
        let step = match inside {
            "" | "object" => Step::Same,
            "commit" => Step::Commit,
            "tag" => Step::Tag,
            _ => return Err("^{…} takes \"commit\", \"tag\" or nothing"),
        };
        return Ok((step, after));
    }
    let make: fn(u64) -> Step = match text.as_bytes().first() {
        Some(b'^') => Step::Parent,
        Some(b'~') => Step::Ancestor,
        _ => return Err("only ~n, ^n or ^{…} can follow the base"),
    };
    let text = text.get(1..).unwrap_or_default();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, after) = text.split_at_checked(digits).unwrap_or((text, ""));
    let count = match digits {
        "" => 1,
        // More than any history has.
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    Ok((make(count), after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_772_600_767).unwrap()
    }

    fn parse(text: &str) -> Result<ParsedRevision<'_>, &'static str> {
        super::parse(text, now())
    }

    fn parsed(base: Base<'_>) -> ParsedRevision<'_> {
        ParsedRevision {
            base,
            upstream: false,
            reflog: None,
            steps: Vec::new(),
        }
    }

    /// The parsed form of `main` with these steps.
    fn main_then(steps: &[Step]) -> ParsedRevision<'static> {
        let steps = steps.to_vec();
        ParsedRevision {
            steps,
            ..parsed(Base::Name("main"))
        }
    }

    #[test]
    fn a_revision_has_a_base_and_steps() {
        use Step::{Ancestor, Commit, Parent, Same, Tag};
        assert_eq!(parse("@"), Ok(parsed(Base::Head)));
        assert_eq!(parse("feature/a@b"), Ok(parsed(Base::Name("feature/a@b"))));
        let numbered = [Ancestor(3), Parent(2), Parent(1), Parent(0)];
        assert_eq!(parse("main~3^2^^0"), Ok(main_then(&numbered)));
        let braced = parse("main^{}^{commit}^{tag}~^{object}");
        assert_eq!(
            braced,
            Ok(main_then(&[Same, Commit, Tag, Ancestor(1), Same]))
        );
        let far = parse("main~99999999999999999999");
        assert_eq!(far, Ok(main_then(&[Ancestor(u64::MAX)])));
    }

    #[test]
    fn braces_select_upstream_and_reflog_entry() {
        assert_eq!(parse("@{-2}"), Ok(parsed(Base::PreviousCheckout(2))));
        let before = ParsedRevision {
            upstream: true,
            reflog: Some(ReflogSelector::Nth(1)),
            ..main_then(&[Step::Ancestor(2)])
        };
        assert_eq!(parse("main@{U}@{1}~2"), Ok(before));
        let reflog = Some(ReflogSelector::Time(1_772_600_767 - 2 * 86_400));
        for text in [
            "main@{2 days ago}",
            "main@{2.days.ago}",
            "main@{1772427967}",
        ] {
            let then = ParsedRevision {
                reflog,
                ..main_then(&[])
            };
            assert_eq!(parse(text), Ok(then), "{text}");
        }
        let colons = parse("main@{2025-01-01T10:00:00Z}").unwrap();
        assert_eq!(colons.reflog, Some(ReflogSelector::Time(1_735_725_600)));
    }

    fn rejected(texts: &[&str], reason: &str) {
        for text in texts {
            let why = parse(text).expect_err(text);
            assert!(why.contains(reason), "{text}: {why}");
        }
    }

    #[test]
    fn forms_that_name_no_single_commit_are_rejected() {
        rejected(&["", " "], "empty");
        rejected(&["-x", "--output=x"], "dash");
        rejected(&[":/fix", "main^{/fix}"], "message");
        let paths = [
            "main:README.md",
            ":README.md",
            ":0:README.md",
            "main@{1}:a",
            "main^1:",
        ];
        rejected(&paths, "path");
        let ranges = ["a..b", "a...b", "..b", "^a", "a^!", "a^@", "a^-1"];
        rejected(&ranges, "range");
        rejected(
            &["a..b", "a...b"],
            "put its halves into ref1 and ref2 (git_diff)",
        );
        rejected(&["main^{tree}", "v1^{blob}"], "no commit");
        rejected(&["a\0b", "a\nb"], "control");
        assert!(parse(&"a".repeat(256)).is_ok());
        rejected(&[&"a".repeat(257)], "256 bytes");
    }

    #[test]
    fn unknown_braces_and_steps_are_rejected() {
        rejected(&["main@{", "main^{commit"], "brace");
        rejected(&["main^{index}"], "^{");
        rejected(&["main~1x", "main^x"], "base");
        rejected(&["main@{soon}", "main@{}"], "@{");
        rejected(
            &["main@{-1}", "@{-0}", "@{1}@{-1}", "@{-1}@{-1}"],
            "beginning",
        );
        rejected(&["@{1}@{2}", "@{1}@{u}", "@{u}@{u}"], "too many");
        rejected(&["main@{push}"], "push");
    }

    proptest! {
        #[test]
        fn any_text_parses_or_has_a_reason(
            text in "\\PC{0,300}",
            near in "(main|@|v1|HEAD|abcd|)([~^][0-9]{0,30}|\\^\\{[a-z/]{0,6}\\}?|@\\{[-a-z0-9. ]{0,12}\\}?|[.:^!-])*",
        ) {
            for text in [text, near] {
                if let Ok(parsed) = parse(&text) {
                    prop_assert!(parsed.steps.len() <= MAX_LENGTH);
                }
            }
        }
    }
}
