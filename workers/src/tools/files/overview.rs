//! `get_repo_overview`: the shape of a repository, as deep as asked and as fits.

use std::collections::{BTreeMap, BTreeSet};

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Entry, EntryKind, Repo, RepoPath, Stat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::describe;
use crate::tools::{Reply, Tool, ToolContext, schema::is_false};

/// Folders that say nothing about a repository, by the repo contract.
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
/// How many languages are named.
const LANGUAGES: usize = 15;

/// A tree of names, and statistics.
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
    #[serde(default = "yes")]
    include_stats: bool,
}

fn default_depth() -> usize {
    2
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Overview {
    root: String,
    structure: Node,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
    /// The tree was too large and lost its deepest levels.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    /// The levels that are left, where truncated.
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
    /// The last suffix in lower case, with its dot.
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
    const UNTRUSTED: bool = true;
    type Args = OverviewArgs;
    type Output = Overview;

    async fn run(cx: &ToolContext, args: OverviewArgs) -> Result<Reply<Overview>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (root, budget) = (project.slug.clone(), cx.max_result_bytes());
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let files = files(repo, cancel)?;
                let (structure, depth) = fitting_tree(&root, &files, args.max_depth, budget);
                let truncated = depth < args.max_depth;
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

/// A path of the overview.
struct Seen {
    path: RepoPath,
    kind: EntryKind,
    size: u64,
}

/// What `list_files` shows by default, less the contract's exclusions.
fn files(repo: &Repo, cancel: &Cancel) -> Result<Vec<Seen>, Failure> {
    let hidden = |name: &[u8]| name.starts_with(b".") || EXCLUDED.contains(&name);
    let listing = repo.listing(cancel)?;
    let entries: Vec<Entry> = listing
        .entries
        .iter()
        .filter(|entry| !entry.path.components().any(hidden))
        .cloned()
        .collect();
    let stats = repo.stats(&entries, cancel)?;
    let seen = |(entry, stat): (Entry, Option<Stat>)| Seen {
        path: entry.path,
        kind: entry.kind,
        size: stat.map_or(0, |stat| stat.size),
    };
    Ok(entries.into_iter().zip(stats).map(seen).collect())
}

/// The deepest tree, up to `max_depth` levels, that fits into `budget` bytes.
fn fitting_tree(root: &str, files: &[Seen], max_depth: usize, budget: usize) -> (Node, usize) {
    let fits = |tree: &Node| serde_json::to_string(tree).is_ok_and(|text| text.len() < budget);
    let mut depth = max_depth;
    loop {
        let tree = tree(root, files, depth);
        if depth == 0 || fits(&tree) {
            return (tree, depth);
        }
        depth -= 1;
    }
}

fn tree(root: &str, files: &[Seen], depth: usize) -> Node {
    let mut top = Node {
        name: root.to_owned(),
        kind: "directory",
        size: None,
        children: (depth > 0).then(Vec::new),
    };
    for file in files {
        let names: Vec<&[u8]> = file.path.components().collect();
        plant(&mut top, &names, file, depth);
    }
    top
}

/// Puts a file into the tree. Files come in path order, so an open folder is the last child.
fn plant(node: &mut Node, names: &[&[u8]], file: &Seen, depth: usize) {
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
            plant(folder, rest, file, depth - 1);
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

/// Counts of plain files: a link is a node, but its target counts where it stands.
fn stats(files: &[Seen]) -> Stats {
    let mut stats = Stats::default();
    let mut languages: BTreeMap<String, Language> = BTreeMap::new();
    let mut folders: BTreeSet<RepoPath> = BTreeSet::new();
    for file in files.iter().filter(|file| file.kind == EntryKind::File) {
        stats.total_files += 1;
        stats.total_size += file.size;
        let above = std::iter::successors(file.path.parent(), RepoPath::parent);
        folders.extend(above.take_while(|folder| !folder.is_root()));
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
    // The sort is stable and the map gave names in order: ties go by name.
    stats
        .languages
        .sort_by_key(|language| std::cmp::Reverse(language.bytes));
    stats.languages.truncate(LANGUAGES);
    stats
}
