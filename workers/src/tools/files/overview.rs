//! `get_repo_overview`: the tree of a repository, limited to the requested depth and to what fits.

use std::collections::{BTreeMap, BTreeSet};

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Entry, EntryKind, Repo, RepoPath, Stat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::describe;
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, schema::is_false};

/// Folders that the repo contract leaves out.
const EXCLUDED: [&[u8]; 9] = [
    b"node_modules",
    b".git",
    b".next",
    b"dist",
    b"build",
    b"__pycache__",
    b".cache",
    b"coverage",
    b".nyc_output",
];
/// The size of everything besides the tree, in bytes.
const STATS_BYTES: usize = 2_000;
/// Maximum number of languages in the statistics.
const MAX_LANGUAGES: usize = 15;

/// Returns the tree of a repository, with statistics.
pub(in crate::tools) struct GetRepoOverview;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct OverviewArgs {
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// How many levels of the tree.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 5))]
    max_depth: usize,
    /// Also counts and languages.
    #[serde(default = "default_true")]
    include_stats: bool,
}

fn default_depth() -> usize {
    2
}

fn default_true() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Overview {
    root: String,
    structure: Node,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
    /// The tree was too large and lost its deepest levels, or files of its first one.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// The remaining levels, if truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
}

/// A file or folder.
#[derive(Serialize, JsonSchema)]
struct Node {
    name: String,
    /// file or directory.
    #[serde(rename = "type")]
    kind: &'static str,
    /// In bytes; files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Absent at the depth limit, and for files.
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

#[derive(Default, Serialize, JsonSchema)]
struct Stats {
    total_files: u64,
    total_directories: u64,
    /// In bytes.
    total_size: u64,
    /// The 15 largest by bytes.
    languages: Vec<Language>,
}

#[derive(Serialize, JsonSchema)]
struct Language {
    /// With its dot, in lower case.
    extension: String,
    count: u64,
    bytes: u64,
}

impl Tool for GetRepoOverview {
    const NAME: &'static str = "get_repo_overview";
    const TITLE: &'static str = "Repository overview";
    const DESCRIPTION: &'static str = "See the shape of a repository: its folders and files to a \
        depth, how many, how large, in which languages. The first call on unknown code.";
    const FAMILY: &'static str = "files";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("max_depth", 2)];
    const UNTRUSTED: bool = true;
    type Args = OverviewArgs;
    type Output = Overview;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: OverviewArgs) -> Result<Reply<Overview>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (root, budget) = (project.slug.clone(), cx.max_result_bytes());
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let files = files(repo, cancel)?;
                let room = budget.saturating_sub(STATS_BYTES);
                let (structure, depth, is_cut) = fitting_tree(&root, &files, args.max_depth, room);
                let truncated = is_cut || depth < args.max_depth;
                Ok(Overview {
                    root: root.clone(),
                    structure,
                    stats: args.include_stats.then(|| stats(&files)),
                    truncated,
                    depth: truncated.then_some(depth),
                })
            })
            .await?;
        Ok(Reply::from_snapshot(snapshot, |overview| overview))
    }
}

/// A file of the overview.
struct OverviewFile {
    path: RepoPath,
    kind: EntryKind,
    size: u64,
}

/// The entries and submodules that `list_files` shows by default, without the contract's exclusions.
fn files(repo: &Repo, cancel: &Cancel) -> Result<Vec<OverviewFile>, Failure> {
    let is_hidden = |name: &[u8]| name.starts_with(b".") || EXCLUDED.contains(&name);
    let listing = repo.listing(cancel)?;
    let entries: Vec<Entry> = listing
        .entries
        .iter()
        .filter(|entry| !entry.path.components().any(is_hidden))
        .cloned()
        .collect();
    let mut submodules = repo.submodules(&listing, cancel)?;
    submodules.retain(|it| !it.path.components().any(is_hidden));
    let stats = repo.stats(&entries, cancel)?;
    let file = |(entry, stat): (Entry, Option<Stat>)| OverviewFile {
        path: entry.path,
        kind: entry.kind,
        size: stat.map_or(0, |stat| stat.size),
    };
    let mut files: Vec<OverviewFile> = entries.into_iter().zip(stats).map(file).collect();
    if submodules.is_empty() {
        return Ok(files);
    }
    // Shown as a folder that is not opened, as a link to one is.
    files.extend(submodules.into_iter().map(|submodule| OverviewFile {
        path: submodule.path,
        kind: EntryKind::LinkToDirectory,
        size: 0,
    }));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The deepest tree of at most `max_depth` levels that fits into `budget` bytes, its levels, and whether files of the
/// first level were left out to show at least that one.
fn fitting_tree(
    root: &str,
    files: &[OverviewFile],
    max_depth: usize,
    budget: usize,
) -> (Node, usize, bool) {
    let size = |tree: &Node| serde_json::to_string(tree).map_or(usize::MAX, |text| text.len());
    let mut depth = max_depth;
    loop {
        let mut tree = tree(root, files, depth);
        if depth == 0 || size(&tree) < budget {
            return (tree, depth, false);
        }
        if let (1, Some(children)) = (depth, &mut tree.children) {
            let is_folder = |node: &Node| node.kind == "directory";
            let folders = children.iter().filter(|node| is_folder(node));
            let mut left = budget.saturating_sub(folders.map(|node| size(node) + 1).sum());
            children.retain(|node| {
                let rest = left.checked_sub(size(node) + 1);
                left = rest.filter(|_| !is_folder(node)).unwrap_or(left);
                is_folder(node) || rest.is_some()
            });
            if size(&tree) < budget {
                return (tree, depth, true);
            }
        }
        depth -= 1;
    }
}

fn tree(root: &str, files: &[OverviewFile], depth: usize) -> Node {
    let mut top = Node {
        name: root.to_owned(),
        kind: "directory",
        size: None,
        children: (depth > 0).then(Vec::new),
    };
    for file in files {
        let names: Vec<&[u8]> = file.path.components().collect();
        insert(&mut top, &names, file, depth);
    }
    top
}

/// Adds a file to the tree. Files come in path order, so an open folder is the last child.
fn insert(node: &mut Node, names: &[&[u8]], file: &OverviewFile, depth: usize) {
    let (Some(children), Some((name, rest))) = (&mut node.children, names.split_first()) else {
        return;
    };
    let name = RepoPath::trusted(name).display();
    let is_open = |last: &Node| last.name == name && last.kind == "directory";
    if !rest.is_empty() {
        if !children.last().is_some_and(is_open) {
            let children_of = (depth > 1).then(Vec::new);
            children.push(Node {
                name,
                kind: "directory",
                size: None,
                children: children_of,
            });
        }
        if let Some(folder) = children.last_mut() {
            insert(folder, rest, file, depth - 1);
        }
        return;
    }
    children.push(match file.kind {
        EntryKind::LinkToDirectory => Node {
            name,
            kind: "directory",
            size: None,
            children: None,
        },
        EntryKind::File | EntryKind::LinkToFile => Node {
            name,
            kind: "file",
            size: Some(file.size),
            children: None,
        },
    });
}

/// Counts plain files. A link is a node of the tree, but its target is counted in its own folder.
fn stats(files: &[OverviewFile]) -> Stats {
    let mut stats = Stats::default();
    let mut languages: BTreeMap<String, Language> = BTreeMap::new();
    let mut folders: BTreeSet<RepoPath> = BTreeSet::new();
    for file in files.iter().filter(|file| file.kind == EntryKind::File) {
        stats.total_files += 1;
        stats.total_size += file.size;
        let parents = std::iter::successors(file.path.parent(), RepoPath::parent);
        folders.extend(parents.take_while(|folder| !folder.is_root()));
        let path = file.path.display();
        let name = path.rsplit('/').next().unwrap_or(&path);
        if let Some(extension) = describe::extension(name) {
            let extension = format!(".{extension}");
            let language = languages.entry(extension.clone()).or_insert(Language {
                extension,
                count: 0,
                bytes: 0,
            });
            language.count += 1;
            language.bytes += file.size;
        }
    }
    stats.total_directories = folders.len() as u64;
    stats.languages = languages.into_values().collect();
    // The sort is stable and the map is ordered, so ties are sorted by name.
    stats
        .languages
        .sort_by_key(|language| std::cmp::Reverse(language.bytes));
    stats.languages.truncate(MAX_LANGUAGES);
    stats
}
