//! A search pattern, compiled to match line by line.
//!
//! It never backtracks, and neither the program nor a lazily built automaton exceeds 10 MiB. A
//! pattern that needs a line end or look-around is rejected with an error that names the reason.

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use super::error::RepoError;

/// Size limit in bytes of a compiled pattern, and of each automaton built from it.
const MAX_COMPILED: usize = 10 << 20;

/// How errors name a pattern that is not plain text.
const REGEX: &str = "regex pattern";

/// Lines end with `\n`; a preceding `\r` belongs to the line end.
pub(super) fn line_terminator() -> LineTerminator {
    LineTerminator::crlf()
}

/// Compiles `pattern`, as a regular expression unless `literal`.
///
/// # Errors
/// [`RepoError::InvalidPattern`], with the position if it is known.
pub(super) fn compile(
    pattern: &str,
    literal: bool,
    case_sensitive: bool,
) -> Result<RegexMatcher, RepoError> {
    if !literal {
        check_syntax(pattern)?;
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .crlf(true)
        .unicode(true)
        .fixed_strings(literal)
        .case_insensitive(!case_sensitive)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build(pattern)
        .map_err(|error| refusal(pattern, literal, &error))
}

/// Reports the position of a syntax error, which the matcher's own error lacks.
fn check_syntax(pattern: &str) -> Result<(), RepoError> {
    use regex_syntax::ast::ErrorKind as Syntax;

    let Err(error) = regex_syntax::Parser::new().parse(pattern) else {
        return Ok(());
    };
    let (message, start) = match &error {
        regex_syntax::Error::Parse(error) => {
            let message = match error.kind() {
                Syntax::UnsupportedLookAround => "look-around is not supported".to_owned(),
                kind => kind.to_string(),
            };
            (message, Some(error.span().start.offset))
        }
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), Some(error.span().start.offset))
        }
        error => (error.to_string(), None),
    };
    let before = start.and_then(|offset| pattern.split_at_checked(offset));
    let position = before.map(|(before, _)| before.chars().count());
    Err(RepoError::InvalidPattern {
        what: REGEX,
        pattern: pattern.to_owned(),
        message,
        position,
    })
}

fn refusal(pattern: &str, literal: bool, error: &grep_regex::Error) -> RepoError {
    let message = match error.kind() {
        ErrorKind::NotAllowed(_) => {
            "a line end can't be searched for: patterns are matched line by line".to_owned()
        }
        _ => error.to_string(),
    };
    RepoError::InvalidPattern {
        what: if literal { "search text" } else { REGEX },
        pattern: pattern.to_owned(),
        message,
        position: None,
    }
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher as _;

    use super::*;

    fn refused(pattern: &str) -> (String, Option<usize>) {
        match compile(pattern, false, false) {
            Err(RepoError::InvalidPattern {
                message, position, ..
            }) => (message, position),
            other => panic!("{pattern}: {other:?}"),
        }
    }

    fn finds(pattern: &str, literal: bool, case_sensitive: bool, line: &str) -> bool {
        let matcher = compile(pattern, literal, case_sensitive).unwrap();
        matcher.is_match(line.as_bytes()).unwrap()
    }

    #[test]
    fn syntax_errors_report_their_position_in_characters() {
        assert_eq!(refused("äö(").1, Some(2));
        assert_eq!(
            refused("a)|(b").1,
            Some(1),
            "which the matcher would wrap and accept"
        );
        assert_eq!(refused("ä*{2,1}").1, Some(2));
        assert_eq!(refused(r"a\p{Nope}").1, Some(1));
    }

    #[test]
    fn look_around_and_line_ends_are_rejected_by_name() {
        assert!(refused("(?=a)").0.contains("look-around"));
        assert!(refused("(?<!a)b").0.contains("look-around"));
        assert!(refused(r"a\nb").0.contains("line end"));
        let literal = compile("a\nb", true, true).unwrap_err();
        assert!(literal.to_string().contains("line end"));
    }

    #[test]
    fn a_pattern_that_compiles_too_large_is_rejected() {
        assert!(refused(r"(\w{500}){500}").0.contains("size limit"));
    }

    #[test]
    fn literals_are_literal_and_case_is_unicode() {
        assert!(finds("a.c(", true, true, "xa.c(") && !finds("a.c", true, true, "abc"));
        assert!(finds("STRASSE", false, false, "strasse") && finds("Ä", true, false, "ä"));
        assert!(!finds("Ä", true, true, "ä"));
    }

    #[test]
    fn dollar_matches_before_either_line_end() {
        assert!(finds("c$", false, true, "abc\r\n") && finds("c$", false, true, "abc\n"));
    }
}
