//! `list_projects`: the projects that the caller may name in `project`.

use std::cmp::Reverse;
use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::Head;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Reply, Tool, ToolContext, paging, schema::is_false};
use crate::context::moment;
use crate::projects::Project;

/// Lists the projects that the caller may name in `project`.
pub(super) struct ListProjects;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListProjectsArgs {
    /// Only projects whose slug, name, description or topic contains this, ignoring case.
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// `name`, or `recent`: what changed last comes first, as far as that is known.
    #[serde(default)]
    sort: Sort,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Name,
    Recent,
}

/// Topics of a project that are listed.
const MAX_TOPICS: usize = 10;

#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectList {
    projects: Vec<ListedProject>,
    /// Projects on all pages.
    total_count: usize,
    /// Another page follows.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// What to do next, if there is none. The schema has no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Projects on a page of `list_projects`.
const PAGE: usize = 50;
/// Bytes of a page: about 2,000 tokens.
const PAGE_BYTES: usize = 8_000;
/// The cursor of a page is this and the last project of the page before.
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
    /// As the repository's host has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    topics: Vec<String>,
    /// When the mirror of a remote repository was last fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    synced_at: Option<String>,
    /// Why a mirror is not as its remote is.
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
        let hosted = project.hosted.clone();
        ListedProject {
            description: hosted.description,
            default_branch: hosted.default_branch,
            topics: hosted.topics.into_iter().take(MAX_TOPICS).collect(),
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
        let is_found = |project: &Arc<Project>| {
            let query = query.as_ref();
            query.is_none_or(|query| contains(project, query))
        };
        let found = readable.into_iter().filter(is_found);
        let mut found: Vec<_> = found.map(|it| (args.sort.key(&it), it)).collect();
        let total_count = found.len();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(cursor) = &args.cursor {
            let last = cursor
                .strip_prefix(AFTER)
                .and_then(|it| args.sort.parse(it));
            let (changed, slug) = last.ok_or_else(paging::other_state)?;
            let slugs = found.iter().map(|(_, project)| project.slug.as_str());
            let last = (changed, paging::whole_name(&slug, slugs));
            found.retain(|(key, _)| *key > last);
        }
        let left = found.len();
        found.truncate(PAGE);
        let (keys, listed): (Vec<SortKey>, Vec<_>) = found.into_iter().unzip();
        let heads = cx.heads(&listed).await?;
        let ids: Vec<Uuid> = listed.iter().map(|project| project.id).collect();
        let indexes = cx.index().last_known_rows(cx.tenant(), &ids).await;
        let entry = |(project, head): (Arc<Project>, Option<Head>)| {
            let counts = indexes.get(&project.id).map(|row| (row.done, row.total));
            ListedProject::new(&project, head, counts, default.as_deref())
        };
        let mut projects: Vec<_> = listed.into_iter().zip(heads).map(entry).collect();
        let room = PAGE_BYTES.min(cx.max_result_bytes());
        projects.truncate(paging::fit(&projects, room));
        let truncated = projects.len() < left;
        let last = projects.len().checked_sub(1).filter(|_| truncated);
        let last = last.and_then(|index| keys.get(index));
        let next = last
            .map(|(changed, slug)| format!("{AFTER}{}:{}", changed.0, paging::short_name(slug)));
        let list = ProjectList {
            projects,
            total_count,
            truncated,
            message: (total_count == 0).then(|| none_listed(query.is_some())),
            cursor: None,
        };
        Ok(Reply::new(list).cursor(next))
    }
}

/// What to do if there is no project to list.
fn none_listed(is_searched: bool) -> &'static str {
    match is_searched {
        true => {
            "no project of yours has this in its slug, name, description or topics: leave out query"
        }
        false => "there is no project that you may read: ask the operator for access to one",
    }
}

/// What decides the place of a project: when it last changed, the latest first, then its slug.
type SortKey = (Reverse<i64>, String);

impl Sort {
    fn key(self, project: &Project) -> SortKey {
        let changed_at = || project.mirror.as_ref()?.changed_at;
        let changed = match self {
            Sort::Name => 0,
            Sort::Recent => changed_at().unwrap_or(0),
        };
        (Reverse(changed), project.slug.clone())
    }

    /// The key of a cursor of this order, with a [short](paging::short_name) slug.
    fn parse(self, text: &str) -> Option<SortKey> {
        let (changed, slug) = text.split_once(':')?;
        Some((Reverse(changed.parse().ok()?), slug.to_owned()))
    }
}

/// Whether a project's words contain `query`, which is in lower case.
fn contains(project: &Project, query: &str) -> bool {
    let contains = |text: &str| text.to_lowercase().contains(query);
    let hosted = &project.hosted;
    contains(&project.slug)
        || contains(&project.name)
        || hosted.description.as_deref().is_some_and(contains)
        || hosted.topics.iter().any(|topic| contains(topic))
}
