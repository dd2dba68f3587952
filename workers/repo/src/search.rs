//! A search over many files: parallel and deterministic.
//!
//! Files are taken in path order, in blocks; within a block they are counted in parallel. Only the
//! few files with lines in the requested range are read again to render those lines, so memory is
//! bounded by the lines returned, not by the matches. When time is up, the answer covers the files
//! before the first unfinished one: it is shorter, but has no gaps.

mod covered;
mod matches;
mod query;
mod search_pattern;

use std::cell::RefCell;
use std::time::Duration;

use rayon::prelude::*;
use tokio::time::Instant;

use super::cancel::{Cancel, Stopped};
use super::error::RepoError;
use super::file_text::{LoadedFile, Wanted};
use super::listing::Listing;
use super::matched_line::{MatchSpan, MatchedLine};
use super::path::RepoPath;
use super::scan::{self, Count, LineCounter};
use crate::search_pool::SearchThreads;

use covered::{CoveredFile, covered, end_of_block};
pub(super) use matches::EmptyTotals;
pub use matches::{Matches, SearchTotals};
pub use query::{Excluded, MatchRange, Query};
use search_pattern::CompiledPattern;
pub(super) use search_pattern::PatternKey;
pub use search_pattern::SearchPattern;

/// So few files are read on the calling thread: waking others takes longer.
const FEW: usize = 4;

/// Buffer capacity that a thread keeps between files, in bytes.
const KEPT_BUFFER: usize = 1 << 20;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Extra time for rendering lines once the deadline for counting has passed.
const GRACE: Duration = Duration::from_millis(60);

/// Where the bytes of listed files come from.
pub(super) trait FileSource: Sync {
    /// The counts of the files that are known, in their order. `None` for a file that has to be read.
    fn known_counts(&self, files: &[ListedFile<'_>]) -> Vec<Option<Count>>;

    /// Remembers the matching lines of files by position, for the next search of the same pattern.
    fn record_counts(&self, pattern: &PatternKey, counted: &[(usize, u64)]);

    /// The file's text, or at least what is wanted of it, read into `buffer` unless it is cached.
    /// `None` if the file is too large to search, or gone.
    fn load<'a>(
        &self,
        file: ListedFile<'_>,
        wanted: Wanted,
        buffer: &'a mut Vec<u8>,
    ) -> Option<LoadedFile<'a>>;

    /// Where to remember the totals, if it is certain without a look at the files that none matches.
    fn empty_totals(&self) -> Option<&EmptyTotals> {
        None
    }

    /// Whether a file that did not load exists but is too large.
    fn is_too_large(&self, file: ListedFile<'_>) -> bool;
}

/// A file of a listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedFile<'a> {
    /// Its position in the listing.
    pub(super) position: usize,
    pub(super) path: &'a RepoPath,
}

/// Searches all listed files on `threads`. Must not itself run on one of them: a thread that waits
/// for its share of the work takes up another's, and that must never be a whole search.
pub(super) fn search(
    content: &impl FileSource,
    listing: &Listing,
    (query, range): (&Query, MatchRange),
    threads: &SearchThreads<'_>,
    cancel: &Cancel,
) -> Result<Matches, RepoError> {
    let pattern = query.pattern.compiled()?;
    let empty = content.empty_totals();
    if let Some(totals) = empty.and_then(|empty| empty.get(query)) {
        return Ok(Matches {
            totals,
            ..Matches::default()
        });
    }
    let files = covered(content, listing, query, (threads, cancel));
    let mut search = Search {
        content,
        pattern,
        query,
        range,
        threads,
        cancel,
        counted: Vec::new(),
        found: Matches::default(),
    };
    let mut rest = files.as_slice();
    while !rest.is_empty() && !search.found.totals.incomplete {
        let (block, next) = rest.split_at(end_of_block(rest));
        search.block(block)?;
        rest = next;
    }
    content.record_counts(query.pattern.key(), &search.counted);
    if let Some(empty) = empty {
        empty.insert(query, search.found.totals);
    }
    Ok(search.found)
}

struct Search<'a, C> {
    content: &'a C,
    pattern: &'a CompiledPattern,
    query: &'a Query,
    range: MatchRange,
    threads: &'a SearchThreads<'a>,
    cancel: &'a Cancel,
    /// Matching lines by position, of files whose text an index has.
    counted: Vec<(usize, u64)>,
    found: Matches,
}

/// A file's count.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CountedFile {
    count: Count,
    /// Whether to remember it: it was counted now, in the text that an index has.
    is_new: bool,
}

impl CountedFile {
    fn known(count: Count) -> CountedFile {
        CountedFile {
            count,
            is_new: false,
        }
    }
}

/// The part of a file's matching lines to return.
struct Window<'a> {
    file: ListedFile<'a>,
    skip: usize,
    take: usize,
}

impl<C: FileSource> Search<'_, C> {
    fn block(&mut self, files: &[CoveredFile<'_>]) -> Result<(), RepoError> {
        let unknown = files.iter().filter(|file| file.known.is_none());
        let unknown: Vec<ListedFile<'_>> = unknown.map(|covered| covered.file).collect();
        let counts = self.each(&unknown, |file| self.count(*file));
        if counts.contains(&Err(Stopped::Cancelled)) {
            return Err(Stopped::Cancelled.into());
        }
        let mut windows = Vec::new();
        let mut counts = counts.into_iter();
        for CoveredFile { file, known } in files {
            let counted = match known {
                Some(count) => Some(Ok(CountedFile::known(*count))),
                None => counts.next(),
            };
            let Some(Ok(CountedFile { count, is_new })) = counted else {
                self.found.totals.incomplete = true;
                break;
            };
            if is_new {
                self.counted.push((file.position, count.lines));
            }
            windows.extend(self.window(*file, count.lines));
            if count.lines > 0 && self.range.names_files {
                self.found.files.push(file.path.clone());
            }
            self.found.totals += SearchTotals {
                matches: count.lines,
                files_searched: 1,
                files_skipped: u64::from(count.skipped_lines),
                incomplete: false,
            };
        }
        self.show(&windows)
    }

    fn count(&self, file: ListedFile<'_>) -> Result<CountedFile, Stopped> {
        self.cancel.check()?;
        let count = self.with_content(file, Wanted::Candidates, |loaded| {
            let count = |counter: &mut LineCounter| self.count_parts(loaded, counter);
            let count = self.pattern.with_counter(count);
            let is_new = loaded.is_indexed;
            Some(count.map(|count| CountedFile { count, is_new }))
        });
        let unread = || Count::none(self.content.is_too_large(file));
        count.unwrap_or_else(|| Ok(CountedFile::known(unread())))
    }

    fn count_parts(
        &self,
        loaded: &LoadedFile<'_>,
        counter: &mut LineCounter,
    ) -> Result<Count, Stopped> {
        let mut count = Count::none(loaded.is_skipped);
        for part in loaded.parts() {
            let counted = counter.count(part, self.cancel)?;
            count.lines += counted.lines;
            count.skipped_lines |= counted.skipped_lines;
        }
        Ok(count)
    }

    /// The part of a file's matching lines that is within the range, given the matches counted so
    /// far.
    fn window<'p>(&self, file: ListedFile<'p>, count: u64) -> Option<Window<'p>> {
        let before = usize::try_from(self.found.totals.matches).ok()?;
        let end = before.saturating_add(usize::try_from(count).ok()?);
        let from = before.max(self.range.skip);
        let to = end.min(self.range.skip.saturating_add(self.range.limit));
        (from < to).then(|| Window {
            file,
            skip: from - before,
            take: to - from,
        })
    }

    fn show(&mut self, windows: &[Window<'_>]) -> Result<(), RepoError> {
        let deadline = self.cancel.deadline.max(Instant::now() + GRACE);
        let cancel = Cancel::new(deadline, self.cancel.token.clone());
        let shown = self.each(windows, |window| self.lines(window, &cancel));
        for lines in shown {
            match lines {
                Ok(lines) => self.found.lines.extend(lines),
                Err(Stopped::Cancelled) => return Err(Stopped::Cancelled.into()),
                Err(Stopped::Deadline) => {
                    self.found.totals.incomplete = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn lines(&self, window: &Window<'_>, cancel: &Cancel) -> Result<Vec<MatchedLine>, Stopped> {
        let lines = self.with_content(window.file, Wanted::Whole, |loaded| {
            Some(self.lines_of(window, loaded.text()?, cancel))
        });
        lines.unwrap_or(Ok(Vec::new()))
    }

    fn lines_of(
        &self,
        window: &Window<'_>,
        text: &str,
        cancel: &Cancel,
    ) -> Result<Vec<MatchedLine>, Stopped> {
        let lines = scan::collect(
            text,
            &self.pattern.matcher,
            (window.skip, window.take),
            cancel,
        )?;
        let (path, context) = (window.file.path, self.query.context);
        let show = |line: &MatchSpan| line.render(path, text, &self.pattern.matcher, context);
        Ok(lines.iter().map(show).collect())
    }

    fn with_content<T>(
        &self,
        file: ListedFile<'_>,
        wanted: Wanted,
        work: impl FnOnce(&LoadedFile<'_>) -> Option<T>,
    ) -> Option<T> {
        BUFFER.with_borrow_mut(|buffer| {
            let loaded = self.content.load(file, wanted, buffer);
            let done = loaded.and_then(|loaded| work(&loaded));
            buffer.shrink_to(KEPT_BUFFER);
            done
        })
    }

    /// Does work on each item, in parallel unless they are few.
    fn each<I: Sync, T: Send>(&self, items: &[I], work: impl Fn(&I) -> T + Send + Sync) -> Vec<T> {
        match items.len() {
            0..=FEW => items.iter().map(work).collect(),
            _ => (self.threads).install(|| items.par_iter().map(work).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::super::testing::{Sandbox, cancel, path};
    use super::super::worktree::WorkFiles;
    use super::super::{Glob, Rules};
    use super::*;

    static DIST: Excluded = Excluded {
        folders: &["dist"],
        files: &["*.min.js", "yarn.lock"],
    };

    fn query(pattern: &str) -> Query {
        Query {
            pattern: SearchPattern::regex(pattern.to_owned(), true),
            glob: None,
            excluded: &Excluded::NONE,
            context: 0,
        }
    }

    /// The first `limit` matches.
    fn first(limit: usize) -> MatchRange {
        MatchRange::of(0, limit)
    }

    fn locations(found: &Matches) -> Vec<String> {
        found
            .lines
            .iter()
            .map(|line| format!("{}:{}", line.path, line.line))
            .collect()
    }

    fn many() -> Sandbox {
        let app = Sandbox::new();
        for number in 0..1500 {
            let lines = format!("x {number}\ny\nx again\n").repeat(number % 3);
            app.file(&format!("d{}/f{number}.txt", number % 7), lines);
        }
        app
    }

    #[test]
    fn lines_are_ordered_by_path_and_line_and_totals_cover_all_files() {
        let app = Sandbox::new();
        app.file("b/x", "hit\n")
            .file("a.txt", "hit\nno\nhit")
            .file("b-x", "hit")
            .file("c", "no");
        let found = app.repo().search(&query("hit"), first(3), &cancel());
        let found = found.unwrap();
        assert_eq!(locations(&found), ["a.txt:1", "a.txt:3", "b/x:1"]);
        let all = SearchTotals {
            matches: 4,
            files_searched: 4,
            ..SearchTotals::default()
        };
        assert_eq!(found.totals, all);
    }

    #[test]
    fn files_are_named_once_in_order_without_lines() {
        let app = Sandbox::new();
        app.file("b/x", "hit\nhit\n")
            .file("a.txt", "hit")
            .file("c", "no");
        let found = app
            .repo()
            .search(&query("hit"), MatchRange::FILES, &cancel());
        let found = found.unwrap();
        assert_eq!(found.files, [path("a.txt"), path("b/x")]);
        assert!(found.lines.is_empty());
        assert_eq!(found.totals.matches, 3);
    }

    #[test]
    fn ranges_add_up_to_the_whole_answer() {
        let (app, query) = (many(), query("x"));
        let repo = app.repo();
        let whole = repo.search(&query, first(5000), &cancel()).unwrap();
        assert_eq!((whole.totals.matches, whole.lines.len()), (3000, 3000));
        let mut joined = Vec::new();
        for skip in (0..3000).step_by(700) {
            let window = MatchRange::of(skip, 700);
            let found = repo.search(&query, window, &cancel()).unwrap();
            assert_eq!(found.totals, whole.totals);
            joined.extend(found.lines);
        }
        assert_eq!(joined, whole.lines);
    }

    #[test]
    fn the_same_tree_gives_the_same_answer_every_time() {
        let app = many();
        let repo = app.repo();
        let query = query("x [0-9]*7$");
        let ask = || repo.search(&query, first(10), &cancel()).unwrap();
        let once = ask();
        for _ in 0..5 {
            assert_eq!(
                (ask().lines, ask().totals),
                (once.lines.clone(), once.totals)
            );
        }
    }

    #[test]
    fn exclusions_apply_even_to_files_that_the_glob_names() {
        let app = Sandbox::new();
        app.file("dist/a.js", "hit")
            .file("src/dist", "hit")
            .file("src/a.min.js", "hit");
        app.file("yarn.lock", "hit")
            .file("src/a.js", "hit")
            .file(".env", "hit");
        app.file("ignored.js", "hit")
            .file(".gitignore", "ignored.js\n");
        let excluded = Query {
            excluded: &DIST,
            ..query("hit")
        };
        let found = app.repo().search(&excluded, first(10), &cancel()).unwrap();
        assert_eq!(
            (locations(&found), found.totals.files_searched),
            (vec!["src/a.js:1".into(), "src/dist:1".into()], 3)
        );
        let glob = Some(Glob::parse("*.js").unwrap());
        let found = app
            .repo()
            .search(&Query { glob, ..excluded }, first(10), &cancel())
            .unwrap();
        assert_eq!(
            (locations(&found), found.totals.files_searched),
            (vec!["src/a.js:1".into()], 1)
        );
    }

    #[test]
    fn binary_and_large_files_count_as_files_but_are_not_searched() {
        let app = Sandbox::new();
        let large = usize::try_from(scan::MAX_FILE).unwrap() + 1;
        app.file("binary", "hit\0")
            .file("large", "hit\n".repeat(large / 4 + 1));
        app.file("text", "hit").link("link", "text");
        let found = app
            .repo()
            .search(&query("hit"), first(10), &cancel())
            .unwrap();
        assert_eq!(
            (locations(&found), found.totals.files_searched),
            (vec!["text:1".into()], 3)
        );
    }

    #[test]
    fn a_deadline_ends_the_search_and_a_cancelled_call_has_no_answer() {
        let app = Sandbox::new();
        app.file("a", "hit");
        let repo = app.repo();
        let listing = repo.listing(&cancel()).unwrap();
        let work = repo.snapshot.project().work_tree();
        let threads = repo.shared.search_pools.begin(&repo.tenant);
        let over = Cancel::new(Instant::now(), CancellationToken::new());
        let query = query("hit");
        let files = WorkFiles::scanned(work);
        let ask = || search(&files, &listing, (&query, first(10)), &threads, &over);
        let found = ask().unwrap();
        assert!(found.totals.incomplete && found.lines.is_empty() && found.totals.matches == 0);
        over.token.cancel();
        let refused = ask().unwrap_err();
        assert!(matches!(refused, RepoError::Stopped(Stopped::Cancelled)));
    }

    #[test]
    fn a_file_removed_after_listing_has_no_lines() {
        let app = Sandbox::new();
        app.file("a", "hit").file("b", "hit");
        let repo = app.repo_with(Rules::new(&[], &[], None).unwrap());
        let listing = repo.listing(&cancel()).unwrap();
        std::fs::remove_file(app.root().join("a")).unwrap();
        let work = repo.snapshot.project().work_tree();
        let threads = repo.shared.search_pools.begin(&repo.tenant);
        let found = search(
            &WorkFiles::scanned(work),
            &listing,
            (&query("hit"), first(10)),
            &threads,
            &cancel(),
        )
        .unwrap();
        assert_eq!(locations(&found), ["b:1"]);
        assert!(!Excluded::NONE.covers(&path("a")));
    }
}
