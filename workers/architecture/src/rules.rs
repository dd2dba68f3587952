//! Whether code keeps to a pattern: the rules that the pattern's document holds, run on the code.
//!
//! Two kinds: rules of ast-grep in fences ([`stated`], [`structural`]), run as they stand, and
//! sentences with the words of RFC 2119 about names in backticks ([`sentences`], [`words`]), which
//! are heuristics: who is meant is not asked, and a sentence that holds only somewhere or so many
//! times is told instead of checked. Both the document and the code were written by
//! others; what a rule may cost is bounded by a [`watch`].
//!
//! What a reader would get wrong: nothing to check is no compliance, and neither is a check that
//! was cut short, that found no rule it could run, or that ran on code that does not parse. A rule
//! that errs beside others that run is told and changes nothing else.

// In the order a document and the code meet them.
mod stated;
mod dialect;
mod reading;
mod structural;
mod watched;
mod watch;
mod message;
mod sentences;
mod clause;
mod words;
mod advice;
mod refusal;

use archway_repo::{
    Cancel, Stopped,
    syntax::{SyntaxError, aside::AsideError},
};

use super::markdown::Markdown;
use reading::Reading;
use sentences::{Demand, Demands};
use stated::{Stated, Statements};
use words::Words;

/// How many violations are told; all are counted.
const MAX_VIOLATIONS: usize = 1_000;

/// How many of them break one rule.
const MAX_OF_A_RULE: usize = 100;

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It breaks the document.
    Error,
    /// It may.
    Warning,
}

/// What breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule's id, or the demand in short.
    pub rule: String,
    /// What breaks it, in a sentence.
    pub description: String,
    /// How grave it is.
    pub severity: Severity,
    /// 1-based; `None` where something is missing.
    pub line: Option<usize>,
    /// Whether it was found by words alone.
    pub heuristic: bool,
}

/// A rule that could not be run, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The rule's id.
    pub rule: String,
    /// Why it was not run.
    pub reason: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// By line, what is missing last.
    pub violations: Vec<Violation>,
    /// How many there are, told or not.
    pub total: usize,
    /// How many of them are errors.
    pub(crate) errors: usize,
    /// How many rules were run to their end.
    pub checked: usize,
    /// Rules that were not run, or not to their end.
    pub skipped: Vec<Skipped>,
    /// How many sentences demand what words alone can't check; they are no part of `checked`.
    pub unchecked: usize,
    /// What to do about it.
    pub advice: Vec<String>,
    /// The time, or what may be looked at, was spent before all was checked.
    pub incomplete: bool,
    /// It was the time.
    pub late: bool,
    /// The code is none of its language: that nothing was found there is no proof.
    pub(crate) broken: bool,
    /// There are rules of ast-grep for the code, and none of them ran to its end.
    pub(crate) none_ran: bool,
    /// What the code was read as; `None` if as plain text.
    pub language: Option<&'static str>,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The code could not be parsed.
    #[error("parsing the code")]
    Parse(#[source] SyntaxError),
    /// The rules could not be run.
    #[error("running the rules")]
    Run(#[source] AsideError),
    /// The call's time is up, or its caller is gone.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Findings {
    /// Whether something was checked, to its end and on code that parses, and no error was found.
    pub fn compliant(&self) -> bool {
        let is_proven = !(self.incomplete || self.broken || self.none_ran);
        self.checked > 0 && self.errors == 0 && is_proven
    }

    /// Adds what breaks one rule: all of it counts, the first of it is told.
    fn add(&mut self, violations: impl IntoIterator<Item = Violation>) {
        let mut of_it = 0;
        let mut before = None;
        for violation in violations {
            if before.as_ref() == Some(&violation) {
                continue;
            }
            of_it += 1;
            self.total += 1;
            self.errors += usize::from(violation.severity == Severity::Error);
            if of_it <= MAX_OF_A_RULE && self.violations.len() < MAX_VIOLATIONS {
                self.violations.push(violation.clone());
            }
            before = Some(violation);
        }
    }

    /// Holds code against what a sentence demands.
    fn hold(&mut self, demand: &Demand, words: &Words, cancel: &Cancel) -> Result<(), Stopped> {
        self.checked += 1;
        let mut missing = Vec::new();
        for name in &demand.names {
            let lines = words.lines_with(name, cancel)?;
            if demand.forbids {
                let on = |line| demand.violated(&[name], Some(line));
                self.add(lines.into_iter().map(on));
            } else if lines.is_empty() {
                missing.push(name);
            }
        }
        if demand.any && missing.len() == demand.names.len() {
            self.add([demand.violated(&missing, None)]);
        } else if !demand.any {
            let violated = |name| demand.violated(&[name], None);
            self.add(missing.into_iter().map(violated));
        }
        Ok(())
    }

    fn advise(&mut self, advice: &str) {
        self.advice.push(advice.to_owned());
    }
}

/// Holds `code` against the rules of a pattern's document.
///
/// # Errors
/// If no thread can be had, or the call has to stop.
pub fn check(
    pattern: &Markdown,
    code: &str,
    language: Option<&str>,
    cancel: &Cancel,
) -> Result<Findings, RulesError> {
    let Statements { rules, skipped } = Statements::of(&pattern.fences);
    let reading = Reading::of(pattern, &rules, (code, language), cancel)?;
    let is_ours = |rule: &Stated| Some(rule.dialect) == reading.dialect;
    let (rules, others): (Vec<_>, Vec<_>) = rules.into_iter().partition(is_ours);
    let mut findings = structural::run(rules, &reading, cancel).map_err(RulesError::Run)?;
    findings.skipped.splice(0..0, skipped);
    findings.none_ran = findings.checked == 0 && !findings.skipped.is_empty();
    findings.broken = reading.is_broken();
    let words = Words::of(code, reading.syntax.as_ref(), cancel)?;
    let Demands { checked, unchecked } = sentences::demands(pattern);
    for demand in checked {
        findings.hold(&demand, &words, cancel)?;
    }
    findings.unchecked = unchecked.len();
    let in_order = |violation: &Violation| (violation.line.is_none(), violation.line);
    findings.violations.sort_by_key(in_order);
    advice::add(&mut findings, &reading, &others, &unchecked);
    Ok(findings)
}

#[cfg(test)]
mod tests;
