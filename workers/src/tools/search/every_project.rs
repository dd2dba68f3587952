//! A search of every project that the caller may read.
//!
//! A page has whole projects as far as it has room, and part of one only if that has more matches than a page.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Cancel, MatchRange, Matches, Query, Repo, SearchTotals};

use super::collected::{CollectedMatches, Match};
use crate::{
    context::Snapshot,
    projects::Project,
    tools::every_project::{Added, Collect},
};

/// A page of matches in the making.
pub(super) struct EveryProjectMatches<M> {
    pub(super) query: Arc<Query>,
    /// Matching lines.
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) collected: CollectedMatches<M>,
}

impl<M: Match> Collect for EveryProjectMatches<M> {
    type Found = Matches;

    fn read(
        &self,
    ) -> impl Fn(
        &Repo,
        &Cancel,
        usize,
        &[Result<Snapshot<Matches>, Failure>],
    ) -> Result<Matches, Failure>
    + Send
    + Sync
    + use<M>
    + 'static {
        let (query, limit) = (Arc::clone(&self.query), self.limit);
        move |repo, cancel, skip, before| {
            // A page takes no part of a project that has more lines than fit: a batch renders at most a page.
            let lines = before.iter().flatten().map(|found| found.value.lines.len());
            let limit = limit.saturating_sub(lines.sum());
            Ok(repo.search(&query, MatchRange::of(skip, limit), cancel)?)
        }
    }

    fn add(&mut self, project: &Project, skip: usize, mut found: Matches) -> Added {
        let room = self.limit.saturating_sub(self.collected.len());
        let rest = usize::try_from(found.totals.matches).unwrap_or(usize::MAX);
        let rest = rest.saturating_sub(skip);
        let is_empty = self.collected.len() == 0;
        if !is_empty && rest > room {
            return Added::Part { shown: None };
        }
        let (totals, lines) = (found.totals, found.lines.len());
        found.totals = SearchTotals::default();
        let before = self.collected.len();
        self.collected.add(found, Some(&project.slug));
        let mut shown = lines;
        if !self.collected.fits(self.budget) {
            if !is_empty {
                self.collected.truncate(before);
                return Added::Part { shown: None };
            }
            shown = self.collected.cut(self.budget);
        }
        self.collected.totals += SearchTotals {
            incomplete: false,
            ..totals
        };
        match (shown < rest, totals.incomplete) {
            (_, true) => Added::TimeUp { shown },
            (true, false) => Added::Part { shown: Some(shown) },
            (false, false) => Added::Whole,
        }
    }
}
