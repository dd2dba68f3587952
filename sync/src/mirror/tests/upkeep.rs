//! What is combined and what is removed.

use super::*;

#[tokio::test]
async fn many_small_fetches_leave_few_packs() {
    let mut sandbox = Sandbox::new();
    sandbox.mirrors = sandbox.mirrors.clone().with_grace(Duration::ZERO);
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    for number in 0..40 {
        sandbox.commit(&number.to_string());
        sandbox.sync(None).await.unwrap();
    }
    let folder = sandbox.mirrors.place("acme", "site").join("objects/pack");
    let files = fs::read_dir(folder).unwrap().flatten();
    let packs = files.filter(|file| file.path().extension().is_some_and(|end| end == "pack"));
    assert!(packs.count() <= 34, "16, and those that were just combined");
    sandbox.mirror(&["fsck", "--full", "--strict"]);
    assert_eq!(sandbox.mirror(&["rev-list", "--count", "HEAD"]), "41");
}

#[tokio::test]
async fn the_commit_graphs_of_a_mirror_have_the_changed_paths() {
    let sandbox = Sandbox::new();
    for text in ["first", "second", "third"] {
        sandbox.commit(text);
        sandbox.sync(None).await.unwrap();
        sandbox.mirror(&["commit-graph", "verify"]);
        let mirror = sandbox.mirrors.place("acme", "site");
        let graphs = fs::read_dir(mirror.join("objects/info/commit-graphs")).unwrap();
        let files = graphs.flatten().map(|file| file.path());
        let graphs = files.filter(|file| file.extension().is_some_and(|end| end == "graph"));
        let graphs: Vec<_> = graphs.map(|file| fs::read(file).unwrap()).collect();
        assert!(!graphs.is_empty(), "after {text}");
        for (graph, chunk) in graphs.iter().flat_map(|it| [(it, b"BIDX"), (it, b"BDAT")]) {
            let has_chunk = graph.windows(4).any(|four| four == chunk);
            assert!(has_chunk, "after {text}");
        }
    }
}

#[tokio::test]
async fn upkeep_that_a_run_did_not_do_is_done_by_a_later_one() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    let graphs = sandbox.mirrors.place("acme", "site");
    let graphs = graphs.join("objects/info/commit-graphs");
    fs::remove_dir_all(&graphs).unwrap();
    // git cannot write to what is nowhere.
    std::os::unix::fs::symlink("nowhere/at/all", &graphs).unwrap();
    sandbox.commit("second");
    assert!(sandbox.sync(None).await.unwrap().changed);
    fs::remove_file(&graphs).unwrap();
    let mark = sandbox
        .mirrors
        .place("acme", "site")
        .join("archway-upkeep-due");
    for (made, is_done) in [
        ("failed a moment ago", false),
        ("an hour ago", true),
        ("done", false),
        ("stopped", true),
    ] {
        match made {
            "an hour ago" => {
                let hour_ago = SystemTime::now() - Duration::from_secs(60 * 60);
                let mark = fs::File::open(&mark).unwrap();
                mark.set_modified(hour_ago).unwrap();
            }
            "stopped" => fs::write(&mark, "").unwrap(),
            _ => {}
        }
        assert!(!sandbox.sync(None).await.unwrap().changed, "nothing is new");
        let chain = graphs.join("commit-graph-chain");
        assert_eq!(chain.exists(), is_done, "{made}");
        fs::remove_dir_all(&graphs).unwrap_or_default();
    }
}

#[tokio::test]
async fn only_mirrors_are_listed_and_a_removed_one_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    let repos = sandbox.mirrors.repos.clone();
    let by_hand = repos.join("acme/by-hand");
    let mut init = Command::new("git");
    init.arg("init").arg("-q").arg(&by_hand);
    assert!(init.status().unwrap().success());
    fs::write(repos.join("a-file"), "").unwrap();
    let [site] = &sandbox.mirrors.list().unwrap()[..] else {
        panic!("one mirror")
    };
    assert_eq!(
        (site.tenant.as_str(), site.project.as_str()),
        ("acme", "site")
    );
    assert_eq!(site.id, sandbox.project_id);
    let id = sandbox.project_id;
    let has = |project: &str, id| sandbox.mirrors.has("acme", project, id);
    assert!(has("site", id) && !has("site", Uuid::new_v4()));
    assert!(!has("by-hand", id) && !has("absent", id));
    sandbox.mirrors.remove("acme", "by-hand", id).unwrap();
    let other = Uuid::new_v4();
    sandbox.mirrors.remove("acme", "site", other).unwrap();
    let left = sandbox.mirrors.list().unwrap();
    assert_eq!(left.len(), 1, "it is another project's by now");
    for _ in 0..2 {
        sandbox.mirrors.remove("acme", "site", id).unwrap();
        assert_eq!(sandbox.mirrors.list().unwrap(), []);
    }
    assert!(by_hand.join(".git").exists());
    assert_eq!(fs::read_dir(repos.join(BESIDE)).unwrap().count(), 0);
}

#[tokio::test]
async fn a_run_that_was_killed_after_it_combined_packs_loses_nothing() {
    let mut sandbox = Sandbox::new();
    sandbox.mirrors = sandbox.mirrors.clone().with_grace(Duration::ZERO);
    sandbox.commit("first");
    sandbox.sync(None).await.unwrap();
    for number in 0..16 {
        sandbox.commit(&number.to_string());
        sandbox.sync(None).await.unwrap();
    }
    // As if the list of old packs had not been written: the next run combines the same ones.
    let mirror = sandbox.mirrors.place("acme", "site");
    fs::remove_file(mirror.join("archway-old-packs")).unwrap();
    for tag in ["one", "two", "three"] {
        sandbox.git(&["tag", tag]);
        sandbox.sync(None).await.unwrap();
        sandbox.mirror(&["fsck", "--full", "--strict"]);
    }
    assert_eq!(sandbox.mirror(&["rev-list", "--count", "HEAD"]), "17");
}

#[tokio::test]
async fn what_a_killed_fetch_left_is_removed_by_the_next() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.git(&["branch", "a/b"]);
    sandbox.sync(None).await.unwrap();
    let second = sandbox.commit("second");
    let mirror = sandbox.mirrors.place("acme", "site");
    let left = [
        "objects/pack/tmp_pack_abc",
        "objects/pack/pack-abc.keep",
        "objects/info/commit-graphs/commit-graph-chain.lock",
        "HEAD.lock",
        "packed-refs.lock",
        "refs/heads/main.lock",
        "refs/archway/heads/a/b.lock",
    ];
    for file in left.map(|file| mirror.join(file)) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "half").unwrap();
    }
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!(synced.head, Some(second));
    assert_eq!(left.map(|file| mirror.join(file).exists()), [false; 7]);
}

#[tokio::test]
async fn what_a_killed_clone_left_is_removed_by_the_next() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let beside = sandbox.mirrors.repos.join(BESIDE);
    for left in ["acme+site+1", "acme+site2+1"] {
        fs::create_dir_all(beside.join(left).join("objects")).unwrap();
    }
    sandbox.sync(None).await.unwrap();
    let left: Vec<_> = fs::read_dir(beside).unwrap().flatten().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].file_name(), "acme+site2+1", "it is another's");
}

#[test]
fn what_cannot_be_removed_at_start_keeps_nothing_from_starting() {
    let sandbox = Sandbox::new();
    let beside = sandbox.mirrors.repos.join(BESIDE);
    fs::create_dir_all(beside.join("old/objects")).unwrap();
    // A file is no folder to be removed.
    fs::write(beside.join("file"), "").unwrap();
    for left in ["old", "file"] {
        let left = fs::File::open(beside.join(left)).unwrap();
        left.set_modified(SystemTime::now() - LEFTOVER_AGE).unwrap();
    }
    sandbox.mirrors.clean().unwrap();
    let left: Vec<_> = fs::read_dir(beside).unwrap().flatten().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].file_name(), "file");
}
