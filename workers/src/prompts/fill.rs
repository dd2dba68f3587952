//! Inserts the caller's arguments and the results of tools into a prompt, unchanged and never
//! parsed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;

use super::expand::Part;
use crate::workflows::Workflow;

/// Maximum size in bytes of a complete prompt. A template can name an argument thousands of times.
const MAX_FILLED: usize = 1 << 20;

/// The results of tools in this session.
pub(super) enum SessionResults {
    Workflow(Option<Workflow>),
    /// Postgres does not answer at the moment.
    Unavailable,
}

/// Fills the messages of a prompt.
pub(super) struct Filler<'a> {
    arguments: &'a BTreeMap<String, String>,
    results: SessionResults,
    /// The results of tools, as inserted.
    answers: HashMap<String, Arc<str>>,
    room: usize,
}

impl<'a> Filler<'a> {
    pub(super) fn new(
        arguments: &'a BTreeMap<String, String>,
        results: SessionResults,
    ) -> Filler<'a> {
        Filler {
            arguments,
            results,
            answers: HashMap::new(),
            room: MAX_FILLED,
        }
    }

    /// Returns the text of a message.
    ///
    /// # Errors
    /// If the prompt becomes too large.
    pub(super) fn text(&mut self, parts: Vec<Part>) -> Result<String, Failure> {
        let mut filled = String::new();
        for part in parts {
            let answer;
            let text = match &part {
                Part::Text(text) => text,
                Part::Argument(name) => self.arguments.get(name).map_or("", String::as_str),
                Part::Result(name) => {
                    answer = self.answer(name);
                    &*answer
                }
            };
            self.room = self.room.checked_sub(text.len()).ok_or_else(too_large)?;
            filled.push_str(text);
        }
        Ok(filled)
    }

    fn answer(&mut self, tool: &str) -> Arc<str> {
        if let Some(cached) = self.answers.get(tool) {
            return Arc::clone(cached);
        }
        let answer: Arc<str> = match &self.results {
            SessionResults::Unavailable => {
                format!("[what {tool} answered can't be read at the moment]").into()
            }
            SessionResults::Workflow(workflow) => {
                let result = workflow.as_ref().and_then(|results| results.result(tool));
                match result {
                    Some(data) => text::visible_json(&data.to_string()).into(),
                    None => format!("[there is no result of {tool} yet]").into(),
                }
            }
        };
        self.answers.insert(tool.to_owned(), Arc::clone(&answer));
        answer
    }
}

fn too_large() -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        "with these arguments the prompt would have more than 1 MiB",
        "give shorter arguments",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(argument: &str, parts: Vec<Part>) -> Result<String, Failure> {
        let arguments = BTreeMap::from([("a".to_owned(), argument.to_owned())]);
        Filler::new(&arguments, SessionResults::Workflow(None)).text(parts)
    }

    #[test]
    fn arguments_are_inserted_unchanged() {
        let parts = vec![
            Part::Text("look: ".into()),
            Part::Argument("a".to_owned()),
            Part::Result("grep_codebase".to_owned()),
        ];
        assert_eq!(
            filled("{{a}}", parts).unwrap(),
            "look: {{a}}[there is no result of grep_codebase yet]"
        );
    }

    #[test]
    fn an_argument_named_thousands_of_times_can_not_exceed_1_mib() {
        let parts = |count| vec![Part::Argument("a".to_owned()); count];
        let argument = "x".repeat(1 << 10);
        assert_eq!(filled(&argument, parts(1 << 10)).unwrap().len(), 1 << 20);
        let refused = filled(&argument, parts((1 << 10) + 1)).unwrap_err();
        assert_eq!(refused.code, Fault::InvalidArguments);
    }
}
