//! A volume that is full, and a folder of very many files: every answer is that of a scan.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Command;

use rustix::process::geteuid;

use super::*;

const FULL: &str = "search_index::tests::mishaps::a_full_volume_leaves_the_scan_and_no_draft";
/// The small volume, in the process that sees it.
const VOLUME: &str = "ARCHWAY_TEST_VOLUME";

#[test]
fn a_full_volume_leaves_the_scan_and_no_draft() {
    if let Some(volume) = env::var_os(VOLUME) {
        return on_the_volume(Path::new(&volume));
    }
    let volume = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=128k none "$0" && exec "$@""#;
    let mut inside = Command::new("unshare");
    if !geteuid().is_root() {
        inside.arg("--map-root-user");
    }
    inside
        .args(["--mount", "sh", "-c", mount])
        .arg(volume.path())
        .arg(env::current_exe().unwrap())
        .args(["--exact", FULL, "--nocapture"])
        .env(VOLUME, volume.path());
    let output = inside.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{failed}");
    assert!(said.contains("1 passed"), "{said}");
}

/// What the process does that sees the volume of 128 KiB.
fn on_the_volume(volume: &Path) {
    let app = Sandbox::new();
    for file in 0..40_u32 {
        let numbers = (0..2_000_u32).map(|line| (line * 40 + file).wrapping_mul(2_654_435_761));
        let lines = numbers.map(|number| format!("needle {number:08x}\n"));
        app.file(&format!("f{file}"), lines.collect::<String>());
    }
    app.committed();
    mirrored(&app);
    // It is on the volume, and of a mode that a worker's cache has.
    let cache = volume.join("search");
    fs::DirBuilder::new().mode(0o700).create(&cache).unwrap();
    for (project, is_filled) in [("mirror", false), ("app", false), ("mirror", true)] {
        if is_filled {
            let mut filler = File::create(volume.join("filler")).unwrap();
            while filler.write_all(&[1; 512]).is_ok() {}
        }
        let expected = scanned(&app, project);
        let worker = Worker::start(&app, Some(&cache), LIMIT);
        assert_eq!(answers(&worker.repo(project)), expected, "{project}");
        until_ended(&worker, 1);
        let (built, failed, _) = worker.metrics.index_counts();
        assert_eq!((built, failed), (0, 1), "{project}: the volume is full");
        assert_eq!(answers(&worker.repo(project)), expected, "{project}");
        assert_eq!(segment_files(&cache), Vec::<PathBuf>::new());
        assert_eq!(files_of(&cache, "new"), 0, "drafts of {project}");
    }
    fs::remove_file(volume.join("filler")).unwrap();
    let grown = ["-o", "remount,size=64m"];
    let grown = Command::new("mount").args(grown).arg(volume).status();
    assert!(grown.unwrap().success());
    let worker = Worker::start(&app, Some(&cache), LIMIT);
    worker.build("mirror");
    assert_eq!(answers(&worker.repo("mirror")), scanned(&app, "mirror"));
}

/// The number of files with this extension below a folder.
fn files_of(folder: &Path, extension: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let count = |path: PathBuf| match path.is_dir() {
        true => files_of(&path, extension),
        false => usize::from(path.extension().is_some_and(|is| is == extension)),
    };
    paths.map(count).sum()
}

#[test]
fn a_hundred_thousand_files_in_one_folder_of_a_mirror_are_indexed() {
    const FILES: u32 = 100_001;
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut stream = "commit refs/heads/main\ncommitter A <a@b.c> 1 +0000\ndata 0\n".to_owned();
    for file in 0..FILES {
        let word = if file % 997 == 0 { "needle" } else { "other" };
        let text = format!("{word} {file}\nneedle-like {}\n", file / 3);
        let length = text.len();
        writeln!(
            stream,
            "M 100644 inline all/f{file:06}\ndata {length}\n{text}"
        )
        .unwrap();
    }
    app.import(&stream);
    mirrored(&app);
    let cache = tempfile::tempdir().unwrap();
    let worker = Worker::start(&app, Some(cache.path()), LIMIT);
    let scan = repos_at(Mounts::beneath(app.host(".")));
    let rules = Rules::new(&[], &[], None).unwrap();
    let scan = scan
        .open("acme", ("mirror", Uuid::nil()), Arc::new(rules))
        .unwrap();
    let found = |repo: &Repo| ["needle 4", "other 4242$"].map(|word| search(repo, &query(word)));
    let expected = found(&scan);
    assert!(
        expected[0].contains("files_searched: 100001"),
        "{expected:?}"
    );
    assert_eq!(found(&worker.repo("mirror")), expected, "before the build");
    worker.build("mirror");
    assert_eq!(found(&worker.repo("mirror")), expected, "after the build");
    let next = Worker::start(&app, Some(cache.path()), LIMIT);
    assert_eq!(found(&next.repo("mirror")), expected, "by another worker");
    assert_eq!(next.unknown("mirror"), 0);
}
