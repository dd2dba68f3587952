//! Sources in a ledger, compared with those that a search finds.

use archway_repo::{
    Kind, Rules,
    testing::{Sandbox, cancel, path},
};

use super::super::super::graph::Graph;
use super::super::super::{
    History, file_source::FileSource, fixtures, fixtures::commit, path_limiter::PathLimiter,
};
use super::super::{Ledger, build, draft::Draft};
use super::*;

/// Text of so many lines, the last `own` of which are unique to `name`.
fn text(name: &str, lines: usize, own: usize) -> String {
    let line = |line| match line + own < lines {
        true => format!("shared line {line}\n"),
        false => format!("{name} {line}\n"),
    };
    (0..lines).map(line).collect()
}

/// Files that were renamed and copied, with and without changes, also out of blocked folders; near
/// ties; new files; links; more files of equal content than are searched.
fn repository() -> Sandbox {
    let app = Sandbox::new();
    for number in 0..6 {
        let name = format!("near/{number}");
        app.file(&name, text(&name, 40, 2 + number));
    }
    app.file("a/one", "unlike\n".repeat(9)).file("a/two", "2\n");
    app.file("hidden/one", "unlike\n".repeat(9))
        .file("exact", text("exact", 30, 30));
    app.link("link", "a/two").committed();
    app.git(&["mv", "near/5", "went"])
        .file("went", text("went", 40, 3))
        .file("b/one", "unlike\n".repeat(9))
        .file("copied", text("exact", 30, 30) + "more\n");
    commit(&app, "one that went among five that stayed, and copies");
    app.git(&["mv", "near/4", "went too"])
        .git(&["mv", "near/3", "and so did this"])
        .link("another link", "a/two")
        .file("new", "nothing like it\n");
    commit(&app, "two that went, and what is new");
    app.file("exact copy", text("exact", 30, 30))
        .file("near copy", text("near/0", 40, 3));
    commit(&app, "of a file that stayed");
    for number in 0..MAX_IDENTICAL + 1 {
        app.file(&format!("alike/{number}"), "alike\n");
    }
    commit(&app, "many of one content");
    app.file("alike too", "alike\n")
        .git(&["rm", "-q", "alike/99"]);
    commit(&app, "one more of it");
    app
}

fn graph_of(app: &Sandbox) -> Graph {
    fixtures::graph(&app.repo().git().unwrap())
}

fn ledger_of(app: &Sandbox, graph: &Graph) -> Ledger {
    fixtures::ledger(&app.repo().git().unwrap(), graph)
}

/// For each file that the ledger lists as added: the source that a search finds under the history's
/// rules, and the one in the ledger.
fn both(history: &History, graph: &Graph, ledger: &Ledger) -> Vec<[Option<FileSource>; 2]> {
    let is_visible = |path: &RepoPath| history.rules.check(path, Kind::File).is_ok();
    let mut both = Vec::new();
    for at in graph.positions() {
        let (id, tree) = (graph.id(at), graph.tree(at));
        for file in ledger.files(&id).unwrap() {
            let recorded = ledger
                .file_source(&id, &file.path)
                .filter(|_| is_visible(&file.path));
            let named = recorded.iter().flatten().map(|source| &source.path);
            let Some(recorded) = recorded.clone().filter(|_| named.clone().all(is_visible)) else {
                continue;
            };
            let parent = graph.parents(at).next().map(|parent| graph.tree(parent));
            let mut limiter = PathLimiter::of(file.path.clone());
            let side = limiter.sides(history, None, Some(tree)).unwrap().1.unwrap();
            let found = history.file_source(&file.path, side, (parent, tree), &cancel());
            both.push([found.unwrap(), recorded]);
        }
    }
    both
}

#[test]
fn recorded_sources_equal_searched_ones_under_any_rules() {
    let app = repository();
    let graph = graph_of(&app);
    let ledger = ledger_of(&app, &graph);
    let mut blocked: Vec<Vec<String>> = vec![vec![], vec!["hidden/**".to_owned()]];
    let names = ["near/0", "near/1", "near/2", "near/3", "near/4", "near/5"];
    blocked.extend(names.map(|name| vec![name.to_owned()]));
    blocked.push(vec!["exact".to_owned(), "a/**".to_owned()]);
    let mut kinds = HashSet::new();
    for blocked in blocked {
        let repo = app.repo_with(Rules::new(&[], &blocked, None).unwrap());
        let history = fixtures::history_of(&repo);
        for [found, recorded] in both(&history, &graph, &ledger) {
            assert_eq!(found, recorded, "blocked: {blocked:?}");
            kinds.insert(recorded.map(|source| source.is_copy));
        }
    }
    assert_eq!(kinds.len(), 3, "new, renamed and copied: {kinds:?}");
}

#[test]
fn sources_that_depend_on_other_files_are_not_recorded() {
    let app = repository();
    let ledger = ledger_of(&app, &graph_of(&app));
    let all = || ledger.ids().filter_map(|id| ledger.entries(&id)).flatten();
    let source = |name: &str| {
        let mut entries = all().filter(|entry| entry.path == path(name));
        entries.next().unwrap().source
    };
    assert_eq!(
        source("went"),
        Source::Unknown,
        "five others are more similar"
    );
    assert_eq!(
        source("alike too"),
        Source::Unknown,
        "too many identical files"
    );
    assert_eq!(source("b/one"), Source::Copied(path("a/one")));
    assert_eq!(source("copied"), Source::Copied(path("exact")));
    assert_eq!(source("new"), Source::New);
    assert_eq!(source("went too"), Source::Renamed(path("near/4")));
}

#[test]
fn missing_sources_are_found_by_the_next_build() {
    let app = repository();
    let graph = graph_of(&app);
    let whole = ledger_of(&app, &graph);
    let mut draft = Draft::default();
    for id in whole.ids() {
        let mut entries = whole.entries(&id).unwrap();
        for entry in &mut entries {
            entry.source = Source::NotSearched;
        }
        draft.add(id, Some(entries)).unwrap();
    }
    let file = draft.finish(&cancel()).unwrap().unwrap();
    let before = Ledger::checked(file, &cancel()).unwrap();
    let git = app.repo().git().unwrap();
    let build = |before| build(&git, &graph, before, &cancel()).unwrap();
    let (file, new) = build(&before).unwrap();
    assert_eq!(new, 0, "no commit is new");
    let after = Ledger::checked(file, &cancel()).unwrap();
    for id in whole.ids() {
        assert_eq!(after.entries(&id), whole.entries(&id));
    }
    assert!(build(&after).is_none());
}

#[test]
fn clearing_a_full_cache_does_not_change_listings() {
    let app = repository();
    let git = app.repo().git().unwrap();
    let tree = git.head_commit().unwrap().tree_id().unwrap().detach();
    let mut cache = ObjectCache::new(&git);
    let files = |cache: &mut ObjectCache<'_>, most| {
        let listing = cache.files(tree, most, &cancel()).unwrap();
        listing.map(|listing| {
            let paths = listing.items().filter_map(|(file, _)| listing.path(file));
            paths.map(|path| path.display()).collect::<HashSet<_>>()
        })
    };
    let first = files(&mut cache, 1000).unwrap();
    let expected: HashSet<String> = git_files(&app);
    assert_eq!(first, expected);
    assert!(
        files(&mut cache, expected.len() - 1).is_none(),
        "over the limit"
    );
    cache.pretend_full();
    assert!(files(&mut cache, 1000).is_none(), "the cache is full");
    cache.clear_if_large();
    assert_eq!(files(&mut cache, 1000), Some(expected));
}

fn git_files(app: &Sandbox) -> HashSet<String> {
    let expected =
        archway_repo::testing::git(&app.root(), &["ls-tree", "-r", "--name-only", "HEAD"]);
    expected.lines().map(str::to_owned).collect()
}
