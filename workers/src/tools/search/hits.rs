//! What a search found so far, and the page of it that fits.

use archway_repo::{MatchedLine, Matches, SearchTotals};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::{context::Snapshot, tools::paging};

/// A page of found lines.
pub(super) struct Page<M> {
    pub(super) matches: Vec<M>,
    pub(super) totals: SearchTotals,
    pub(super) truncated: bool,
    /// Context lines were left out, for want of room.
    pub(super) context_omitted: bool,
    /// How many projects were to be searched.
    pub(super) projects: usize,
    /// Those that could not be searched now.
    pub(super) skipped: Vec<Skipped>,
    pub(super) duration_ms: u64,
}

/// A project that could not be searched now.
pub(super) struct Skipped {
    pub(super) slug: String,
    /// In words that name it.
    pub(super) why: String,
}

impl Skipped {
    /// The slugs of these projects.
    pub(super) fn slugs(skipped: Vec<Skipped>) -> Vec<String> {
        skipped.into_iter().map(|it| it.slug).collect()
    }
}

/// The lines around a match.
#[derive(Serialize, JsonSchema)]
pub(super) struct Around {
    before: Vec<String>,
    after: Vec<String>,
}

/// A found line in the words of one contract.
pub(super) trait Match: Serialize {
    fn new(line: MatchedLine, project: Option<String>, around: Around) -> Self;
    fn around(&mut self) -> &mut Around;
    /// The file it is in, below its project's name where several are searched.
    fn file(&self) -> String;
}

/// What was found so far.
pub(super) struct Hits<M> {
    pub(super) basis: String,
    matches: Vec<M>,
    pub(super) totals: SearchTotals,
    pub(super) moved: bool,
    pub(super) projects: usize,
    pub(super) skipped: Vec<Skipped>,
    pub(super) snapshot: Option<Snapshot<()>>,
}

impl<M: Match> Hits<M> {
    pub(super) fn new(basis: String) -> Self {
        Hits {
            basis,
            matches: Vec::new(),
            totals: SearchTotals::default(),
            moved: false,
            projects: 1,
            skipped: Vec::new(),
            snapshot: None,
        }
    }

    pub(super) fn add(&mut self, found: Matches, project: Option<&str>) {
        self.totals += found.totals;
        self.matches.extend(found.lines.into_iter().map(|mut line| {
            let around = Around {
                before: std::mem::take(&mut line.before),
                after: std::mem::take(&mut line.after),
            };
            M::new(line, project.map(str::to_owned), around)
        }));
    }

    /// The page that fits, and the cursor of the next. Context goes before a match does.
    pub(super) fn page(
        &mut self,
        skip: usize,
        budget: usize,
        started: Instant,
    ) -> (Page<M>, Option<String>) {
        let mut matches = std::mem::take(&mut self.matches);
        let context_omitted = paging::fit(&matches, budget) < matches.len();
        if context_omitted {
            for found in &mut matches {
                *found.around() = Around {
                    before: Vec::new(),
                    after: Vec::new(),
                };
            }
            matches.truncate(paging::fit(&matches, budget).max(1));
        }
        let given = skip + matches.len();
        let more = (given as u64) < self.totals.matches;
        let page = Page {
            matches,
            totals: self.totals,
            truncated: more || self.totals.incomplete || !self.skipped.is_empty(),
            context_omitted,
            projects: self.projects,
            skipped: std::mem::take(&mut self.skipped),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        // A search that was cut off may end elsewhere the next time: there is no place to go on.
        let next = (more && !self.totals.incomplete).then(|| paging::cursor(&self.basis, given));
        (page, next)
    }
}
