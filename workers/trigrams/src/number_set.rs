//! A set of documents, or of sections, of one segment.

/// A set of documents, or of sections, of one segment, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSet {
    words: Vec<u64>,
    /// How many there are in the segment.
    total: u32,
}

impl NumberSet {
    /// The empty set, for a segment that has `total` of them.
    pub fn none(total: u32) -> NumberSet {
        NumberSet {
            words: vec![0; total.div_ceil(64) as usize],
            total,
        }
    }

    /// The set of all, for a segment that has `total` of them.
    pub fn all(total: u32) -> NumberSet {
        let mut all = NumberSet::none(total);
        all.words.fill(u64::MAX);
        if let Some(last) = all.words.last_mut().filter(|_| !total.is_multiple_of(64)) {
            *last = (1 << (total % 64)) - 1;
        }
        all
    }

    /// Adds a number; false if the segment has nothing of that number.
    pub fn insert(&mut self, number: u32) -> bool {
        if number >= self.total {
            return false;
        }
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
        true
    }

    /// Whether the number is in the set.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The numbers, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let words = self.words.iter().zip((0u32..).step_by(64));
        words.flat_map(|(word, first)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(first + bit)
            })
        })
    }

    pub(crate) fn intersect(&mut self, other: &NumberSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub(crate) fn unite(&mut self, other: &NumberSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Adds the numbers whose bits are set, eight of them a byte, the lowest bit first. Returns
    /// false if the segment lacks one of them.
    pub(crate) fn insert_bits(&mut self, bits: &[u8]) -> bool {
        let numbers = bits.iter().zip((0u32..).step_by(8));
        let mut numbers = numbers.flat_map(|(byte, first)| {
            let set = (0..8).filter(move |bit| byte >> bit & 1 == 1);
            set.map(move |bit| first + bit)
        });
        numbers.all(|number| self.insert(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted_and_all_has_every_document() {
        for documents in [0, 1, 63, 64, 65, 200] {
            let all = NumberSet::all(documents);
            assert!(all.iter().eq(0..documents), "{documents}");
            assert_eq!(all.is_empty(), documents == 0);
            assert!(!all.contains(documents));
        }
        let mut set = NumberSet::none(100);
        assert!(set.insert(99) && set.insert(0) && !set.insert(100));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 99]);
        assert!(set.insert_bits(&[0b10, 0b1]) && !set.insert_bits(&[0xFF; 13]));
        assert!(set.contains(1) && set.contains(8));
    }
}
