//! `list_files`: the entries of a folder, a page at a time.
//!
//! Folders are not stored: one is listed where the first listable path beneath it stands, so an
//! empty or wholly ignored folder is not shown.

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Entry, EntryKind, Glob, Listing, Repo, RepoPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::{Reply, Tool, ToolContext, paging};

/// The most entries of one page.
const PAGE: usize = 500;

/// The files and folders below one folder.
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
    /// Where to go on: the cursor of the page before.
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
    /// Entries that fit, on this page and all others.
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
                let asked = RepoPath::parse(&args.directory)?;
                let directory = repo.directory(&asked)?;
                let pattern = args.pattern.as_deref().map(Glob::parse).transpose()?;
                let basis = paging::basis(repo.head().as_ref());
                let skip = paging::resume(cursor.as_deref(), &basis)?;
                let view = View {
                    asked: &asked,
                    directory: &directory,
                    pattern: pattern.as_ref(),
                    max_depth: args.max_depth,
                    include_hidden: args.include_hidden,
                };
                let found = view.entries(&*repo.listing(cancel)?);
                let page = found.get(skip..).unwrap_or_default();
                let page = page.get(..PAGE).unwrap_or(page);
                let mut files = listed(page, repo, cancel)?;
                // One entry at least, or the cursor would stand still.
                files.truncate(paging::fit(&files, budget).max(1));
                let given = skip + files.len();
                Ok((files, found.len(), given, basis))
            })
            .await?;
        let (_, total_count, given, basis) = &snapshot.value;
        let truncated = given < total_count;
        let next = truncated.then(|| paging::cursor(basis, *given));
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

/// What of a listing is asked for.
struct View<'a> {
    /// The directory as it was asked for: paths keep its name.
    asked: &'a RepoPath,
    /// The directory it resolves to.
    directory: &'a RepoPath,
    pattern: Option<&'a Glob>,
    max_depth: usize,
    include_hidden: bool,
}

/// An entry of the answer, before its size and time are looked up.
struct Found {
    shown: RepoPath,
    at: At,
}

/// Where an entry is.
enum At {
    /// A folder, which no listing has.
    Folder(RepoPath),
    Listed(Entry),
}

impl View<'_> {
    /// All entries that fit, in path order, a folder before what it holds.
    fn entries(&self, listing: &Listing) -> Vec<Found> {
        let mut found = Vec::new();
        // The folders that lead to the last entry: what is new of the next one's was not listed.
        let mut trail: Vec<&[u8]> = Vec::new();
        let above = self.directory.components().count();
        for entry in listing.beneath(self.directory) {
            let names: Vec<&[u8]> = entry.path.components().skip(above).collect();
            let hidden = names.iter().any(|name| name.starts_with(b"."));
            let Some((_, folders)) = names
                .split_last()
                .filter(|_| self.include_hidden || !hidden)
            else {
                continue;
            };
            if self.pattern.is_none() {
                let known = trail
                    .iter()
                    .zip(folders)
                    .take_while(|(a, b)| a == b)
                    .count();
                for depth in known + 1..=folders.len().min(self.max_depth) {
                    let names = folders.get(..depth).unwrap_or_default();
                    found.push(Found {
                        shown: self.shown(names),
                        at: At::Folder(self.directory.join(&names.join(&b'/'))),
                    });
                }
                trail = folders.to_vec();
            }
            let shown = self.shown(&names);
            if names.len() <= self.max_depth && self.fits(entry, &shown) {
                found.push(Found {
                    shown,
                    at: At::Listed(entry.clone()),
                });
            }
        }
        found
    }

    fn shown(&self, names: &[&[u8]]) -> RepoPath {
        self.asked.join(&names.join(&b'/'))
    }

    fn fits(&self, entry: &Entry, shown: &RepoPath) -> bool {
        let is_file = entry.kind != EntryKind::LinkToDirectory;
        self.pattern
            .is_none_or(|pattern| is_file && pattern.matches(shown))
    }
}

/// The entries of a page, with sizes and times.
fn listed(page: &[Found], repo: &Repo, cancel: &Cancel) -> Result<Vec<ListedEntry>, Failure> {
    let (mut entries, mut folders) = (Vec::new(), Vec::new());
    for found in page {
        match &found.at {
            At::Listed(entry) => entries.push(entry.clone()),
            At::Folder(path) => folders.push(path.clone()),
        }
    }
    let mut stats = repo.stats(&entries, cancel)?.into_iter();
    let mut times = repo.folder_times(&folders, cancel)?.into_iter();
    let listed = page.iter().map(|found| {
        let (stat, time) = match found.at {
            At::Listed(_) => {
                let stat = stats.next().flatten();
                (stat, stat.map(|stat| stat.modified))
            }
            At::Folder(_) => (None, times.next().flatten()),
        };
        let kind = match &found.at {
            At::Listed(entry) if entry.kind != EntryKind::LinkToDirectory => ListedKind::File,
            At::Listed(_) | At::Folder(_) => ListedKind::Directory,
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
