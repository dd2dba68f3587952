//! The quality of lists of results.

use std::{collections::HashSet, fmt};

use crate::corpus::{Corpus, LabelledQuery};

/// Sums over lists.
#[derive(Default)]
pub(crate) struct Quality {
    lists: usize,
    reciprocals: f64,
    among_five: usize,
    /// Lists with a right file among the first 1, 5 and 10 results.
    files: [usize; 3],
    distinct: usize,
}

impl Quality {
    /// Counts a list of chunks, best first.
    pub(crate) fn count(&mut self, corpus: &Corpus, query: &LabelledQuery, list: &[usize]) {
        let path = |chunk: &usize| &corpus.paths[corpus.passages[*chunk].file];
        let is_file = |chunk: &usize| query.files.contains(path(chunk));
        let is_right = |chunk: &usize| {
            let location = &corpus.passages[*chunk].location;
            let symbol = query.symbol.as_ref();
            is_file(chunk) && symbol.is_none_or(|symbol| location.symbol.as_ref() == Some(symbol))
        };
        self.lists += 1;
        if let Some(before) = list.iter().take(10).position(is_right) {
            self.reciprocals += 1.0 / (before + 1) as f64;
            self.among_five += usize::from(before < 5);
        }
        for (count, first) in self.files.iter_mut().zip([1, 5, 10]) {
            *count += usize::from(list.iter().take(first).any(is_file));
        }
        self.distinct += list.iter().map(path).collect::<HashSet<_>>().len();
    }

    pub(crate) fn queries(&self) -> usize {
        self.lists
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| count as f64 / self.lists as f64;
        let [first, five, ten] = self.files.map(share);
        write!(
            f,
            "MRR@10 {:.3}, recall@5 {:.3}; file Acc@1 {first:.3}, @5 {five:.3}, @10 {ten:.3}; {:.1} distinct files",
            self.reciprocals / self.lists as f64,
            share(self.among_five),
            share(self.distinct),
        )
    }
}
