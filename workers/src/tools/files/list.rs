//! `list_files`: the entries of a folder, in pages.
//!
//! Folders are not stored. A folder is listed when a listable path beneath it is found, so an empty
//! or wholly ignored folder is not shown.

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Entry, EntryKind, Glob, Listing, Repo, RepoError, RepoPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::near;
use crate::tools::{Reply, Tool, ToolContext, paging};

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
    /// How many levels below the directory.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 10))]
    max_depth: usize,
    /// Also names that begin with a dot.
    #[serde(default)]
    include_hidden: bool,
    /// The cursor of the previous page.
    cursor: Option<String>,
}

fn root() -> String {
    ".".to_owned()
}

fn default_depth() -> usize {
    3
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct FileList {
    files: Vec<ListedEntry>,
    /// Matching entries, on this page and all others.
    total_count: usize,
    truncated: bool,
    /// Where the next page begins.
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
                let view = View {
                    requested: &requested,
                    directory: &directory,
                    pattern: pattern.as_ref(),
                    max_depth: args.max_depth,
                    include_hidden: args.include_hidden,
                };
                let found = view.entries(&*repo.listing(cancel)?);
                let page = found.get(skip..).unwrap_or_default();
                let page = page.get(..MAX_ENTRIES).unwrap_or(page);
                let mut files = listed(page, repo, cancel)?;
                // At least one entry, or the cursor would not advance.
                files.truncate(paging::fit(&files, budget).max(1));
                let returned = skip + files.len();
                Ok((files, found.len(), returned, basis))
            })
            .await?;
        let (_, total_count, returned, basis) = &snapshot.value;
        let truncated = returned < total_count;
        let next = truncated.then(|| paging::cursor(basis, *returned));
        Ok(
            Reply::from_snapshot(snapshot, |(files, total_count, ..)| FileList {
                files,
                total_count,
                truncated,
                cursor: None,
            })
            .cursor(next),
        )
    }
}

/// The directory that a requested one resolves to.
fn directory(repo: &Repo, requested: &RepoPath, cancel: &Cancel) -> Result<RepoPath, Failure> {
    repo.directory(requested).map_err(|error| {
        let is_missing = matches!(error, RepoError::DirectoryNotFound { .. });
        let failure = Failure::from(error);
        match is_missing {
            true => near::suggest(failure, near::folders(repo, requested, cancel)),
            false => failure,
        }
    })
}

/// The requested part of a listing.
struct View<'a> {
    /// The requested directory. Paths in the answer keep this name.
    requested: &'a RepoPath,
    /// The directory it resolves to.
    directory: &'a RepoPath,
    pattern: Option<&'a Glob>,
    max_depth: usize,
    include_hidden: bool,
}

/// An entry of the answer, before its size and time are read.
struct MatchedEntry {
    shown: RepoPath,
    source: Source,
}

/// The source of an entry.
enum Source {
    /// A folder, which the listing does not contain.
    Folder(RepoPath),
    Listed(Entry),
}

impl View<'_> {
    /// All matching entries in path order, each folder before its content.
    fn entries(&self, listing: &Listing) -> Vec<MatchedEntry> {
        let mut found = Vec::new();
        // The folders of the previous entry. Only folders that differ from them are new.
        let mut open_folders: Vec<&[u8]> = Vec::new();
        let root_depth = self.directory.components().count();
        for entry in listing.beneath(self.directory) {
            let names: Vec<&[u8]> = entry.path.components().skip(root_depth).collect();
            let hidden = names.iter().any(|name| name.starts_with(b"."));
            let Some((_, folders)) = names
                .split_last()
                .filter(|_| self.include_hidden || !hidden)
            else {
                continue;
            };
            if self.pattern.is_none() {
                let common = open_folders
                    .iter()
                    .zip(folders)
                    .take_while(|(a, b)| a == b)
                    .count();
                for depth in common + 1..=folders.len().min(self.max_depth) {
                    let names = folders.get(..depth).unwrap_or_default();
                    found.push(MatchedEntry {
                        shown: self.shown(names),
                        source: Source::Folder(self.directory.join(&names.join(&b'/'))),
                    });
                }
                open_folders = folders.to_vec();
            }
            let shown = self.shown(&names);
            if names.len() <= self.max_depth && self.matches(entry, &shown) {
                found.push(MatchedEntry {
                    shown,
                    source: Source::Listed(entry.clone()),
                });
            }
        }
        found
    }

    fn shown(&self, names: &[&[u8]]) -> RepoPath {
        self.requested.join(&names.join(&b'/'))
    }

    fn matches(&self, entry: &Entry, shown: &RepoPath) -> bool {
        let is_file = entry.kind != EntryKind::LinkToDirectory;
        self.pattern
            .is_none_or(|pattern| is_file && pattern.matches(shown))
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
        }
    }
    let mut stats = repo.stats(&entries, cancel)?.into_iter();
    let mut times = repo.folder_times(&folders, cancel)?.into_iter();
    let listed = page.iter().map(|found| {
        let (stat, time) = match found.source {
            Source::Listed(_) => {
                let stat = stats.next().flatten();
                (stat, stat.map(|stat| stat.modified))
            }
            Source::Folder(_) => (None, times.next().flatten()),
        };
        let kind = match &found.source {
            Source::Listed(entry) if entry.kind != EntryKind::LinkToDirectory => ListedKind::File,
            Source::Listed(_) | Source::Folder(_) => ListedKind::Directory,
        };
        let is_file = kind == ListedKind::File;
        ListedEntry {
            path: found.shown.display(),
            kind,
            size: stat.filter(|_| is_file).map(|stat| stat.size),
            modified_at: time.map(archway_repo::rfc3339),
        }
    });
    Ok(listed.collect())
}
