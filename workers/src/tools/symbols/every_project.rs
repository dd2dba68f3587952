//! `find_symbol` over every project that the caller may read.

use archway_repo::{Cancel, Repo};
use archway_symbols::SymbolCache;

use super::{
    find::{FoundSymbol, FoundSymbols, Wanted, find},
    sources::Sources,
};
use crate::{
    projects::Project,
    tools::{
        every_project::{Added, Collect, ReadProject},
        paging,
    },
};

/// A page of definitions in the making.
pub(super) struct EveryProjectSymbols {
    pub(super) cache: SymbolCache,
    pub(super) wanted: Wanted,
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) symbols: Vec<FoundSymbol>,
    /// Definitions of the name in other containers or of other kinds, if a project has none.
    pub(super) elsewhere: Vec<FoundSymbol>,
    /// Definitions in the projects of this page.
    pub(super) total: usize,
    /// A project has more than are counted, or files that could not be parsed now.
    pub(super) is_incomplete: bool,
}

impl Collect for EveryProjectSymbols {
    type Found = FoundSymbols;

    fn read(&self) -> impl ReadProject<Self::Found> + use<> {
        let (cache, wanted, limit) = (self.cache.clone(), self.wanted.clone(), self.limit);
        move |repo: &Repo, cancel: &Cancel, skip, _: &[_]| {
            let sources = Sources::new(&cache, repo, cancel);
            find(&sources, &wanted, skip.saturating_add(limit))
        }
    }

    fn add(&mut self, project: &Project, skip: usize, found: FoundSymbols) -> Added {
        if found.is_late && !self.symbols.is_empty() {
            return Added::TimeUp { shown: 0 };
        }
        let total = found.total;
        let rest = found.symbols.get(skip..).unwrap_or_default();
        let shown = self.show(&project.slug, rest);
        if shown == 0 && !rest.is_empty() {
            return Added::Part { shown: None };
        }
        self.total += total;
        if self.elsewhere.is_empty() {
            let elsewhere = found.elsewhere.into_iter();
            self.elsewhere = elsewhere.map(|it| it.of_project(&project.slug)).collect();
        }
        self.is_incomplete |= found.is_incomplete;
        match found.is_late {
            // Their order is by how well they match: after more files, others may stand before them.
            true if shown > 0 => Added::Cut,
            true => Added::TimeUp { shown },
            false if skip + shown < total => Added::Part { shown: Some(shown) },
            false => Added::Whole,
        }
    }
}

impl EveryProjectSymbols {
    /// Adds as many definitions as there is room for. Returns how many.
    fn show(&mut self, slug: &str, symbols: &[FoundSymbol]) -> usize {
        let room = self.limit.saturating_sub(self.symbols.len());
        let symbols = symbols.iter().take(room).cloned();
        let named: Vec<FoundSymbol> = symbols.map(|it| it.of_project(slug)).collect();
        let used = paging::size_of_all(&self.symbols);
        let fits = paging::fit_within(&named, self.budget.saturating_sub(used));
        let least = usize::from(self.symbols.is_empty()).min(named.len());
        let shown = fits.max(least);
        self.symbols.extend(named.into_iter().take(shown));
        shown
    }
}
