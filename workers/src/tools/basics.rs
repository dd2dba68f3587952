//! The family `basics`: check the connection, and list projects.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::Head;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Reply, Tool, ToolContext, paging, schema::is_false};
use crate::projects::Project;

/// Answers with a greeting, so that a client knows its connection works.
pub(super) struct Hello;

/// The empty arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HelloArgs {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Greeting {
    message: &'static str,
    /// The server's clock, RFC 3339 in UTC.
    timestamp: String,
}

impl Tool for Hello {
    const NAME: &'static str = "hello";
    const TITLE: &'static str = "Hello";
    const DESCRIPTION: &'static str =
        "Check that the connection works. Returns a greeting and the server's time.";
    const FAMILY: &'static str = "basics";
    const PER_MINUTE: Option<u32> = Some(100);
    const UNTRUSTED: bool = false;
    type Args = HelloArgs;
    type Output = Greeting;

    async fn run(_cx: &ToolContext, _args: HelloArgs) -> Result<Reply<Greeting>, Failure> {
        let timestamp = format!("{:.3}", jiff::Timestamp::now());
        Ok(Reply::new(Greeting {
            message: "Hello from Archway!",
            timestamp,
        }))
    }
}

/// Lists the projects that the caller may name in `project`.
pub(super) struct ListProjects;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListProjectsArgs {
    /// Only projects whose slug or name contains this, ignoring case.
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectList {
    projects: Vec<ListedProject>,
    total_count: usize,
    /// Not all fit: narrow them with query.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct ListedProject {
    /// What to pass as `project`.
    slug: String,
    name: String,
    /// Whether calls without `project` mean this one.
    default: bool,
    /// HEAD; null without git.
    commit: Option<HeadCommit>,
    /// Null without an index.
    indexed: Option<IndexedTexts>,
}

#[derive(Serialize, JsonSchema)]
struct HeadCommit {
    id: String,
    /// Whether the work tree differs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty: Option<bool>,
}

/// In texts: files of one content are one.
#[derive(Serialize, JsonSchema)]
struct IndexedTexts {
    indexed: i64,
    total: i64,
}

impl Tool for ListProjects {
    const NAME: &'static str = "list_projects";
    const TITLE: &'static str = "List projects";
    const DESCRIPTION: &'static str = "List the repositories you may read. Call it first when \
        another tool answers project_required or project_not_found.";
    const FAMILY: &'static str = "basics";
    const PER_MINUTE: Option<u32> = None;
    // Operators choose the names; in `archway dev` they are names of folders.
    const UNTRUSTED: bool = true;
    type Args = ListProjectsArgs;
    type Output = ProjectList;

    async fn run(cx: &ToolContext, args: ListProjectsArgs) -> Result<Reply<ProjectList>, Failure> {
        let readable = cx.projects().await?;
        let default = cx
            .default_project(&readable)
            .map(|project| project.slug.clone());
        let query = args.query.map(|query| query.to_lowercase());
        let matches = |project: &Arc<Project>| {
            query.as_ref().is_none_or(|query| {
                project.slug.contains(query) || project.name.to_lowercase().contains(query)
            })
        };
        let listed: Vec<_> = readable.into_iter().filter(matches).collect();
        let heads = cx.heads(&listed).await?;
        let ids: Vec<Uuid> = listed.iter().map(|project| project.id).collect();
        let indexes = cx.index().progress(cx.tenant(), &ids).await;
        let total_count = listed.len();
        let entry = |(project, head): (Arc<Project>, Option<Head>)| ListedProject {
            default: default.as_deref() == Some(&project.slug),
            commit: head.map(|head| HeadCommit {
                id: head.commit,
                dirty: head.dirty,
            }),
            indexed: indexes
                .get(&project.id)
                .map(|&(indexed, total)| IndexedTexts { indexed, total }),
            slug: project.slug.clone(),
            name: project.name.clone(),
        };
        let mut projects: Vec<_> = listed.into_iter().zip(heads).map(entry).collect();
        projects.truncate(paging::fit(&projects, cx.max_result_bytes()));
        let truncated = projects.len() < total_count;
        Ok(Reply::new(ProjectList {
            projects,
            total_count,
            truncated,
        }))
    }
}
