//! What limits can be set for: the tools of this build, `prompts/get`, the total, the month, and memory.
//!
//! Any other name is most likely misspelt, and its limit would bind nothing. So it is refused with a
//! suggestion. Workers of another build may have other tools.

use archway_gateway::terms::{MEMORY, MONTH, PROMPTS, PROMPTS_PER_MINUTE, TOTAL};
use archway_workers::tools;

use super::AdminError;

/// What has limits without being a tool or method.
const OTHERS: [&str; 3] = [TOTAL, MONTH, MEMORY];

/// A tool or method with limits.
pub(super) struct LimitTarget {
    /// A tool's name, or `prompts/get`.
    pub(super) name: String,
    /// Default calls per minute of a session, and of a key of one agent; `None`: only the totals apply.
    pub(super) per_minute: Option<u32>,
    /// Units of the totals that a call costs.
    pub(super) weight: u32,
}

/// All of them, in the order in which tools are listed.
pub(super) fn all() -> Result<Vec<LimitTarget>, AdminError> {
    let registry = tools::registry().map_err(|error| AdminError::Refused(error.to_string()))?;
    let tools = registry.list().tools.iter().map(|tool| LimitTarget {
        name: tool.name.clone(),
        per_minute: tool.per_minute,
        weight: tool.weight,
    });
    let prompts = LimitTarget {
        name: PROMPTS.to_owned(),
        per_minute: Some(PROMPTS_PER_MINUTE),
        weight: 1,
    };
    Ok(tools.chain([prompts]).collect())
}

/// Checks that limits can be set for these names.
pub(super) fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), AdminError> {
    let all = all()?;
    let known: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
    let mut names = names.into_iter();
    match names.find(|name| !OTHERS.contains(name) && !known.contains(name)) {
        None => Ok(()),
        Some(unknown) => Err(AdminError::Refused(unknown_name(unknown, &known))),
    }
}

fn unknown_name(name: &str, known: &[&str]) -> String {
    // A pasted key must not appear in logs.
    if name.contains("awy_") {
        return "the tool's name looks like an API key".to_owned();
    }
    let lower = name.to_lowercase();
    let near = known.iter().copied().chain(OTHERS);
    let near = near.map(|known| (strsim::osa_distance(&lower, known), known));
    let near = near
        .filter(|(edits, known)| *edits <= (known.len() / 3).max(2))
        .min();
    let hint = match near {
        Some((_, near)) => format!("did you mean {near}?"),
        None => format!("there are {TOTAL}, {}, {MONTH}, {MEMORY}", known.join(", ")),
    };
    format!("no limit can be set for {name:?}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> String {
        check_names([name]).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion_and_others_the_list() {
        check_names([
            "total",
            "memory_mib",
            "month",
            "hello",
            "prompts/get",
            "grep_codebase",
        ])
        .unwrap();
        assert!(refusal("Totl").ends_with("did you mean total?"));
        assert!(refusal("grep_code_base").ends_with("did you mean grep_codebase?"));
        assert!(refusal("prompt/get").ends_with("did you mean prompts/get?"));
        let other = refusal("nothing_like_it");
        assert!(other.contains("there are total, hello, "), "{other}");
    }

    #[test]
    fn a_key_in_place_of_a_name_is_not_repeated() {
        assert!(!refusal("awy_a_b_c").contains("a_b_c"));
    }
}
