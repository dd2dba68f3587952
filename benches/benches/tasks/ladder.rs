//! A task, and how it is played.

use std::fmt::Write as _;

use serde_json::Value;

use crate::agent::{Agent, Reply};

/// Bytes of a reply that the transcript shows.
const SHOWN: usize = 300;

/// A task of an agent.
pub(crate) struct Task {
    /// The name of its repository.
    pub(crate) repository: &'static str,
    pub(crate) goal: &'static str,
    /// The texts that the replies must have shown, all of them.
    pub(crate) answer: &'static [&'static str],
    /// The calls, in the order in which an agent tries them.
    pub(crate) ladder: Vec<Step>,
}

/// A call that an agent makes while it has no answer.
pub(crate) struct Step {
    tool: &'static str,
    arguments: Value,
    /// Texts that earlier replies must have shown, because the arguments are made of them.
    knows: &'static [&'static str],
    /// Pages to read at most.
    pages: usize,
    /// Whether the arguments have names that the agent knows from other tools.
    is_habit: bool,
}

/// What a task took.
pub(crate) struct Played {
    pub(crate) calls: usize,
    /// Bytes of all replies' text.
    pub(crate) bytes: usize,
    pub(crate) is_found: bool,
}

impl Step {
    /// A call that needs no more than the goal.
    pub(crate) fn call(tool: &'static str, arguments: Value) -> Step {
        Step {
            tool,
            arguments,
            knows: &[],
            pages: 1,
            is_habit: false,
        }
    }

    /// Only once earlier replies have shown these texts.
    #[must_use]
    pub(crate) fn knowing(mut self, texts: &'static [&'static str]) -> Step {
        self.knows = texts;
        self
    }

    /// Reads up to so many pages.
    #[must_use]
    pub(crate) fn pages(mut self, pages: usize) -> Step {
        self.pages = pages;
        self
    }

    /// The names of the arguments are those of other tools, advertised or not.
    #[must_use]
    pub(crate) fn by_habit(mut self) -> Step {
        self.is_habit = true;
        self
    }

    /// Whether an agent makes this call after these replies.
    fn is_open(&self, agent: &Agent, seen: &str) -> bool {
        let Some(known) = agent.arguments_of(self.tool) else {
            return false;
        };
        let names = self
            .arguments
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys());
        let is_known = names.into_iter().all(|name| known.contains(name));
        (self.is_habit || is_known) && self.knows.iter().all(|text| seen.contains(text))
    }
}

/// Plays a task until its replies have shown the answer.
pub(crate) async fn play(task: &Task, agent: &Agent, transcript: &mut String) -> Played {
    let mut played = Played {
        calls: 0,
        bytes: 0,
        is_found: false,
    };
    let mut seen = String::new();
    for step in &task.ladder {
        if !step.is_open(agent, &seen) {
            continue;
        }
        let mut arguments = step.arguments.clone();
        for _ in 0..step.pages {
            let reply = agent.call(step.tool, &arguments).await;
            played.calls += 1;
            played.bytes += reply.text.len();
            write(transcript, step.tool, &arguments, &reply);
            seen.push_str(&reply.text);
            if task.answer.iter().all(|text| seen.contains(text)) {
                played.is_found = true;
                return played;
            }
            let Some(cursor) = reply.cursor else { break };
            arguments["cursor"] = cursor.into();
        }
    }
    played
}

fn write(transcript: &mut String, tool: &str, arguments: &Value, reply: &Reply) {
    let bytes = reply.text.len();
    let end = reply.text.floor_char_boundary(SHOWN);
    let (shown, _) = reply.text.split_at(end);
    writeln!(
        transcript,
        "→ {tool} {arguments}\n← {bytes} bytes\n{shown}\n"
    )
    .expect("a string");
}
