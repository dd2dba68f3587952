//! Commits without their objects: git's commit-graph, either its own file or one that this worker
//! built.
//!
//! A graph is read and validated as a whole before use: every offset is in bounds, and every parent
//! is another commit of the graph, at a lower level. An invalid file counts as absent. Lookups
//! return positions and numbers and never fail. A graph may lack any commit, so walks must be able
//! to fall back to objects. A graph that has a commit has all its ancestors.
//!
//! For the file format, see gitformat-commit-graph(5).

// In the order in which a graph comes to be.
mod files;
mod read;
mod chunks;
mod layer;
mod parents;
mod bloom;
mod build;
mod changed_paths;
mod write;

use gix::{ObjectId, oid};

use archway_repo::{Cancel, Stopped};

pub(crate) use bloom::FilterQuery;
pub(super) use build::build;
pub(super) use chunks::number;
pub(super) use files::GraphFiles;
pub(super) use parents::Parents;
pub(super) use read::read_file;
pub(super) use write::{checksum, has_valid_checksum};

use bloom::Settings;
use layer::Layer;

/// The largest graph that is read or built, in bytes, over all layers.
pub(super) const MAX_BYTES: u64 = 512 << 20;
/// Positions are below this: higher numbers have meanings of their own in the format.
const MAX_COMMITS: u32 = 0x7000_0000;
/// Number of commits that are validated between two deadline checks.
const CHECK_INTERVAL: u32 = 1 << 16;

/// A commit's index in a graph: below [`Graph::len`]. Valid only for the graph that returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Position(u32);

/// Commits that can be walked without reading objects. The default graph is empty.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Each depends on those before it.
    layers: Vec<Layer>,
    /// Whether generations are corrected dates: all layers have valid ones.
    is_dated: bool,
}

/// Why a commit-graph can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum GraphError {
    /// It breaks the format.
    #[error("malformed: {0}")]
    Malformed(&'static str),
    /// It is larger than [`MAX_BYTES`].
    #[error("larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// It can't be read.
    #[error("unreadable")]
    Io(#[from] std::io::Error),
    /// The call has to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl Position {
    /// The index into a table of all commits of the graph.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Graph {
    /// Parses a cached graph file, including its checksum.
    ///
    /// # Errors
    /// [`GraphError::Malformed`], in more cases than [`Graph::of`]: the checksum has to match.
    pub(super) fn checked(file: Vec<u8>, cancel: &Cancel) -> Result<Graph, GraphError> {
        if has_valid_checksum(&file, cancel)? {
            Graph::of(vec![file], cancel)
        } else {
            Err(GraphError::Malformed("wrong checksum"))
        }
    }

    /// Parses the content of layers, each of which depends on those before it.
    ///
    /// # Errors
    /// [`GraphError`] if any of them is invalid, or the call has to stop.
    pub(super) fn of(files: Vec<Vec<u8>>, cancel: &Cancel) -> Result<Graph, GraphError> {
        let mut graph = Graph::default();
        for file in files {
            cancel.check()?;
            let layer = Layer::parse(file, &graph.layers)?;
            graph.layers.push(layer);
        }
        graph.check_parents(cancel)?;
        let has_dates = graph.layers.iter().all(Layer::has_dates);
        graph.is_dated = has_dates && graph.dates_hold(cancel)?;
        Ok(graph)
    }

    /// The number of commits.
    pub(crate) fn len(&self) -> usize {
        self.layers.last().map_or(0, Layer::end) as usize
    }

    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.layers.iter().map(Layer::bytes).sum()
    }

    /// Whether all layers have changed-path filters, so that [`Graph::maybe_changed`] can answer.
    pub(crate) fn has_filters(&self) -> bool {
        !self.layers.is_empty() && self.layers.iter().all(Layer::has_filters)
    }

    /// Whether every commit has a filter. A build that ran out of time leaves the oldest ones
    /// without.
    pub(crate) fn has_all_filters(&self) -> bool {
        !self.layers.is_empty() && self.layers.iter().all(Layer::has_all_filters)
    }

    /// The position of commit `id`, if it is in the graph.
    pub(crate) fn find(&self, id: &oid) -> Option<Position> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| layer.find(id))
            .map(Position)
    }

    /// The commit's id.
    pub(crate) fn id(&self, position: Position) -> ObjectId {
        self.in_layer(position, Layer::id)
            .unwrap_or_else(|| ObjectId::null(gix::hash::Kind::Sha1))
    }

    /// The commit's root tree.
    pub(crate) fn tree(&self, position: Position) -> ObjectId {
        self.in_layer(position, Layer::tree)
            .unwrap_or_else(|| ObjectId::null(gix::hash::Kind::Sha1))
    }

    /// Committer time in seconds since 1970.
    pub(crate) fn time(&self, position: Position) -> i64 {
        self.in_layer(position, Layer::time).unwrap_or(0)
    }

    /// The generation number: greater than that of each parent. Comparable only within this graph.
    pub(crate) fn generation(&self, position: Position) -> u64 {
        let generation = |layer: &Layer, at| match self.is_dated {
            true => layer.date(at),
            false => u64::from(layer.level(at)),
        };
        self.in_layer(position, generation).unwrap_or(0)
    }

    /// The commit's parents, in its order.
    pub(crate) fn parents(&self, position: Position) -> Parents<'_> {
        match self.layer_of(position) {
            Some(layer) => layer.parents(layer.index(position.0)),
            None => Parents::default(),
        }
    }

    /// Whether the commit may have changed the path against its first parent, or against nothing
    /// for a root. `Some(false)` is certain; `None` means unknown.
    pub(crate) fn maybe_changed(&self, position: Position, query: &FilterQuery) -> Option<bool> {
        self.in_layer(position, |layer, at| layer.filter(at))?
            .map(|filter| query.may_be_in(&filter))
    }

    /// The filter settings, if all layers share them.
    fn settings(&self) -> Option<Settings> {
        let mut settings = self.layers.iter().map(Layer::settings);
        let first = settings.next()??;
        settings.all(|other| other == Some(first)).then_some(first)
    }

    /// The commit's filter, for copying.
    fn filter_bits(&self, position: Position) -> Option<&[u8]> {
        let filter = self.in_layer(position, |layer, at| layer.filter(at))??;
        Some(filter.bits)
    }

    fn layer_of(&self, position: Position) -> Option<&Layer> {
        self.layers.iter().find(|layer| position.0 < layer.end())
    }

    fn in_layer<'a, T>(
        &'a self,
        position: Position,
        read: impl FnOnce(&'a Layer, u32) -> T,
    ) -> Option<T> {
        let layer = self.layer_of(position)?;
        Some(read(layer, layer.index(position.0)))
    }

    /// All positions.
    pub(super) fn positions(&self) -> impl Iterator<Item = Position> {
        (0..self.layers.last().map_or(0, Layer::end)).map(Position)
    }

    /// Checks that levels fall from child to parent, so that no walk loops.
    fn check_parents(&self, cancel: &Cancel) -> Result<(), GraphError> {
        let level = |position| self.in_layer(position, Layer::level).unwrap_or(0);
        let len = self.len();
        for position in self.positions() {
            if position.0.is_multiple_of(CHECK_INTERVAL) {
                cancel.check()?;
            }
            let own = level(position);
            for parent in self.parents(position) {
                if parent.index() >= len || level(parent) >= own {
                    return Err(GraphError::Malformed("invalid parent"));
                }
            }
        }
        Ok(())
    }

    fn dates_hold(&self, cancel: &Cancel) -> Result<bool, Stopped> {
        let date = |position| self.in_layer(position, Layer::date).unwrap_or(0);
        for position in self.positions() {
            if position.0.is_multiple_of(CHECK_INTERVAL) {
                cancel.check()?;
            }
            let own = date(position);
            if !self.parents(position).all(|parent| date(parent) < own) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use archway_repo::{
        RepoError, RepoPath,
        testing::{Sandbox, cancel, git},
    };
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::HistoryError;

    /// Merges of two and of three parents, folders that become files, names beyond ASCII, a commit
    /// with too many files, and dates in every disorder.
    fn repository() -> Sandbox {
        let app = Sandbox::new();
        app.file("a/b/c.rs", "1")
            .file("a.b", "1")
            .file("über/straße.rs", "1");
        app.committed();
        let commit = |message: &str, date: &str| commit_at(&app, message, date);
        for branch in ["left", "right", "third"] {
            app.git(&["branch", branch]);
        }
        app.file("a/b/c.rs", "2");
        commit("later than its children", "4000000000 +0000");
        app.git(&["rm", "-rq", "a"]).file("a", "now a file");
        commit("a folder becomes a file", "1000000000 +0000");
        for number in 0..513 {
            app.file(&format!("many/{number}"), "");
        }
        commit("too many files", "1000000001 +0000");
        for branch in ["right", "third", "left"] {
            app.git(&["checkout", "-q", branch]).file(branch, branch);
            commit(branch, "1767323045 +0100");
        }
        app.git(&["merge", "-qm", "three", "right", "third"]);
        app.git(&["checkout", "-q", "main"]);
        app.git(&["merge", "-qm", "two", "left"]);
        app.git(&["tag", "-am", "annotated", "v1"]);
        app.git(&["checkout", "-q", "--orphan", "other"]);
        app.file("other", "root");
        commit("another root", "@5 +0000");
        app
    }

    /// Commits all files at this date.
    fn commit_at(app: &Sandbox, message: &str, date: &str) {
        app.git(&["add", "-A"]);
        let output = std::process::Command::new("git")
            .env("GIT_COMMITTER_DATE", date)
            .args(["-c", "user.name=A", "-c", "user.email=a@b.c"])
            .args(["commit", "-qm", message])
            .current_dir(app.root())
            .output();
        assert!(output.unwrap().status.success(), "{message}");
    }

    fn read(app: &Sandbox) -> Graph {
        GraphFiles::read(&app.repo().git().unwrap(), &cancel())
            .unwrap()
            .1
    }

    fn built(app: &Sandbox, before: &Graph) -> (Vec<u8>, usize) {
        let git = app.repo().git().unwrap();
        build(&git, before, &cancel()).unwrap().unwrap()
    }

    fn write(app: &Sandbox, version: &str) {
        let version = format!("commitGraph.changedPathsVersion={version}");
        let arguments = ["commit-graph", "write", "--reachable", "--changed-paths"];
        app.git(&[&["-c", version.as_str()][..], &arguments].concat());
    }

    fn file(app: &Sandbox) -> Vec<u8> {
        std::fs::read(app.root().join(".git/objects/info/commit-graph")).unwrap()
    }

    /// By id: tree, parents and time, according to git.
    fn git_commits(app: &Sandbox) -> BTreeMap<String, String> {
        let log = git(&app.root(), &["log", "--all", "--format=%H %T %P %ct"]);
        let lines = log.lines().map(|line| line.split_once(' ').unwrap());
        lines
            .map(|(id, rest)| (id.to_owned(), rest.replace("  ", " ")))
            .collect()
    }

    fn graph_commits(graph: &Graph) -> BTreeMap<String, String> {
        let line = |at| {
            let parents = graph.parents(at).map(|parent| graph.id(parent).to_string());
            let mut words = vec![graph.tree(at).to_string()];
            words.extend(parents);
            words.push(graph.time(at).to_string());
            (graph.id(at).to_string(), words.join(" "))
        };
        graph.positions().map(line).collect()
    }

    #[test]
    fn built_graphs_equal_gits_byte_for_byte() {
        let app = repository();
        let (content, new) = built(&app, &Graph::default());
        write(&app, "2");
        assert_eq!(new, git_commits(&app).len());
        assert_eq!(content, file(&app));
        app.git(&["commit-graph", "verify"]);
        assert_eq!(
            graph_commits(&Graph::checked(content, &cancel()).unwrap()),
            git_commits(&app)
        );
    }

    #[test]
    fn extended_graphs_keep_the_version_of_their_filters() {
        let app = repository();
        for version in ["1", "2"] {
            write(&app, version);
            let before = read(&app);
            assert!(before.has_filters());
            let (again, new) = built(&app, &before);
            assert_eq!((again, new), (file(&app), 0), "version {version}");
        }
        write(&app, "1");
        let before = read(&app);
        app.file("über/neu", "")
            .git(&["add", "-A"])
            .git(&["commit", "-qm", "new"]);
        let (again, new) = built(&app, &before);
        write(&app, "1");
        assert_eq!((again, new), (file(&app), 1));
    }

    #[test]
    fn filters_have_no_false_negatives() {
        let app = repository();
        for version in ["1", "2"] {
            write(&app, version);
            let graph = read(&app);
            let mut denied = 0;
            for at in graph.positions() {
                let id = graph.id(at).to_string();
                let parent = graph.parents(at).next();
                let parent = parent.map(|parent| graph.id(parent).to_string());
                let sides = parent
                    .as_deref()
                    .map_or(vec!["--root", &id], |parent| vec![parent, &id]);
                let command = "-c core.quotePath=off diff-tree -r --name-only --no-commit-id";
                let command: Vec<&str> = command.split(' ').chain(sides).collect();
                let changed = git(&app.root(), &command);
                for path in changed.lines() {
                    let query = FilterQuery::of(&RepoPath::parse(path).unwrap());
                    assert_eq!(
                        graph.maybe_changed(at, &query),
                        Some(true),
                        "{path} in {id}"
                    );
                }
                let absent = FilterQuery::of(&RepoPath::parse("never/there").unwrap());
                denied += usize::from(graph.maybe_changed(at, &absent) == Some(false));
            }
            assert!(denied >= graph.len() - 2, "{denied} of {}", graph.len());
        }
    }

    #[test]
    fn a_chain_equals_a_single_file() {
        let app = repository();
        let split = [
            "commit-graph",
            "write",
            "--reachable",
            "--changed-paths",
            "--split=no-merge",
        ];
        app.git(&split);
        for number in 0..3 {
            app.file("counted", number.to_string()).git(&["add", "-A"]);
            app.git(&["commit", "-qm", "more"]).git(&split);
        }
        let graph = read(&app);
        assert_eq!(graph.layers.len(), 4);
        assert!(graph.has_filters() && graph.is_dated);
        assert_eq!(graph_commits(&graph), git_commits(&app));
        for at in graph.positions() {
            assert_eq!(graph.find(&graph.id(at)), Some(at));
        }
    }

    #[test]
    fn damaged_files_are_rejected_or_harmless() {
        let app = repository();
        let (good, _) = built(&app, &Graph::default());
        let query = FilterQuery::of(&RepoPath::parse("a/b").unwrap());
        let mut used = 0;
        for at in 0..good.len() {
            let mut flipped = good.clone();
            flipped[at] ^= 0x81;
            for bad in [flipped, good[..at].to_vec()] {
                let Ok(graph) = Graph::of(vec![bad], &cancel()) else {
                    continue;
                };
                used += 1;
                for at in graph.positions() {
                    assert!(graph.parents(at).all(|parent| parent.index() < graph.len()));
                    graph.find(&graph.id(at));
                    graph.maybe_changed(at, &query);
                }
            }
        }
        assert!(used < good.len(), "truncated files are rejected");
        assert!(Graph::checked(good[..good.len() - 1].to_vec(), &cancel()).is_err());
    }

    #[test]
    fn links_in_place_of_graph_files_are_not_followed() {
        let app = repository();
        write(&app, "2");
        let path = app.root().join(".git/objects/info/commit-graph");
        std::fs::rename(&path, app.host("elsewhere")).unwrap();
        std::os::unix::fs::symlink(app.host("elsewhere"), path).unwrap();
        // The repository check rejects such a repository as a whole. This covers a link made later.
        assert!(app.repo().git().is_none());
        let git = gix::open_opts(app.root(), gix::open::Options::isolated()).unwrap();
        assert_eq!(GraphFiles::read(&git, &cancel()).unwrap().1.len(), 0);
    }

    #[test]
    fn builds_end_on_cyclic_tags_and_commits() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let by = "A <a@b.c> 1 +0000";
        let tag = app.forge_own_tag();
        app.file(".git/refs/tags/own", format!("{tag}\n"));
        let (_, new) = built(&app, &Graph::default());
        assert_eq!(new, 1, "a self-referencing tag names no commit");
        let commit = "3".repeat(40);
        let tree = git(&app.root(), &["rev-parse", "HEAD^{tree}"]);
        let text = format!("tree {tree}\nparent {commit}\nauthor {by}\ncommitter {by}\n\nm\n");
        app.forge(&commit, "commit", &text);
        app.file(".git/refs/heads/own", format!("{commit}\n"));
        let failed = build(&app.repo().git().unwrap(), &Graph::default(), &cancel());
        let is_damaged = matches!(failed, Err(HistoryError::Repo(RepoError::Git { .. })));
        assert!(is_damaged, "{failed:?}");
    }

    #[test]
    fn the_next_build_continues_after_a_timeout() {
        let app = repository();
        let git = app.repo().git().unwrap();
        let soon = Instant::now() + build::WRITE_TIME / 2;
        let cancel_soon = Cancel::new(soon, CancellationToken::new());
        let (file, _) = build(&git, &Graph::default(), &cancel_soon)
            .unwrap()
            .unwrap();
        let first = Graph::checked(file, &cancel()).unwrap();
        assert_eq!(
            graph_commits(&first),
            git_commits(&app),
            "only filters are missing"
        );
        let query = FilterQuery::of(&RepoPath::parse("never/there").unwrap());
        let mut known = first.positions().map(|at| first.maybe_changed(at, &query));
        assert!(known.all(|known| known.is_none()) && !first.has_all_filters());
        let (whole, new) = built(&app, &first);
        write(&app, "2");
        assert_eq!((&whole, new), (&self::file(&app), 0));
        assert!(Graph::checked(whole, &cancel()).unwrap().has_all_filters());
    }
}
