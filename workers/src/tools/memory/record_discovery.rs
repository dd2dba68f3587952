//! `record_discovery`: records a discovery about the project for later searches.

use std::sync::Arc;

use archway_proto::{catalog::Scope, failure::Failure, fault::Fault};
use archway_repo::{Kind, RepoPath, Rules};
use archway_store::memory::{NewDiscovery, WriteError, write_by};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::rfc3339;
use crate::tools::{Reply, Tool, ToolContext};

/// Records a discovery.
pub(in crate::tools) struct RecordDiscovery;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct RecordDiscoveryArgs {
    #[serde(rename = "type")]
    /// What it is.
    kind: DiscoveryKind,
    /// What was found out, so that it is understood without this session.
    #[schemars(length(min = 1, max = 5000))]
    content: String,
    /// The module it is about, as `read_file` names it.
    #[schemars(length(min = 1, max = 200))]
    module: Option<String>,
    /// Files or folders it is about, relative to the project root.
    #[schemars(length(max = 50), inner(length(min = 1, max = 4096)))]
    paths: Option<Vec<String>>,
    /// Id of an earlier discovery that it replaces.
    #[schemars(length(min = 1, max = 64))]
    supersedes: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DiscoveryKind {
    Pattern,
    Rule,
    Decision,
    Issue,
}

impl DiscoveryKind {
    fn name(self) -> &'static str {
        match self {
            DiscoveryKind::Pattern => "pattern",
            DiscoveryKind::Rule => "rule",
            DiscoveryKind::Decision => "decision",
            DiscoveryKind::Issue => "issue",
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct RecordedDiscovery {
    /// The id for `supersedes` of a successor.
    id: String,
    /// By the server's clock, RFC 3339 in UTC.
    created_at: String,
}

impl Tool for RecordDiscovery {
    const NAME: &'static str = "record_discovery";
    const TITLE: &'static str = "Record a discovery";
    const DESCRIPTION: &'static str = "Record a pattern, rule, decision or issue of the project, so \
        that later searches find it. It can't be changed, but a later one can supersede it. For a \
        log of what was done, use write_memory_entry.";
    const FAMILY: &'static str = "memory";
    const SCOPE: Scope = Scope::MemoryWrite;
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 2;
    const ONCE: bool = true;
    const UNTRUSTED: bool = false;
    type Args = RecordDiscoveryArgs;
    type Output = RecordedDiscovery;

    async fn run(
        cx: &ToolContext,
        args: RecordDiscoveryArgs,
    ) -> Result<Reply<RecordedDiscovery>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let paths = match args.paths.as_deref() {
            None | Some([]) => Vec::new(),
            Some(paths) => {
                let rules = cx.rules(std::slice::from_ref(&project)).await?;
                normalized_paths(rules.first().unwrap_or(&project.rules), paths)?
            }
        };
        let discovery = NewDiscovery {
            project: project.id,
            kind: args.kind.name(),
            content: storable_text("content", args.content)?,
            module: args
                .module
                .map(|it| storable_text("module", it))
                .transpose()?,
            paths,
            supersedes: args.supersedes.as_deref().map(parse_id).transpose()?,
        };
        let store = cx.store();
        let recording = store.record_discovery(cx.author(), &discovery);
        let recorded = write_by(cx.cancel().deadline, recording).await?;
        cx.project_changed(&project);
        let reply = Reply::new(RecordedDiscovery {
            id: recorded.id.to_string(),
            created_at: rfc3339(recorded.created_at),
        });
        Ok(reply.of_memory(&project.slug))
    }
}

/// Returns the paths in normalized spelling, if the project's readers may read all of them. Names
/// alone decide, so that the answer does not reveal whether the files exist.
fn normalized_paths(rules: &Arc<Rules>, paths: &[String]) -> Result<Vec<String>, Failure> {
    let admit = |path: &String| {
        let path = RepoPath::parse(path)?;
        rules.admit(&path, &path, Kind::File)?;
        rules.admit(&path, &path, Kind::Directory)?;
        Ok(path.display())
    };
    paths.iter().map(admit).collect()
}

/// A text that is not blank and can be stored.
fn storable_text(argument: &'static str, text: String) -> Result<String, Failure> {
    let problem = if text.trim().is_empty() {
        "says nothing"
    } else if text.contains('\0') {
        "has a character U+0000 in it"
    } else {
        return Ok(text);
    };
    Err(Failure::new(
        Fault::InvalidArguments,
        format!("{argument} {problem}"),
        "give a text that is understood by itself",
    ))
}

/// Parses an id. A malformed one gets the same failure as the id of another project's discovery.
fn parse_id(id: &str) -> Result<Uuid, Failure> {
    id.parse()
        .map_err(|_error| WriteError::UnknownDiscovery.into())
}
