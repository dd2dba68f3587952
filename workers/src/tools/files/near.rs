//! Near paths of one that names nothing, from the listing: what path rules close, or git ignores, is not in it.
//! The git tools look among the paths of a commit.
//!
//! Computed only after a lookup failed, so successful calls pay nothing. A known path is near if its last
//! component is; those come first whose whole path is near.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use archway_proto::{failure::Failure, nearest};
use archway_repo::{Cancel, EntryKind, Listing, Repo, RepoPath, text};
use tokio::time::{Duration, Instant};

/// Paths that a failure names at most.
const MOST: usize = 3;
/// A project with more entries gets no near paths.
const MAX_ENTRIES: usize = 200_000;
/// Paths with a near name whose whole path is compared, at most: those with the most folders in common.
const MAX_COMPARED: usize = 1_000;
/// No longer path is named, in bytes.
const LONGEST_PATH: usize = 256;
/// How long to look for near paths.
const WAIT: Duration = Duration::from_secs(2);

/// The files near a path of none, if `is_readable`.
pub(in crate::tools) fn files(
    repo: &Repo,
    path: &RepoPath,
    cancel: &Cancel,
    is_readable: impl Fn(&RepoPath) -> bool,
) -> Vec<String> {
    let Some(listing) = listing(repo, cancel) else {
        return Vec::new();
    };
    let entries = listing.entries.iter();
    let files = entries.filter(|it| it.kind != EntryKind::LinkToDirectory && is_readable(&it.path));
    among(path, files.map(|file| file.path.as_bytes()))
}

/// The folders near a path of none.
pub(super) fn folders(repo: &Repo, path: &RepoPath, cancel: &Cancel) -> Vec<String> {
    let Some(listing) = listing(repo, cancel) else {
        return Vec::new();
    };
    let mut folders: HashSet<&[u8]> = HashSet::new();
    for entry in &listing.entries {
        let mut path = entry.path.as_bytes();
        if entry.kind == EntryKind::LinkToDirectory {
            folders.insert(path);
        }
        while let Some(end) = path.iter().rposition(|&byte| byte == b'/') {
            path = path.get(..end).unwrap_or_default();
            if !folders.insert(path) {
                break;
            }
        }
    }
    among(path, folders.into_iter())
}

/// Names near paths in a failure.
pub(in crate::tools) fn suggest(mut failure: Failure, near: Vec<String>) -> Failure {
    if near.is_empty() {
        return failure;
    }
    failure.suggestion = format!("{} Or {}", question(&near), failure.suggestion);
    failure.detail("nearest", near)
}

/// How a message names near paths: "did you mean `a` or `b`?".
pub(in crate::tools) fn question(near: &[String]) -> String {
    let named: Vec<String> = near.iter().map(|path| format!("`{path}`")).collect();
    format!("did you mean {}?", named.join(" or "))
}

/// The deadline of a search for near paths, which is optional.
pub(in crate::tools) fn briefly(cancel: &Cancel) -> Cancel {
    cancel.until(Instant::now() + WAIT)
}

/// The listing, unless it is too large. A suggestion is optional, so failures are ignored.
fn listing(repo: &Repo, cancel: &Cancel) -> Option<Arc<Listing>> {
    let listing = repo.listing(&briefly(cancel)).ok()?;
    (listing.entries.len() <= MAX_ENTRIES).then_some(listing)
}

/// A known path whose last component is near.
struct Candidate<'a> {
    path: &'a str,
    name: &'a str,
    /// How many folders it has in common with the path asked for.
    common: usize,
}

/// The known paths near `path`, the nearest first.
pub(in crate::tools) fn among<'a>(
    path: &RepoPath,
    known: impl Iterator<Item = &'a [u8]>,
) -> Vec<String> {
    let path = path.display();
    let (_, name) = split(&path);
    let letters = letters(name);
    let mut candidates: Vec<Candidate<'_>> = known
        .filter(|known| known.len() <= LONGEST_PATH)
        .filter_map(|known| std::str::from_utf8(known).ok())
        .map(|path| (path, split(path).1))
        .filter(|(_, known)| may_be_near((name, letters), known))
        .filter(|(_, known)| nearest::to(name, std::iter::once(*known)).is_some())
        // Messages name paths between backticks.
        .filter(|(known, _)| text::shown(known) == *known && !known.contains('`'))
        .map(|(known, name)| Candidate {
            path: known,
            name,
            common: folders_in_common(&path, known),
        })
        .collect();
    candidates.sort_unstable_by_key(|it| (Reverse(it.common), it.path));
    candidates.truncate(MAX_COMPARED);
    let mut near = nearest::among(&path, candidates.iter().map(|it| it.path), MOST);
    for path in by_name(name, &candidates) {
        if near.len() < MOST && !near.contains(&path) {
            near.push(path);
        }
    }
    near.into_iter().map(str::to_owned).collect()
}

/// The paths with the nearest names, those with the most folders in common first. Many of one name, without
/// any folder in common, are near to nothing.
fn by_name<'a>(name: &str, candidates: &[Candidate<'a>]) -> Vec<&'a str> {
    let names = candidates.iter().map(|it| it.name);
    let names = nearest::among(name, names, MAX_COMPARED);
    let rank = |it: &Candidate<'_>| names.iter().position(|name| *name == it.name);
    let ranked = candidates.iter().filter_map(|it| Some((rank(it)?, it)));
    let mut ranked: Vec<_> = ranked
        .filter(|(_, it)| it.common > 0 || candidates.len() <= MOST)
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, it)| it.path).collect()
}

/// The folder and the last component.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The number of folders that two paths begin with, and of those that they end with.
fn folders_in_common(a: &str, b: &str) -> usize {
    let ((a, _), (b, _)) = (split(a), split(b));
    let same = |(a, b): &(&str, &str)| a == b;
    let first = a.split('/').zip(b.split('/')).take_while(same).count();
    let last = a.rsplit('/').zip(b.rsplit('/')).take_while(same).count();
    first + last
}

/// The ASCII characters of a name, as a set without case.
fn letters(name: &str) -> u128 {
    let bytes = name.bytes().filter(u8::is_ascii);
    bytes.fold(0, |set, byte| set | 1 << byte.to_ascii_lowercase())
}

/// Whether names may be near: excludes most names cheaply, as every character that is missing is an edit.
fn may_be_near((name, letters_of_name): (&str, u128), known: &str) -> bool {
    let edits = name.len().max(known.len()) / 3;
    (letters_of_name & !letters(known)).count_ones() as usize <= edits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(path: &str, known: &[&str]) -> Vec<String> {
        let path = RepoPath::parse(path).unwrap();
        among(&path, known.iter().map(|known| known.as_bytes()))
    }

    #[test]
    fn the_whole_path_decides_before_the_last_component() {
        let known = [
            "README.md",
            "lib/maim.rs",
            "lib/none.rs",
            "src/main.rs",
            "src/tools/files/open.rs",
            "src/tools/files/window.rs",
        ];
        assert_eq!(near("src/maim.rs", &known), ["src/main.rs", "lib/maim.rs"]);
        assert_eq!(near("SRC/MAIN.RS", &known), ["src/main.rs"]);
        assert_eq!(near("main.rs", &known), ["src/main.rs"]);
        assert_eq!(near("src/tools/open", &known), ["src/tools/files/open.rs"]);
        assert_eq!(
            near("a/b/c/d/e/open.rs", &known),
            ["src/tools/files/open.rs"]
        );
        for unlike in ["src/tools/files/absent.rs", "nothing/like/it", "x", "src"] {
            assert_eq!(
                near(unlike, &known),
                [""; 0],
                "{unlike}: only folders are alike"
            );
        }
    }

    #[test]
    fn of_many_paths_with_one_name_those_in_like_folders_are_near() {
        let known: Vec<String> = (0..2_000)
            .map(|n| format!("packages/p{n:04}/source/package.json"))
            .chain(["services/long/way/down/the/tree/of/a/shop/checkout/package.json".to_owned()])
            .collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let moved = "services/long/way/down/the/tree/of/another/shop/checkout/package.json";
        assert_eq!(
            near(moved, &known),
            ["services/long/way/down/the/tree/of/a/shop/checkout/package.json"]
        );
        let unlike = format!("{}/package.json", "elsewhere/".repeat(8));
        assert_eq!(near(&unlike, &known), [""; 0]);
        assert_eq!(near("package.json", &known).len(), MOST);
    }

    #[test]
    fn odd_names_and_long_paths_are_never_near() {
        let long = format!("{}open.rs", "folder/".repeat(40));
        let known = ["a/open\u{202e}.rs", "b/open\n.rs", "c/open`.rs", &long];
        assert_eq!(near("open.rs", &known), [""; 0]);
        let path = RepoPath::parse("open.rs").unwrap();
        assert_eq!(among(&path, [&b"open\xff.rs"[..]].into_iter()), [""; 0]);
    }

    #[test]
    fn the_cheap_test_excludes_no_near_name() {
        let names = [
            "open.rs",
            "Opne.rs",
            "open",
            "opened.rs",
            "README",
            "readme.md",
            "a",
            "ä.rs",
        ];
        for name in names {
            for known in names {
                if nearest::to(name, std::iter::once(known)).is_some() {
                    assert!(may_be_near((name, letters(name)), known), "{name} {known}");
                }
            }
        }
        assert!(!may_be_near(("open.rs", letters("open.rs")), "quux.txt"));
    }

    #[test]
    fn a_failure_names_near_paths_before_its_own_suggestion() {
        use archway_proto::fault::Fault;
        let failure = Failure::new(Fault::FileNotFound, "no file a", "call list_files");
        assert_eq!(suggest(failure.clone(), Vec::new()), failure);
        let near = vec!["b".to_owned(), "c d".to_owned()];
        let told = suggest(failure, near);
        assert_eq!(
            told.suggestion,
            "did you mean `b` or `c d`? Or call list_files"
        );
        assert_eq!(told.details["nearest"], serde_json::json!(["b", "c d"]));
    }
}
