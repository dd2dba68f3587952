//! What a caller gave, and what tools answered it, put into a prompt: as it stands, never looked into.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;

use super::expand::Part;
use crate::workflows::Workflow;

/// Bytes of a prompt with everything put in. A template can name an argument thousands of times.
const MAX_FILLED: usize = 1 << 20;

/// What is known of what the session's tools answered.
pub(super) enum Kept {
    Workflow(Option<Workflow>),
    /// It can't be read at the moment.
    Away,
}

/// Fills a prompt.
pub(super) struct Filling<'a> {
    given: &'a BTreeMap<String, String>,
    kept: Kept,
    /// What tools answered, as it is put in.
    answers: HashMap<String, Arc<str>>,
    room: usize,
}

impl<'a> Filling<'a> {
    pub(super) fn new(given: &'a BTreeMap<String, String>, kept: Kept) -> Filling<'a> {
        Filling {
            given,
            kept,
            answers: HashMap::new(),
            room: MAX_FILLED,
        }
    }

    /// A message's text.
    ///
    /// # Errors
    /// If the prompt becomes too large with it.
    pub(super) fn text(&mut self, parts: Vec<Part>) -> Result<String, Failure> {
        let mut filled = String::new();
        for part in parts {
            let answer;
            let text = match &part {
                Part::Text(text) => text,
                Part::Argument(name) => self.given.get(name).map_or("", String::as_str),
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
        if let Some(known) = self.answers.get(tool) {
            return Arc::clone(known);
        }
        let answer: Arc<str> = match &self.kept {
            Kept::Away => format!("[what {tool} answered can't be read at the moment]").into(),
            Kept::Workflow(workflow) => {
                let result = workflow.as_ref().and_then(|kept| kept.result(tool));
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
        let given = BTreeMap::from([("a".to_owned(), argument.to_owned())]);
        Filling::new(&given, Kept::Workflow(None)).text(parts)
    }

    #[test]
    fn what_is_given_is_put_in_as_it_stands() {
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
    fn an_argument_that_is_named_thousands_of_times_makes_no_huge_prompt() {
        let parts = |count| vec![Part::Argument("a".to_owned()); count];
        let argument = "x".repeat(1 << 10);
        assert_eq!(filled(&argument, parts(1 << 10)).unwrap().len(), 1 << 20);
        let refused = filled(&argument, parts((1 << 10) + 1)).unwrap_err();
        assert_eq!(refused.code, Fault::InvalidArguments);
    }
}
