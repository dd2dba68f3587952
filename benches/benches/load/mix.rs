//! The mix of calls: mostly reading and searching, sometimes history, meaning and memory.

use rand::{Rng, seq::IndexedRandom};
use serde_json::{Value, json};

/// Shares in percent.
const SHARES: [(&str, u32); 10] = [
    ("hello", 5),
    ("list_files", 10),
    ("read_file", 30),
    ("grep_codebase", 25),
    ("search_files", 8),
    ("get_repo_overview", 5),
    ("git_log", 5),
    ("context_search", 5),
    ("write_memory_entry", 4),
    ("search_memory", 3),
];
/// Different calls of one tool.
const VARIANTS: usize = 64;

/// Prepared calls.
pub(crate) struct Mix {
    tools: Vec<Tool>,
}

struct Tool {
    name: &'static str,
    share: u32,
    bodies: Vec<String>,
}

impl Mix {
    /// Calls for projects of this many generated files.
    pub(crate) fn new(files: usize) -> Mix {
        let mut random = rand::rng();
        let tools = SHARES.map(|(name, share)| {
            let bodies = (0..VARIANTS).map(|_| body(name, &arguments(name, files, &mut random)));
            let bodies = bodies.collect();
            Tool {
                name,
                share,
                bodies,
            }
        });
        Mix {
            tools: tools.into(),
        }
    }

    /// The names of tools, by their number.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        SHARES.iter().map(|(name, _)| *name)
    }

    /// A random call: the tool's number, and the message.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> (usize, &str) {
        let mut left = random.random_range(0..SHARES.iter().map(|(_, share)| share).sum());
        let drawn = self.tools.iter().position(|tool| {
            let is_it = left < tool.share;
            left = left.saturating_sub(tool.share);
            is_it
        });
        let number = drawn.expect("shares add up");
        (number, self.any(number, random))
    }

    /// A call of this tool.
    pub(crate) fn of(&self, name: &str) -> &str {
        let number = self.tools.iter().position(|tool| tool.name == name);
        self.any(number.expect("a tool of the mix"), &mut rand::rng())
    }

    fn any(&self, number: usize, random: &mut impl Rng) -> &str {
        self.tools[number].bodies.choose(random).expect("variants")
    }
}

fn body(name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

fn arguments(name: &str, files: usize, random: &mut impl Rng) -> Value {
    const WORDS: [&str; 8] = [
        "session_tenant",
        "cache",
        "token_config",
        "handler",
        "needle_in_haystack",
        "buffer_path",
        "query",
        "limit_worker",
    ];
    let word = *WORDS.choose(random).expect("words");
    let number = random.random_range(0..files);
    let folder = format!("src/module{:03}/part{}", number / 40, number % 5);
    match name {
        "list_files" => json!({ "directory": folder }),
        "read_file" => json!({ "path": format!("{folder}/file{number}.rs") }),
        "grep_codebase" => json!({ "pattern": format!("{word}_[a-z]+") }),
        "search_files" => json!({ "pattern": format!("file{}*.rs", number % 100) }),
        "get_repo_overview" => json!({ "max_depth": 2 }),
        "git_log" => json!({ "max_count": 20 }),
        "context_search" => {
            json!({ "query": format!("where is the {} handled", word.replace('_', " ")) })
        }
        "write_memory_entry" => json!({
            "file": "progress_log.jsonl",
            "entry": { "timestamp": "2026-11-23T05:00:00Z", "event": format!("looked at {word}") },
        }),
        "search_memory" => json!({ "query": word }),
        _ => json!({}),
    }
}
