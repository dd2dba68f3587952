//! Advice for the caller: what was not checked, and what to do next.

use archway_repo::text::shown;

use super::{Findings, dialect::Dialect, message::cut, reading::Reading, stated::Stated};

/// At most this many notes of rules are given as advice.
const MAX_NOTES: usize = 20;

/// At most this many skipped rules are named.
const MAX_NAMES: usize = 5;

/// At most this many uncheckable sentences are quoted.
const MAX_SENTENCES: usize = 10;

/// The longest quotation of a sentence, in bytes.
const MAX_TOLD: usize = 160;

/// Adds advice to the findings.
pub(super) fn add(
    findings: &mut Findings,
    reading: &Reading<'_>,
    others: &[Stated],
    unchecked: &[String],
) {
    findings.advice.truncate(MAX_NOTES);
    findings.language = reading
        .syntax
        .as_ref()
        .and(reading.dialect)
        .map(Dialect::name);
    let heuristic = findings
        .violations
        .iter()
        .any(|violation| violation.heuristic);
    let said = [
        (findings.checked == 0 && !findings.incomplete).then(|| NOTHING.to_owned()),
        findings.incomplete.then(|| CUT_SHORT.to_owned()),
        language(reading),
        mistake(reading),
        of_others(reading, others),
        skipped(findings),
        heuristic.then(|| HEURISTIC.to_owned()),
        by_hand(unchecked),
    ];
    findings.advice.extend(said.into_iter().flatten());
}

const NOTHING: &str = "nothing could be checked: the pattern's document has no ast-grep rule for \
    this language that runs, and no sentence with MUST or SHOULD about a name in backticks; read \
    it and compare by yourself";

const CUT_SHORT: &str = "the check was cut short, so compliance is not known; give less code, or \
    have the rules in `skipped` narrowed";

const HEURISTIC: &str = "violations with `heuristic` were found by words alone: look whether the \
    code is what the sentence means";

/// Names the rules that were not run completely.
fn skipped(findings: &Findings) -> Option<String> {
    let rules = &findings.skipped;
    let names: Vec<&str> = rules.iter().map(|it| it.rule.as_str()).collect();
    let told = names.iter().take(MAX_NAMES).copied();
    let told = told.collect::<Vec<_>>().join(", ");
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
            "{which}: {told}{more}; see `skipped` for why, and mend them in the pattern's document"
        )
    })
}

/// Quotes the sentences that words can't check.
fn by_hand(unchecked: &[String]) -> Option<String> {
    let told: Vec<String> = unchecked
        .iter()
        .take(MAX_SENTENCES)
        .map(|sentence| format!("\"{}\"", cut(sentence, MAX_TOLD)))
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
        "{sentences} can't be checked by machine, or not all that is said there; compare by \
         yourself: {}{more}",
        told.join(", ")
    ))
}

/// Explains how the language was determined.
fn language(reading: &Reading<'_>) -> Option<String> {
    let names = || Dialect::names().collect::<Vec<_>>().join(", ");
    match (reading.asked, reading.dialect) {
        (Some(_), Some(_)) => None,
        (Some(asked), None) => Some(format!(
            "there is no grammar for the language `{}`, so only names were looked for, in \
             comments and strings, too; known are {}",
            shown(asked),
            names()
        )),
        (None, Some(guess)) => Some(format!(
            "the code was read as {}, which the pattern's document names; give `language` if it \
             is another",
            guess.name()
        )),
        (None, None) => Some(format!(
            "the language is not known, so only names were looked for, in comments and strings, \
             too; give `language`, one of {}",
            names()
        )),
    }
}

fn mistake(reading: &Reading<'_>) -> Option<String> {
    let language = reading.dialect?.name();
    match (&reading.syntax, reading.mistake) {
        (Some(_), None) => None,
        (Some(_), Some(line)) => Some(format!(
            "line {line} is no {language} as the grammar has it; rules may miss what stands there, \
             so compliance is not known: give code that parses, whole functions or classes"
        )),
        (None, _) => Some(format!(
            "the code could not be read as {language} in time, so compliance is not known; give \
             less code"
        )),
    }
}

fn of_others(reading: &Reading<'_>, others: &[Stated]) -> Option<String> {
    let mut names: Vec<&str> = others.iter().map(|rule| rule.dialect.name()).collect();
    names.sort_unstable();
    names.dedup();
    let ours = reading.dialect.map_or("not", Dialect::name);
    (!names.is_empty()).then(|| {
        format!(
            "{} of the pattern's rules are for {} and were not run: the code is {ours}",
            others.len(),
            names.join(", ")
        )
    })
}
