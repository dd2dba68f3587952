//! The matches collected by a search, and the page of them that fits.

use archway_repo::{MatchedLine, Matches, SearchTotals};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    context::Snapshot,
    tools::{every_project::SkippedProject, paging},
};

/// A page of matches.
pub(super) struct MatchPage<M> {
    pub(super) matches: Vec<M>,
    pub(super) totals: SearchTotals,
    pub(super) truncated: bool,
    /// Context lines were omitted for lack of room.
    pub(super) context_omitted: bool,
    /// Number of projects that were searched to their end or skipped.
    pub(super) projects: usize,
    /// Another page follows.
    pub(super) has_next: bool,
    /// Projects that could not be searched.
    pub(super) skipped: Vec<SkippedProject>,
    pub(super) duration_ms: u64,
}

/// The lines around a match.
#[derive(Serialize, JsonSchema)]
pub(super) struct SurroundingLines {
    before: Vec<String>,
    after: Vec<String>,
}

/// A match in the form of one contract.
pub(super) trait Match: Serialize {
    fn new(line: MatchedLine, project: Option<String>, surrounding_lines: SurroundingLines)
    -> Self;
    fn surrounding_lines(&mut self) -> &mut SurroundingLines;
    /// Its file, prefixed with the project if several are searched.
    fn file(&self) -> String;
}

/// The matches collected so far.
pub(super) struct CollectedMatches<M> {
    pub(super) basis: String,
    matches: Vec<M>,
    /// The size of each match, in bytes.
    sizes: Vec<usize>,
    pub(super) totals: SearchTotals,
    /// Context lines were omitted for lack of room.
    context_omitted: bool,
    /// The number of projects that were searched to their end or skipped.
    pub(super) projects: usize,
    pub(super) skipped: Vec<SkippedProject>,
    pub(super) snapshot: Option<Snapshot<()>>,
}

impl<M: Match> CollectedMatches<M> {
    pub(super) fn new(basis: String) -> Self {
        CollectedMatches {
            basis,
            matches: Vec::new(),
            sizes: Vec::new(),
            totals: SearchTotals::default(),
            context_omitted: false,
            projects: 1,
            skipped: Vec::new(),
            snapshot: None,
        }
    }

    pub(super) fn add(&mut self, found: Matches, project: Option<&str>) {
        self.totals += found.totals;
        self.matches.extend(found.lines.into_iter().map(|mut line| {
            let surrounding_lines = SurroundingLines {
                before: std::mem::take(&mut line.before),
                after: std::mem::take(&mut line.after),
            };
            M::new(line, project.map(str::to_owned), surrounding_lines)
        }));
        self.measure();
    }

    /// Measures the matches that were not measured yet.
    fn measure(&mut self) {
        let new = self.matches.iter().skip(self.sizes.len());
        self.sizes.extend(new.map(paging::size));
    }

    /// The number of matches collected.
    pub(super) fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether all matches fit into `budget` bytes.
    pub(super) fn fits(&self, budget: usize) -> bool {
        paging::fit_sizes(&self.sizes, budget) == self.sizes.len()
    }

    /// Drops all but the first `count` matches.
    pub(super) fn truncate(&mut self, count: usize) {
        self.matches.truncate(count);
        self.sizes.truncate(count);
    }

    /// Omits context, then matches, until the rest fits; at least one match remains. Returns the
    /// number of matches that remain.
    pub(super) fn cut(&mut self, budget: usize) -> usize {
        self.context_omitted = true;
        for found in &mut self.matches {
            *found.surrounding_lines() = SurroundingLines {
                before: Vec::new(),
                after: Vec::new(),
            };
        }
        self.sizes.clear();
        self.measure();
        self.truncate(paging::fit_sizes(&self.sizes, budget).max(1));
        self.matches.len()
    }

    /// The page of all collected matches. `has_next` says that another one follows.
    pub(super) fn whole_page(&mut self, has_next: bool, started: Instant) -> MatchPage<M> {
        MatchPage {
            matches: std::mem::take(&mut self.matches),
            totals: self.totals,
            truncated: has_next || self.totals.incomplete || !self.skipped.is_empty(),
            context_omitted: self.context_omitted,
            projects: self.projects,
            has_next,
            skipped: std::mem::take(&mut self.skipped),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the page that fits, and the cursor of the next one. Context is omitted before a
    /// match is.
    pub(super) fn page(
        &mut self,
        skip: usize,
        budget: usize,
        started: Instant,
    ) -> (MatchPage<M>, Option<String>) {
        if !self.fits(budget) {
            self.cut(budget);
        }
        let returned = skip + self.len();
        let more = (returned as u64) < self.totals.matches;
        // A search that was cut short may end elsewhere the next time, so it has no cursor.
        let next = (more && !self.totals.incomplete).then(|| paging::cursor(&self.basis, returned));
        let page = self.whole_page(next.is_some(), started);
        (page, next)
    }
}
