//! Names near one that no prompt has, of those that the caller may get.

use archway_proto::{failure::Failure, nearest};

use super::{expand::Expander, file::Prompt};

/// Names that a failure gives at most.
const MOST: usize = 3;

/// The names near `name`, of the prompts that name only what is available to the caller.
pub(super) async fn near(
    mut expander: Expander<'_>,
    name: &str,
    prompts: &[&Prompt],
) -> Vec<String> {
    let names = prompts.iter().map(|prompt| prompt.name.as_str());
    let mut near = Vec::new();
    for known in nearest::among(name, names, MOST) {
        let Some(prompt) = prompts.iter().find(|prompt| prompt.name == known) else {
            continue;
        };
        // A suggestion is optional, so a prompt that cannot be read at the moment is not suggested.
        if matches!(expander.expand(prompt).await, Ok(Ok(_))) {
            near.push(known.to_owned());
        }
    }
    near
}

/// Names near prompts in a failure, before its own suggestion.
pub(super) fn did_you_mean(failure: Failure, near: &[String]) -> Failure {
    match near.is_empty() {
        true => failure,
        false => Failure {
            suggestion: format!(
                "did you mean {}? Or {}",
                near.join(" or "),
                failure.suggestion
            ),
            ..failure
        },
    }
}
