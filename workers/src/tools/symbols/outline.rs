//! `outline`: what stands in a file or the files of a folder, without bodies.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{
    EntryKind, RepoPath,
    syntax::{self, Language},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    nested::{OutlinedSymbol, tree},
    sources::{Content, Sources},
};
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, paging, read_whole};

/// Shows what stands in a file.
pub(in crate::tools) struct Outline;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct OutlineArgs {
    /// A file, or a folder: then the exported symbols of each file.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// How deep symbols are nested.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 3))]
    depth: usize,
}

fn default_depth() -> usize {
    2
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct OutlineOfPath {
    path: String,
    symbols: Vec<OutlinedSymbol>,
    /// Of a folder: files with symbols, the nearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<OutlinedFile>>,
    truncated: bool,
    /// Why symbols are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct OutlinedFile {
    path: String,
    symbols: Vec<OutlinedSymbol>,
}

impl Tool for Outline {
    const NAME: &'static str = "outline";
    const TITLE: &'static str = "Outline a file or folder";
    const DESCRIPTION: &'static str = "The symbols of a source file, nested, with signatures and \
        lines but no bodies; of a folder, the exported ones. Cheaper than read_file to learn what \
        is there.";
    const FAMILY: &'static str = "symbols";
    const PER_MINUTE: Option<u32> = Some(60);
    const WEIGHT: u32 = 2;
    const LOAD: Load = Load::Heavy;
    const UNTRUSTED: bool = true;
    type Args = OutlineArgs;
    type Output = OutlineOfPath;

    async fn run(cx: &ToolContext, args: OutlineArgs) -> Result<Reply<OutlineOfPath>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let cache = cx.symbols().clone();
        let room = cx.max_result_bytes();
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = RepoPath::parse(&args.path)?;
                let outliner = Outliner {
                    sources: Sources::new(&cache, repo, cancel),
                    depth: args.depth,
                    room,
                };
                match repo.directory(&path) {
                    Ok(folder) => outliner.folder(&path, &folder),
                    Err(_no_folder) => outliner.file(&path),
                }
            })
            .await?;
        let outlined = &snapshot.value;
        let files = outlined.files.iter().flatten().map(|file| &file.path);
        let mut files: Vec<String> = files.cloned().collect();
        if outlined.files.is_none() {
            files.push(outlined.path.clone());
        }
        Ok(Reply::from_snapshot(snapshot, |outlined| outlined).of_files(files))
    }
}

struct Outliner<'a> {
    sources: Sources<'a>,
    depth: usize,
    /// Bytes of the answer.
    room: usize,
}

impl Outliner<'_> {
    fn file(&self, path: &RepoPath) -> Result<OutlineOfPath, Failure> {
        let Sources { repo, cancel, .. } = self.sources;
        let most = syntax::MAX_BYTES as u64;
        match read_whole(repo, path, most, cancel) {
            // Says what is near a path of no file, too.
            Err(failure) if failure.code != Fault::FileTooLarge => return Err(failure),
            _ => {}
        }
        let mut truncated = false;
        let (mut symbols, mut reason) = match self.sources.content(path)? {
            Content::Parsed(source) => (tree(&source.parsed, self.depth, false), None),
            Content::None(why) => (Vec::new(), Some(why)),
            Content::Failed(why) => {
                truncated = true;
                (Vec::new(), Some(why))
            }
        };
        if paging::fit(&symbols, self.room) < symbols.len() {
            // The top level first: members are named by an outline that fits.
            truncated = true;
            reason = Some("too much for one answer: members are left out".to_owned());
            for symbol in &mut symbols {
                symbol.children.clear();
            }
            let fits = paging::fit(&symbols, self.room);
            if fits < symbols.len() {
                symbols.truncate(fits);
                let last = symbols.last().map_or(0, |it| it.end_line);
                reason = Some(format!(
                    "too much for one answer: read on after line {last}"
                ));
            }
        }
        Ok(OutlineOfPath {
            path: path.display(),
            symbols,
            files: None,
            truncated,
            reason,
        })
    }

    fn folder(&self, requested: &RepoPath, folder: &RepoPath) -> Result<OutlineOfPath, Failure> {
        let Sources { repo, cancel, .. } = self.sources;
        let listing = repo.listing(cancel)?;
        let entries = listing.beneath(folder).iter();
        let sources = entries.filter(|it| it.kind == EntryKind::File);
        let sources = sources.filter(|it| Language::of(&it.path).is_some());
        let mut paths: Vec<RepoPath> = sources.map(|it| it.path.clone()).collect();
        paths.sort_by_cached_key(|path| path.components().count());
        let total = paths.len();
        let mut found = Found::default();
        let is_late = self.sources.each(&paths, |source| {
            self.sources.is_late()?;
            let symbols = tree(&source.parsed, self.depth, true);
            Ok(found.add(source.path.display(), symbols, self.room))
        })?;
        let truncated = is_late || found.is_full;
        let reason = match (total, truncated) {
            (0, _) => Some("no file of the folder has a grammar".to_owned()),
            (_, true) => Some(format!(
                "{} of {total} source files were looked at; outline a folder in it, or a file",
                found.seen
            )),
            (_, false) => None,
        };
        Ok(OutlineOfPath {
            path: requested.display(),
            symbols: Vec::new(),
            files: Some(found.files),
            truncated,
            reason,
        })
    }
}

/// The files of an outline.
#[derive(Default)]
struct Found {
    files: Vec<OutlinedFile>,
    /// Files that were looked at, with and without symbols.
    seen: usize,
    is_full: bool,
}

impl Found {
    /// Adds a file, without the members of its symbols if there is no room. Returns whether more fit.
    fn add(&mut self, path: String, mut symbols: Vec<OutlinedSymbol>, room: usize) -> bool {
        let left = room.saturating_sub(paging::size_of_all(&self.files));
        if paging::size(&symbols) + path.len() + 32 > left {
            for symbol in &mut symbols {
                symbol.children.clear();
            }
            let left = left.saturating_sub(path.len() + 32);
            let fits = paging::fit_within(&symbols, left);
            self.is_full = fits < symbols.len() || self.is_full;
            symbols.truncate(fits);
        }
        if !symbols.is_empty() {
            self.files.push(OutlinedFile { path, symbols });
        }
        self.seen += 1;
        !self.is_full
    }
}
