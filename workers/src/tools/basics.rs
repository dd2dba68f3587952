//! The family `basics`: check the connection, and list projects.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::Head;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Reply, Tool, ToolContext, paging, schema::is_false};
use crate::context::moment;
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
    /// The cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectList {
    projects: Vec<ListedProject>,
    /// Projects on all pages.
    total_count: usize,
    /// Another page follows.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Projects on a page of `list_projects`.
const PAGE: usize = 50;
/// Bytes of a page: about 2,000 tokens.
const PAGE_BYTES: usize = 8_000;
/// The cursor of a page is this and the last slug of the page before.
const AFTER: &str = ">";

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
    /// When the mirror of a remote repository was last fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    synced_at: Option<String>,
    /// Why a mirror is not as its remote is: absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

impl ListedProject {
    /// `counts` are the indexed texts of the project and all of them.
    fn new(
        project: &Project,
        head: Option<Head>,
        counts: Option<(i64, i64)>,
        default: Option<&str>,
    ) -> ListedProject {
        let mirror = project.mirror.as_ref();
        ListedProject {
            default: default == Some(&project.slug),
            commit: head.map(|head| HeadCommit {
                id: head.commit,
                dirty: head.dirty,
            }),
            synced_at: mirror.and_then(|mirror| mirror.fetched_at).map(moment),
            state: mirror
                .map(|mirror| mirror.state.clone())
                .filter(|state| state != "ok"),
            indexed: counts.map(|(indexed, total)| IndexedTexts { indexed, total }),
            slug: project.slug.clone(),
            name: project.name.clone(),
        }
    }
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
        let mut listed: Vec<_> = readable.into_iter().filter(matches).collect();
        let total_count = listed.len();
        listed.sort_by(|one, other| one.slug.cmp(&other.slug));
        if let Some(cursor) = &args.cursor {
            let last = cursor.strip_prefix(AFTER).ok_or_else(paging::other_state)?;
            listed.retain(|project| *project.slug > *last);
        }
        let left = listed.len();
        listed.truncate(PAGE);
        let heads = cx.heads(&listed).await?;
        let ids: Vec<Uuid> = listed.iter().map(|project| project.id).collect();
        let indexes = cx.index().last_known_rows(cx.tenant(), &ids).await;
        let entry = |(project, head): (Arc<Project>, Option<Head>)| {
            let counts = indexes.get(&project.id).map(|row| (row.done, row.total));
            ListedProject::new(&project, head, counts, default.as_deref())
        };
        let mut projects: Vec<_> = listed.into_iter().zip(heads).map(entry).collect();
        projects.truncate(paging::fit(
            &projects,
            PAGE_BYTES.min(cx.max_result_bytes()),
        ));
        let truncated = projects.len() < left;
        let last = projects.last().filter(|_| truncated);
        let next = last.map(|last| format!("{AFTER}{}", last.slug));
        let list = ProjectList {
            projects,
            total_count,
            truncated,
            cursor: None,
        };
        Ok(Reply::new(list).cursor(next))
    }
}
