//! Answers with an index are those of a scan.

use super::*;

/// Files that are easy to get wrong.
fn odd_files() -> Sandbox {
    let app = Sandbox::new();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xFF, 0xFE].into_iter().chain(units).collect()
    };
    let long = format!("needle\n{}\nneedle\n", "long needle ".repeat(100_000));
    // Some ten sections of short lines; the first, the third and the last one have matches.
    let mut sections = "a short line\n".repeat(24_000);
    sections.replace_range(0..6, "needle");
    sections.insert_str(13 * 6_000, "needle\n");
    sections.push_str("the last needle");
    let mut largest = "needle ".repeat(8 << 20);
    largest.truncate(8 << 20);
    app.file("utf16.txt", utf16("needle Straße\nfoobaz\n"))
        .file("bom.txt", "\u{feff}needle\n")
        .file("binary.bin", b"needle\0needle\n")
        .file(
            "late-nul.txt",
            [b"a needle\n".repeat(1000), b"\0needle\n".to_vec()].concat(),
        )
        .file("invalid.txt", b"needle \xFF\xFE caf\xE9\n")
        .file("crlf.txt", "needle\r\nfoobaz\r\nword\r\n")
        .file("one", "n")
        .file("empty", "")
        .file("long.txt", long)
        .file("sections.txt", sections)
        .file("largest.txt", &largest)
        .file("larger.txt", largest + "n")
        .file("fold.txt", "ſtraße STRAẞE strasse \u{212a}elvin Kelvin\n")
        .file("regex.txt", "barbaz foobaz abc_1234 a{0}b words word\n\n")
        .file("sub/deep/plain.rs", "fn needle() {}\n// no word\n")
        .file(".env", "needle secret\n")
        .link("link.rs", "sub/deep/plain.rs");
    app.committed();
    app
}

static TEXTS: Excluded = Excluded {
    folders: &[],
    files: &["*.txt"],
};

fn patterns() -> Vec<Query> {
    let patterns = [
        "needle",
        "(foo|bar)baz",
        "(?i)Straße",
        "a{0}b",
        "^$",
        r"\bword\b",
        "n",
        "kelvin",
        "[a-z]+_[0-9]{4}",
        "nowhere",
        r"caf.",
        "needle$",
        "^needle",
        "long needle",
        r"\Aneedle",
        r"last needle\z",
        "x*",
    ];
    let mut queries = Vec::new();
    for pattern in patterns {
        for (literal, case_sensitive) in [(false, true), (false, false), (true, false)] {
            let pattern = SearchPattern::new(pattern.to_owned(), literal, case_sensitive);
            queries.push(Query {
                pattern,
                ..query("")
            });
        }
    }
    // The totals of a search without matches are those of its own filters.
    let glob = Some(Glob::parse("*.txt").unwrap());
    queries.push(Query {
        glob,
        ..query("nowhere")
    });
    queries.push(Query {
        excluded: &TEXTS,
        ..query("nowhere")
    });
    queries.push(query("nowhere"));
    queries
}

#[test]
fn the_index_changes_no_answer() {
    let app = odd_files();
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let folder = Worker::start(&app, Some(cache.path()), LIMIT);
    let memory = Worker::start(&app, None, LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    for project in ["app", "mirror"] {
        let rules = Rules::new(&[], &[], None).unwrap();
        let scanned = scan
            .open("acme", (project, Uuid::nil()), Arc::new(rules))
            .unwrap();
        folder.build(project);
        memory.build(project);
        for query in patterns() {
            let expected = search(&scanned, &query);
            assert_eq!(search(&folder.repo(project), &query), expected, "{query:?}");
            assert_eq!(search(&memory.repo(project), &query), expected, "{query:?}");
        }
    }
}

#[test]
fn a_repeated_search_counts_only_what_changed() {
    let app = Sandbox::new();
    for number in 0..40 {
        app.file(&format!("f{number:02}"), "needle\n".repeat(number % 3 + 1));
    }
    app.committed();
    mirrored(&app);
    let worker = Worker::start(&app, None, LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    let scanned = |project| {
        let rules = Rules::new(&[], &[], None).unwrap();
        let repo = scan
            .open("acme", (project, Uuid::nil()), Arc::new(rules))
            .unwrap();
        search(&repo, &query("needle"))
    };
    for project in ["app", "mirror"] {
        worker.build(project);
        for _ in 0..3 {
            let found = search(&worker.repo(project), &query("needle"));
            assert_eq!(found, scanned(project));
        }
    }
    assert_eq!(worker.counted("mirror", "needle"), 40);
    assert_eq!(worker.counted("mirror", "needl"), 0);
    app.file("f01", "none\n").file("f02", "needle, once\n");
    let found = search(&worker.repo("app"), &query("needle"));
    assert_eq!(found, scanned("app"));
}

#[test]
fn every_change_of_a_work_tree_is_seen_at_once() {
    let app = Sandbox::new();
    app.file("a", "one needle\n")
        .file("b", "nothing\n")
        .file("c", "needle\n");
    app.committed();
    let worker = Worker::start(&app, None, LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    let change: [&dyn Fn(); 5] = [
        &|| _ = app.file("b", "a new needle\n"),
        &|| fs::remove_file(app.root().join("c")).unwrap(),
        &|| _ = app.file("0", "needle before\n"),
        &|| fs::rename(app.root().join("a"), app.root().join("z")).unwrap(),
        &|| _ = app.git(&["checkout", "-q", "-f", "main"]),
    ];
    for change in change {
        worker.build("app");
        change();
        let rules = Rules::new(&[], &[], None).unwrap();
        let scanned = scan
            .open("acme", ("app", Uuid::nil()), Arc::new(rules))
            .unwrap();
        let expected = search(&scanned, &query("needle"));
        assert_eq!(search(&worker.repo("app"), &query("needle")), expected);
    }
}

#[test]
fn rules_that_change_need_no_build() {
    let app = Sandbox::new();
    app.file("open", "needle\n")
        .file("closed", "needle in a haystack\n")
        .committed();
    let worker = Worker::start(&app, None, LIMIT);
    worker.build("app");
    let rules = Rules::new(&[], &["closed".to_owned()], None).unwrap();
    let repo = worker
        .repos
        .open("acme", ("app", Uuid::nil()), Arc::new(rules))
        .unwrap();
    let scanned = app.repo_with(Rules::new(&[], &["closed".to_owned()], None).unwrap());
    for pattern in ["needle", "haystack"] {
        assert_eq!(
            search(&repo, &query(pattern)),
            search(&scanned, &query(pattern))
        );
    }
}

#[test]
fn a_commit_of_one_file_indexes_one_blob_and_is_seen_at_once() {
    let app = Sandbox::new();
    (0..100).for_each(|number| _ = app.file(&format!("f{number}"), format!("text {number}\n")));
    app.committed();
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    mirrored(&app);
    worker.build("mirror");
    app.file("f7", "another needle\n")
        .git(&["commit", "-qam", "two"]);
    app.git(&["push", "-q", "../mirror", "main"]);
    assert!(search(&worker.repo("mirror"), &query("another needle")).contains("f7"));
    worker.build("mirror");
    let segments = worker.index(&worker.repo("mirror")).segments();
    let sizes: Vec<u32> = segments
        .list
        .iter()
        .map(|open| open.segment.len())
        .collect();
    assert_eq!(sizes, [100, 1]);
    assert!(search(&worker.repo("mirror"), &query("another needle")).contains("f7"));
    assert!(!search(&worker.repo("mirror"), &query("text 7$")).contains("f7"));
}

#[test]
fn a_word_that_only_closed_files_have_is_looked_up_nowhere() {
    let app = Sandbox::new();
    app.file("closed", "a needle and other words\n".repeat(80_000))
        .file("open", "no\n")
        .committed();
    mirrored(&app);
    let worker = Worker::start(&app, None, LIMIT);
    worker.build("mirror");
    let has_candidates = |closed: &[String]| {
        let rules = Arc::new(Rules::new(&[], closed, None).unwrap());
        let project = ("mirror", Uuid::nil());
        let repo = worker.repos.open("acme", project, rules).unwrap();
        let tree = repo.snapshot.bare.as_ref().unwrap();
        let listing = tree.listing(&repo.rules, &cancel()).unwrap();
        let (index, files) = (worker.index(&repo), ("mirror", &listing.indexed));
        let pattern = query("needle").pattern;
        let selection = Selection::of(&index, files, &pattern, &cancel()).unwrap();
        assert_eq!(selection.missing(), 0);
        selection.empty_totals().is_none()
    };
    assert!(has_candidates(&[]), "the index has the text");
    assert!(!has_candidates(&["closed".to_owned()]));
}
