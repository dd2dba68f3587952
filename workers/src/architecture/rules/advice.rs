//! What is said beside the violations: what was not checked, and what to do about it.

use super::{Findings, dialect::Dialect, reading::Reading, stated::Stated};
use crate::text::shown;

/// How many pieces of advice rules give by their notes.
const MAX_NOTES: usize = 20;

/// Adds advice to what was found.
pub(super) fn add(findings: &mut Findings, reading: &Reading<'_>, others: &[Stated]) {
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
        (!findings.skipped.is_empty()).then(|| SKIPPED.to_owned()),
        heuristic.then(|| HEURISTIC.to_owned()),
    ];
    findings.advice.extend(said.into_iter().flatten());
}

const NOTHING: &str = "nothing could be checked: the pattern's document has no ast-grep rule for \
    this language that runs, and no sentence with MUST or SHOULD about a name in backticks; read \
    it and compare by yourself";

const CUT_SHORT: &str = "the check was cut short, so compliance is not known; give less code, or \
    have the rules in `skipped` narrowed";

const SKIPPED: &str = "rules in `skipped` were not run, or not to their end: mend them in the \
    pattern's document";

const HEURISTIC: &str = "violations with `heuristic` were found by words alone: look whether the \
    code is what the sentence means";

/// What is to be said of the code's language.
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
    let (line, dialect) = reading.mistake.zip(reading.dialect)?;
    Some(format!(
        "line {line} is no {} as the grammar has it; rules may miss what stands there",
        dialect.name()
    ))
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
