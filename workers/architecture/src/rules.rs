//! Checks code against the rules in a pattern's document.
//!
//! There are two kinds of rules. ast-grep rules in fences ([`rule_source`], [`structural`]) run as
//! written. Sentences with RFC 2119 keywords and names in backticks ([`sentences`], [`words`]) are
//! heuristics: their subject is ignored, and a sentence that is limited to a place, a condition or
//! a count is reported instead of checked. Document and code are both untrusted; a [`budget`] bounds
//! the cost of rules.
//!
//! Code is compliant only if a rule was checked. A check that was cut short, ran no rule, or ran on
//! code that doesn't parse proves nothing. A failing rule is reported and doesn't affect the
//! others.

// In processing order.
mod rule_source;
mod dialect;
mod parsed_code;
mod structural;
mod counted;
mod budget;
mod message;
mod sentences;
mod clause;
mod words;
mod advice;
mod failure;

use archway_repo::{
    Cancel, Stopped,
    syntax::{SyntaxError, large_stack::LargeStackError},
};

use super::markdown::Markdown;
use parsed_code::ParsedCode;
use rule_source::{RuleSource, RuleSources};
use sentences::{DocumentRequirements, Requirement};
use words::CodeWords;

/// At most this many violations are reported; all are counted.
const MAX_VIOLATIONS: usize = 1_000;

/// At most this many of them are of one rule.
const MAX_PER_RULE: usize = 100;

/// The severity of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Violates the document.
    Error,
    /// May violate the document.
    Warning,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule's id, or a short form of the requirement.
    pub rule: String,
    /// A description of the violation in one sentence.
    pub description: String,
    /// The severity.
    pub severity: Severity,
    /// 1-based; `None` if something is missing.
    pub line: Option<usize>,
    /// Whether it was found by comparing words only.
    pub heuristic: bool,
}

/// A rule that was not run, or not completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The rule's id.
    pub rule: String,
    /// The reason.
    pub reason: String,
}

/// The result of checking code.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// By line; missing names last.
    pub violations: Vec<Violation>,
    /// The number of violations, including those not reported.
    pub total: usize,
    /// The number of errors among them.
    pub(crate) errors: usize,
    /// The number of rules that were run completely.
    pub checked: usize,
    /// Rules that were not run, or not completely.
    pub skipped: Vec<Skipped>,
    /// The number of sentences that can't be checked by words; not part of `checked`.
    pub unchecked: usize,
    /// Suggested next steps.
    pub advice: Vec<String>,
    /// Whether the time or the node budget was exhausted before all rules were checked.
    pub incomplete: bool,
    /// Whether it was the time.
    pub late: bool,
    /// Whether the code doesn't parse: then the absence of violations proves nothing.
    pub(crate) broken: bool,
    /// Whether there are ast-grep rules for the code and none ran completely.
    pub(crate) none_ran: bool,
    /// The language that the code was parsed as; `None` for plain text.
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
    Run(#[source] LargeStackError),
    /// The call was cancelled or reached its deadline.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Findings {
    /// Whether something was checked completely, on code that parses, without errors.
    pub fn compliant(&self) -> bool {
        let is_proof = !(self.incomplete || self.broken || self.none_ran);
        self.checked > 0 && self.errors == 0 && is_proof
    }

    /// Adds the violations of one rule: all are counted, the first ones reported.
    fn add(&mut self, violations: impl IntoIterator<Item = Violation>) {
        let mut count = 0;
        let mut previous = None;
        for violation in violations {
            if previous.as_ref() == Some(&violation) {
                continue;
            }
            count += 1;
            self.total += 1;
            self.errors += usize::from(violation.severity == Severity::Error);
            if count <= MAX_PER_RULE && self.violations.len() < MAX_VIOLATIONS {
                self.violations.push(violation.clone());
            }
            previous = Some(violation);
        }
    }

    /// Checks code against the requirement of a sentence.
    fn check_requirement(
        &mut self,
        requirement: &Requirement,
        words: &CodeWords,
        cancel: &Cancel,
    ) -> Result<(), Stopped> {
        self.checked += 1;
        let mut missing = Vec::new();
        for name in &requirement.names {
            let lines = words.lines_with(name, cancel)?;
            if requirement.forbids {
                let on = |line| requirement.violated(&[name], Some(line));
                self.add(lines.into_iter().map(on));
            } else if lines.is_empty() {
                missing.push(name);
            }
        }
        if requirement.any && missing.len() == requirement.names.len() {
            self.add([requirement.violated(&missing, None)]);
        } else if !requirement.any {
            let violated = |name| requirement.violated(&[name], None);
            self.add(missing.into_iter().map(violated));
        }
        Ok(())
    }

    fn advise(&mut self, advice: &str) {
        self.advice.push(advice.to_owned());
    }
}

/// Checks `code` against the rules of a pattern's document.
///
/// # Errors
/// If no thread is available, or the call is cancelled.
pub fn check(
    pattern: &Markdown,
    code: &str,
    language: Option<&str>,
    cancel: &Cancel,
) -> Result<Findings, RulesError> {
    let RuleSources { rules, skipped } = RuleSources::of(&pattern.fences);
    let parsed = ParsedCode::of(pattern, &rules, (code, language), cancel)?;
    let is_for_code = |rule: &RuleSource| Some(rule.dialect) == parsed.dialect;
    let (rules, other_rules): (Vec<_>, Vec<_>) = rules.into_iter().partition(is_for_code);
    let mut findings = structural::run(rules, &parsed, cancel).map_err(RulesError::Run)?;
    findings.skipped.splice(0..0, skipped);
    findings.none_ran = findings.checked == 0 && !findings.skipped.is_empty();
    findings.broken = parsed.has_syntax_errors();
    let words = CodeWords::of(code, parsed.syntax.as_ref(), cancel)?;
    let DocumentRequirements { checked, unchecked } = sentences::requirements(pattern);
    for requirement in checked {
        findings.check_requirement(&requirement, &words, cancel)?;
    }
    findings.unchecked = unchecked.len();
    let by_line = |violation: &Violation| (violation.line.is_none(), violation.line);
    findings.violations.sort_by_key(by_line);
    advice::add(&mut findings, &parsed, &other_rules, &unchecked);
    Ok(findings)
}

#[cfg(test)]
mod tests;
