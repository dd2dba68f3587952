//! The names of Archway's `_meta` members, in tool results and in the catalogue.

use serde::{Deserialize, Serialize};

/// `{id, dirty?}`: the commit that the answer was read from. Null without git or for several projects;
/// absent if the answer comes from a project's memory, which belongs to no commit.
pub const COMMIT: &str = "io.archway/commit";
/// The slug of the project that the answer was read from; absent for none or several.
pub const PROJECT: &str = "io.archway/project";
/// `{searched, remaining, skipped: [{project, code}]}`: the projects of a page of a search of every project.
///
/// All of the `searched` ones are on the page or on earlier ones. Later pages search the `remaining` ones, the first
/// of which may be on this page in part. The `skipped` ones cannot be read now.
pub const PROJECTS: &str = "io.archway/projects";
/// Milliseconds from the request's body to the result, measured by the gateway.
pub const DURATION_MS: &str = "io.archway/durationMs";
/// The failure of a call, for programs.
pub const ERROR: &str = "io.archway/error";
/// How many characters of the result were escaped; absent if 0.
pub const ESCAPED: &str = "io.archway/escaped";
/// Why the answer is incomplete: `"deadline"`.
pub const INCOMPLETE: &str = "io.archway/incomplete";
/// `true` if HEAD moved twice during the call.
pub const MOVED: &str = "io.archway/moved";
/// `true` if the result contains text by authors of a repository.
pub const UNTRUSTED: &str = "io.archway/untrusted";
/// Problems of the project's `.archway.toml`, a sentence each; absent if there are none.
pub const WARNINGS: &str = "io.archway/warnings";
/// `{model, outcome, changed?}`: the refinement of the answer by a chat model; absent without one.
///
/// With the outcome `"answered"`, the model changed `changed` findings. With any other outcome, the answer
/// comes from rules alone.
pub const REFINED: &str = "io.archway/refined";
/// A worker's plain cursor. The gateway seals it into `structuredContent.cursor` and removes it.
pub const CURSOR: &str = "io.archway/cursor";
/// A worker's [`Files`], for the audit trail. The gateway removes it.
pub const FILES: &str = "io.archway/files";
/// In a call's `_meta`: a key under which a write is executed once, however often it is sent.
pub const IDEMPOTENCY_KEY: &str = "io.archway/idempotencyKey";
/// In answers to `prompts/list` and `resources/list`: what is omitted and why, a sentence each.
pub const SKIPPED: &str = "io.archway/skipped";

/// The files whose content is in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Paths in the project without duplicates, in reading order: at most [`Files::MOST`].
    pub paths: Vec<String>,
    /// How many further files there are.
    #[serde(default)]
    pub more: u64,
}

impl Files {
    /// The maximum of `paths`.
    pub const MOST: usize = 64;

    /// Adds a file, unless it is in `paths` already.
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
