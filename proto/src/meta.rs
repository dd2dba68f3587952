//! The names under `_meta`, in tool results and in the catalogue.

use serde::{Deserialize, Serialize};

/// `{id, dirty?}`: the commit an answer was read from; null without git or for several projects,
/// absent where it was read from a project's memory, which no commit has.
pub const COMMIT: &str = "io.archway/commit";
/// The slug of the project that an answer was read from; absent where that was none, or several.
pub const PROJECT: &str = "io.archway/project";
/// Milliseconds from body read to result built, by the gateway.
pub const DURATION_MS: &str = "io.archway/durationMs";
/// The failure of a call, for programs.
pub const ERROR: &str = "io.archway/error";
/// How many characters of the result were escaped visibly; absent at 0.
pub const ESCAPED: &str = "io.archway/escaped";
/// Why an answer covers less than was asked: `"deadline"`.
pub const INCOMPLETE: &str = "io.archway/incomplete";
/// `true` where HEAD moved twice while the call ran.
pub const MOVED: &str = "io.archway/moved";
/// `true` where the result holds text that a repository's authors wrote.
pub const UNTRUSTED: &str = "io.archway/untrusted";
/// What is wrong with the project's `.archway.toml`, a sentence each; absent if nothing is.
pub const WARNINGS: &str = "io.archway/warnings";
/// `{model, outcome, changed?}`: a chat model was asked to correct the answer; absent if none was.
///
/// With the outcome `"answered"` it changed so many findings; with any other the answer is that of
/// rules alone.
pub const REFINED: &str = "io.archway/refined";
/// A worker's plain cursor. The gateway seals it into `structuredContent.cursor` and removes it.
pub const CURSOR: &str = "io.archway/cursor";
/// A worker's [`Files`], for the audit trail. The gateway removes it.
pub const FILES: &str = "io.archway/files";
/// In a call's `_meta`: a key under which a write is done once, however often it is called.
pub const IDEMPOTENCY_KEY: &str = "io.archway/idempotencyKey";
/// In the answers to `prompts/list` and `resources/list`: what is left out and why, a sentence each.
pub const SKIPPED: &str = "io.archway/skipped";

/// The files whose text is in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Their paths in the project, each once, those that were read first: at most [`Files::MOST`].
    pub paths: Vec<String>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
}

impl Files {
    /// How many are named.
    pub const MOST: usize = 64;

    /// Adds a file, if it isn't among those that are named.
    pub fn add(&mut self, path: &str) {
        if self.paths.iter().any(|known| known == path) {
            return;
        }
        match self.paths.len() < Files::MOST {
            true => self.paths.push(path.to_owned()),
            false => self.more += 1,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}
