//! Advice for the caller: the unchecked parts, and the next step.

use archway_repo::text::shown;

use super::{
    Findings, dialect::Dialect, message::cut, parsed_code::ParsedCode, rule_source::RuleSource,
};

/// At most this many notes of rules are given as advice.
const MAX_NOTES: usize = 20;

/// At most this many skipped rules are named.
const MAX_NAMES: usize = 5;

/// At most this many uncheckable sentences are quoted.
const MAX_SENTENCES: usize = 10;

/// The longest quotation of a sentence, in bytes.
const MAX_QUOTE: usize = 160;

/// Adds advice to the findings.
pub(super) fn add(
    findings: &mut Findings,
    parsed: &ParsedCode<'_>,
    other_rules: &[RuleSource],
    unchecked: &[String],
) {
    findings.advice.truncate(MAX_NOTES);
    findings.language = parsed
        .syntax
        .as_ref()
        .and(parsed.dialect)
        .map(Dialect::name);
    let heuristic = findings
        .violations
        .iter()
        .any(|violation| violation.heuristic);
    let advice = [
        (findings.checked == 0 && !findings.incomplete).then(|| NOTHING_CHECKED.to_owned()),
        findings.incomplete.then(|| CUT_SHORT.to_owned()),
        language(parsed),
        error_line(parsed),
        skipped_languages(parsed, other_rules),
        skipped(findings),
        heuristic.then(|| HEURISTIC.to_owned()),
        uncheckable(unchecked),
    ];
    findings.advice.extend(advice.into_iter().flatten());
}

const NOTHING_CHECKED: &str = "nothing could be checked: the pattern's document has no ast-grep rule for \
    this language that runs, and no sentence with MUST or SHOULD about a name in backticks; read \
    it and check the code yourself";

const CUT_SHORT: &str = "the check was cut short, so compliance is not known; give less code, or \
    have the rules in `skipped` narrowed";

const HEURISTIC: &str = "violations with `heuristic` were found by comparing words only: check whether \
    the code is what the sentence means";

/// Names the rules that were not run completely.
fn skipped(findings: &Findings) -> Option<String> {
    let rules = &findings.skipped;
    let names: Vec<&str> = rules.iter().map(|it| it.rule.as_str()).collect();
    let listed = names.iter().take(MAX_NAMES).copied();
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let which = match findings.none_ran {
        true => "no rule of ast-grep was run to its end, so compliance is not known",
        false => "not all rules were run, or not to their end",
    };
    (!names.is_empty()).then(|| {
        format!(
            "{which}: {listed}{more}; see `skipped` for the reasons, and fix them in the pattern's document"
        )
    })
}

/// Quotes the sentences that words can't check.
fn uncheckable(unchecked: &[String]) -> Option<String> {
    let listed: Vec<String> = unchecked
        .iter()
        .take(MAX_SENTENCES)
        .map(|sentence| format!("\"{}\"", cut(sentence, MAX_QUOTE)))
        .collect();
    let more = match unchecked.len().saturating_sub(MAX_SENTENCES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let sentences = match unchecked.len() {
        0 => return None,
        1 => "1 sentence of the pattern".to_owned(),
        many => format!("{many} sentences of the pattern"),
    };
    Some(format!(
        "{sentences} can't be checked by machine, or not completely; check the code \
         yourself: {}{more}",
        listed.join(", ")
    ))
}

/// Explains how the language was determined.
fn language(parsed: &ParsedCode<'_>) -> Option<String> {
    let names = || Dialect::names().collect::<Vec<_>>().join(", ");
    match (parsed.requested, parsed.dialect) {
        (Some(_), Some(_)) => None,
        (Some(requested), None) => Some(format!(
            "there is no grammar for the language `{}`, so only names were looked for, in \
             comments and strings, too; known are {}",
            shown(requested),
            names()
        )),
        (None, Some(assumed)) => Some(format!(
            "the code was read as {}, which the pattern's document names; give `language` if it \
             is another",
            assumed.name()
        )),
        (None, None) => Some(format!(
            "the language is not known, so only names were looked for, in comments and strings, \
             too; give `language`, one of {}",
            names()
        )),
    }
}

fn error_line(parsed: &ParsedCode<'_>) -> Option<String> {
    let language = parsed.dialect?.name();
    match (&parsed.syntax, parsed.error_line) {
        (Some(_), None) => None,
        (Some(_), Some(line)) => Some(format!(
            "line {line} is no {language} by its grammar; rules may miss code there, so \
             compliance is not known: give code that parses, whole functions or classes"
        )),
        (None, _) => Some(format!(
            "the code could not be read as {language} in time, so compliance is not known; give \
             less code"
        )),
    }
}

fn skipped_languages(parsed: &ParsedCode<'_>, other_rules: &[RuleSource]) -> Option<String> {
    let mut names: Vec<&str> = other_rules.iter().map(|rule| rule.dialect.name()).collect();
    names.sort_unstable();
    names.dedup();
    let code_language = parsed.dialect.map_or("not", Dialect::name);
    (!names.is_empty()).then(|| {
        format!(
            "{} of the pattern's rules are for {} and were not run: the code is {code_language}",
            other_rules.len(),
            names.join(", ")
        )
    })
}
