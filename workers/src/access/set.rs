//! Projects of a list, as bits.

use crate::projects::ProjectList;

/// Projects of a list, by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProjectSet(Box<[u64]>);

impl ProjectSet {
    pub(super) fn empty(length: usize) -> ProjectSet {
        ProjectSet(vec![0; length.div_ceil(64)].into())
    }

    pub(super) fn full(length: usize) -> ProjectSet {
        let mut set = ProjectSet::empty(length);
        (0..length).for_each(|at| set.add(at));
        set
    }

    /// Takes out what a host guards, unless its answer or a rule by label gives it.
    pub(super) fn guard(
        &mut self,
        list: &ProjectList,
        reads: &ProjectSet,
        labelled: Option<&ProjectSet>,
    ) {
        for (at, project) in list.iter().enumerate() {
            let is_given = |set: &ProjectSet| set.has(at);
            if project.is_guarded && !reads.has(at) && !labelled.is_some_and(is_given) {
                self.remove(at);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    pub(super) fn add(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Whether the project at this position of the list is in the set.
    pub(super) fn has(&self, at: usize) -> bool {
        let word = self.0.get(at / 64).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    }

    /// Numbers of eight bytes that it takes.
    pub(super) fn words(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_each_position_of_a_long_list() {
        let mut set = ProjectSet::empty(200);
        for at in [0, 63, 64, 199] {
            set.add(at);
        }
        let found: Vec<usize> = (0..300).filter(|at| set.has(*at)).collect();
        assert_eq!(found, [0, 63, 64, 199]);
    }
}
