//! `list_files`: the entries of a folder, in pages.
//!
//! Folders are not stored. A folder is listed when a listable path beneath it is found, so an empty
//! or wholly ignored folder is not shown. A submodule is a folder that says so.

mod view;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, EntryKind, Glob, Listing, Repo, RepoError, RepoPath, Submodule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::view::{MatchedEntry, Source, View};
use super::near;
use crate::tools::{Reply, Tool, ToolContext, paging, schema::is_false};

/// Maximum number of entries on a page.
const MAX_ENTRIES: usize = 500;

/// Lists the files and folders below a folder.
pub(in crate::tools) struct ListFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ListFilesArgs {
    /// Directory path relative to the project root.
    #[serde(default = "root")]
    #[schemars(length(min = 1, max = 4096))]
    directory: String,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Glob of files to list, e.g. "*.ts" or "src/**/*.rs"; folders are then left out.
    #[schemars(length(min = 1, max = 512))]
    pattern: Option<String>,
    /// How many levels below the directory. Without it a pattern is looked for in all of them, and without a
    /// pattern up to 3 levels are listed, as many as fit.
    #[schemars(range(min = 1, max = 10))]
    max_depth: Option<usize>,
    /// Also names that begin with a dot.
    #[serde(default)]
    include_hidden: bool,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn root() -> String {
    ".".to_owned()
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct FileList {
    files: Vec<ListedEntry>,
    /// Matching entries, on this page and all others.
    total_count: usize,
    truncated: bool,
    /// There is more below the last level.
    #[serde(default, skip_serializing_if = "is_false")]
    depth_limited: bool,
    /// How many folders of the last level have more in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    folders_not_opened: Option<usize>,
    /// What to do next, if there is nothing. The schema has no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ListedEntry {
    path: String,
    #[serde(rename = "type")]
    kind: ListedKind,
    /// In bytes; files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_at: Option<String>,
    /// Files beneath a folder of the last level.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_beneath: Option<usize>,
    /// A submodule's commit. Its files are not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    submodule: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ListedKind {
    File,
    Directory,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const TITLE: &'static str = "List files";
    const DESCRIPTION: &'static str = "List files and folders below a directory, with sizes and \
        times; ignored and secret files are left out. For the shape of a whole repository use \
        get_repo_overview.";
    const FAMILY: &'static str = "files";
    const PER_MINUTE: Option<u32> = Some(100);
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("max_depth", 0)];
    const UNTRUSTED: bool = true;
    type Args = ListFilesArgs;
    type Output = FileList;

    async fn run(cx: &ToolContext, args: ListFilesArgs) -> Result<Reply<FileList>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (cursor, budget) = (args.cursor.clone(), cx.max_result_bytes());
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let requested = RepoPath::parse(&args.directory)?;
                let directory = directory(repo, &requested, cancel)?;
                let pattern = args.pattern.as_deref().map(Glob::parse).transpose()?;
                let basis = paging::basis(repo.head().as_ref());
                let skip = paging::resume(cursor.as_deref(), &basis)?;
                let listing = repo.listing(cancel)?;
                let submodules = submodules(repo, &directory, &listing, cancel)?;
                let view = View {
                    requested: &requested,
                    directory: &directory,
                    pattern: pattern.as_ref(),
                    submodules: &submodules,
                    include_hidden: args.include_hidden,
                };
                let found = view.found(&listing, args.max_depth, budget);
                let page = found.entries.get(skip..).unwrap_or_default();
                let page = page.get(..MAX_ENTRIES).unwrap_or(page);
                let mut files = listed(page, repo, cancel)?;
                // At least one entry, or the cursor would not advance.
                files.truncate(paging::fit(&files, budget).max(1));
                Ok(Page {
                    returned: skip + files.len(),
                    files,
                    total_count: found.entries.len(),
                    not_opened: found.not_opened,
                    message: found.entries.is_empty().then(|| nothing_listed(&args)),
                    basis,
                })
            })
            .await?;
        let page = &snapshot.value;
        let truncated = page.returned < page.total_count;
        let next = truncated.then(|| paging::cursor(&page.basis, page.returned));
        Ok(Reply::from_snapshot(snapshot, |page| FileList {
            files: page.files,
            total_count: page.total_count,
            truncated,
            depth_limited: page.not_opened > 0,
            folders_not_opened: (page.not_opened > 0).then_some(page.not_opened),
            message: page.message,
            cursor: None,
        })
        .cursor(next))
    }
}

/// One page, and what it is a part of.
struct Page {
    files: Vec<ListedEntry>,
    total_count: usize,
    not_opened: usize,
    message: Option<&'static str>,
    /// Entries of this page and of those before.
    returned: usize,
    basis: String,
}

/// What to do if there is nothing to list.
fn nothing_listed(args: &ListFilesArgs) -> &'static str {
    match (&args.pattern, args.max_depth, args.include_hidden) {
        (Some(_), Some(_), _) => "no file fits pattern: leave out max_depth, or try *name*",
        (Some(_), None, false) => "no file fits pattern: try *name*, or include_hidden",
        (Some(_), None, true) => "no file fits pattern: try *name*, or another directory",
        (None, _, false) => "there is nothing to list: try include_hidden",
        (None, _, true) => "there is nothing to list: try another directory",
    }
}

/// The directory that a requested one resolves to.
fn directory(repo: &Repo, requested: &RepoPath, cancel: &Cancel) -> Result<RepoPath, Failure> {
    repo.directory(requested).map_err(|error| {
        if !matches!(error, RepoError::DirectoryNotFound { .. }) {
            return error.into();
        }
        if let Some(submodule) = repo.submodule(requested) {
            return not_here(submodule);
        }
        if repo.open(requested).is_ok() {
            return Failure {
                suggestion: "it is a file: call read_file, or list its folder".to_owned(),
                ..error.into()
            };
        }
        near::suggest(error.into(), near::folders(repo, requested, cancel))
    })
}

/// The project's submodules, unless the directory is one of them.
fn submodules(
    repo: &Repo,
    directory: &RepoPath,
    listing: &Listing,
    cancel: &Cancel,
) -> Result<Vec<Submodule>, Failure> {
    if listing.beneath(directory).is_empty()
        && let Some(submodule) = repo.submodule(directory)
    {
        return Err(not_here(submodule));
    }
    Ok(repo.submodules(listing, cancel)?)
}

/// The failure for a folder that is a submodule, or would be in one.
fn not_here(submodule: Submodule) -> Failure {
    Failure {
        code: Fault::DirectoryNotFound,
        ..submodule.into()
    }
}

/// The entries of a page, with sizes and times.
fn listed(
    page: &[MatchedEntry],
    repo: &Repo,
    cancel: &Cancel,
) -> Result<Vec<ListedEntry>, Failure> {
    let (mut entries, mut folders) = (Vec::new(), Vec::new());
    for found in page {
        match &found.source {
            Source::Listed(entry) => entries.push(entry.clone()),
            Source::Folder(path) => folders.push(path.clone()),
            Source::Submodule(submodule) => folders.push(submodule.path.clone()),
        }
    }
    let mut stats = repo.stats(&entries, cancel)?.into_iter();
    let mut times = repo.folder_times(&folders, cancel)?.into_iter();
    let listed = page.iter().map(|found| {
        let (stat, time) = match &found.source {
            Source::Listed(_) => {
                let stat = stats.next().flatten();
                (stat, stat.map(|stat| stat.modified))
            }
            Source::Folder(_) | Source::Submodule(_) => (None, times.next().flatten()),
        };
        let (kind, submodule) = match &found.source {
            Source::Listed(entry) if entry.kind != EntryKind::LinkToDirectory => {
                (ListedKind::File, None)
            }
            Source::Listed(_) | Source::Folder(_) => (ListedKind::Directory, None),
            Source::Submodule(it) => (ListedKind::Directory, Some(it.commit.clone())),
        };
        let is_file = kind == ListedKind::File;
        ListedEntry {
            path: found.shown.display(),
            kind,
            size: stat.filter(|_| is_file).map(|stat| stat.size),
            modified_at: time.map(archway_repo::rfc3339),
            files_beneath: (found.beneath > 0).then_some(found.beneath),
            submodule,
        }
    });
    Ok(listed.collect())
}
