//! `outline`: what stands in a file or the files of a folder, without bodies.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{EntryKind, RepoPath, syntax::Language};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    nested::{OutlinedSymbol, tree},
    sources::{BINARY, Content, Sources},
};
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, paging, read_whole};

/// Bytes around the path and the symbols of a file in an answer.
const AROUND_FILE: usize = 48;
/// A parser reads any text, also one that is not of its language.
const NOTHING_DEFINED: &str =
    "nothing is defined in it, or it could not be parsed: call read_file for its text";

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
    /// Symbols that were found but did not fit, members included.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
    /// Why symbols are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct OutlinedFile {
    path: String,
    symbols: Vec<OutlinedSymbol>,
    /// Of this file.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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
    const UNTRUSTED: bool = true;
    type Args = OutlineArgs;
    type Output = OutlineOfPath;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

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
                    Ok(folder) if repo.submodule(&path).is_none() => {
                        outliner.folder(&path, &folder)
                    }
                    // A submodule whose files are not here fails as a file.
                    _ => outliner.file(&path),
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
        let mut truncated = false;
        let (found, mut reason) = match self.sources.content(path)? {
            Content::Parsed(source) => {
                let found = tree(&source.parsed, self.depth, false);
                let reason = found.is_empty().then(|| NOTHING_DEFINED.to_owned());
                (found, reason)
            }
            Content::None(why) => {
                // Opens the file, to say what is near a path of none, but reads nothing.
                match read_whole(repo, path, 0, cancel) {
                    Err(failure) if failure.code != Fault::FileTooLarge => return Err(failure),
                    _ if why == BINARY => (Vec::new(), Some(why)),
                    _ => (
                        Vec::new(),
                        Some(format!("{why}: call read_file for its text")),
                    ),
                }
            }
            Content::Failed(why) => {
                truncated = true;
                (Vec::new(), Some(why))
            }
        };
        let total = found.len();
        let (symbols, left_out) = fitted(found, |symbols| paging::fit(symbols, self.room));
        if symbols.len() < total {
            let last = symbols.last().map_or(0, |it| it.end_line);
            reason = Some(format!(
                "too much for one answer: read on after line {last}"
            ));
        } else if left_out > 0 {
            reason = Some(format!(
                "too much for one answer: {left_out} members are left out"
            ));
        }
        truncated |= left_out > 0;
        Ok(OutlineOfPath {
            path: path.display(),
            symbols,
            files: None,
            truncated,
            left_out,
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
        let is_partial = is_late || found.is_full;
        let left_out = found.left_out;
        let reason = match (total, is_partial) {
            (0, _) => Some(
                "no file of the folder has a grammar: call list_files, and read_file for a text"
                    .to_owned(),
            ),
            (_, true) => Some(format!(
                "{} of {total} source files were looked at; outline a folder in it, or a file",
                found.seen
            )),
            (_, false) if left_out > 0 => Some(format!(
                "too much for one answer: {left_out} members are left out; outline their files"
            )),
            (_, false) if found.files.is_empty() => Some(
                "no file of the folder exports a symbol: outline a file for those of its own"
                    .to_owned(),
            ),
            (_, false) => None,
        };
        Ok(OutlineOfPath {
            path: requested.display(),
            symbols: Vec::new(),
            files: Some(found.files),
            truncated: is_partial || left_out > 0,
            left_out,
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
    /// Symbols of these files for which there was no room.
    left_out: usize,
    is_full: bool,
}

impl Found {
    /// Adds a file, without the members of its symbols if there is no room. Returns whether more fit.
    fn add(&mut self, path: String, symbols: Vec<OutlinedSymbol>, room: usize) -> bool {
        let left = room.saturating_sub(paging::size_of_all(&self.files));
        let left = left.saturating_sub(path.len() + AROUND_FILE);
        let total = symbols.len();
        let (symbols, left_out) = fitted(symbols, |symbols| paging::fit_within(symbols, left));
        self.is_full |= symbols.len() < total;
        self.left_out += left_out;
        if !symbols.is_empty() {
            self.files.push(OutlinedFile {
                path,
                symbols,
                left_out,
            });
        }
        self.seen += 1;
        !self.is_full
    }
}

/// The symbols for which there is room, without members if there is none for all of them, and how
/// many are left out. `fits` says how many of the first ones fit.
fn fitted(
    mut symbols: Vec<OutlinedSymbol>,
    fits: impl Fn(&[OutlinedSymbol]) -> usize,
) -> (Vec<OutlinedSymbol>, usize) {
    let total = count(&symbols);
    if fits(&symbols) < symbols.len() {
        // The top level first: it names what to read for the rest.
        for symbol in &mut symbols {
            symbol.children.clear();
        }
        symbols.truncate(fits(&symbols));
    }
    let left_out = total - count(&symbols);
    (symbols, left_out)
}

/// Symbols with those inside of them, which are at most two levels deep.
fn count(symbols: &[OutlinedSymbol]) -> usize {
    let inside = symbols.iter().map(|it| count(&it.children));
    symbols.len() + inside.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::SymbolKind;
    use super::*;

    fn symbol(name: &str, children: Vec<OutlinedSymbol>) -> OutlinedSymbol {
        OutlinedSymbol {
            name: name.to_owned(),
            kind: SymbolKind::Class,
            line: 1,
            end_line: 2,
            signature: format!("class {name}"),
            children,
        }
    }

    /// A class with members, and a function.
    fn file(members: usize) -> Vec<OutlinedSymbol> {
        let members = (0..members).map(|_| symbol("member", Vec::new()));
        vec![
            symbol("Gate", members.collect()),
            symbol("build", Vec::new()),
        ]
    }

    #[test]
    fn members_without_room_are_counted_and_said() {
        let mut found = Found::default();
        let room = paging::size_of_all::<OutlinedFile>(&[]) + 2_000;
        assert!(found.add("small.py".into(), file(3), room));
        assert_eq!((found.files[0].left_out, found.left_out), (0, 0));
        assert!(found.add("large.py".into(), file(40), room));
        let large = &found.files[1];
        assert_eq!((large.symbols.len(), large.left_out), (2, 40));
        assert!(large.symbols[0].children.is_empty());
        assert!(!found.is_full);
        assert_eq!(found.left_out, 40);
        let answer = serde_json::to_value(&found.files).unwrap();
        assert_eq!(answer[0].get("left_out"), None);
        assert_eq!(answer[1]["left_out"], 40);
    }

    #[test]
    fn a_full_outline_counts_what_it_leaves_out() {
        let mut found = Found::default();
        let room = paging::size_of_all::<OutlinedFile>(&[]) + 300;
        let symbols = (0..30).map(|_| symbol("Gate", Vec::new()));
        assert!(!found.add("large.py".into(), symbols.collect(), room));
        let shown = found.files[0].symbols.len();
        assert!((1..30).contains(&shown), "{shown}");
        assert_eq!(found.left_out, 30 - shown);
        assert!(!found.add("next.py".into(), file(3), 0));
        assert_eq!((found.seen, found.left_out), (2, 30 - shown + 5));
    }
}
