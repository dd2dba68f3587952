//! A set of documents of one segment.

/// A set of documents of one segment, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentSet {
    words: Vec<u64>,
    /// The number of documents of the segment.
    documents: u32,
}

impl DocumentSet {
    /// The empty set, for a segment of `documents` documents.
    pub fn none(documents: u32) -> DocumentSet {
        DocumentSet {
            words: vec![0; documents.div_ceil(64) as usize],
            documents,
        }
    }

    /// The set of all of `documents` documents.
    pub fn all(documents: u32) -> DocumentSet {
        let mut all = DocumentSet::none(documents);
        all.words.fill(u64::MAX);
        if let Some(last) = all
            .words
            .last_mut()
            .filter(|_| !documents.is_multiple_of(64))
        {
            *last = (1 << (documents % 64)) - 1;
        }
        all
    }

    /// Adds a document; false if the segment has no such document.
    pub fn insert(&mut self, document: u32) -> bool {
        if document >= self.documents {
            return false;
        }
        if let Some(word) = self.words.get_mut(document as usize / 64) {
            *word |= 1 << (document % 64);
        }
        true
    }

    /// Whether the document is in the set.
    pub fn contains(&self, document: u32) -> bool {
        let word = self.words.get(document as usize / 64);
        word.is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The documents, in ascending order.
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

    pub(crate) fn intersect(&mut self, other: &DocumentSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub(crate) fn unite(&mut self, other: &DocumentSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Adds the documents whose bits are set, eight of them a byte, the lowest bit first. Returns
    /// false if the segment lacks one of them.
    pub(crate) fn insert_bits(&mut self, bits: &[u8]) -> bool {
        let documents = bits.iter().zip((0u32..).step_by(8));
        let mut documents = documents.flat_map(|(byte, first)| {
            let set = (0..8).filter(move |bit| byte >> bit & 1 == 1);
            set.map(move |bit| first + bit)
        });
        documents.all(|document| self.insert(document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted_and_all_has_every_document() {
        for documents in [0, 1, 63, 64, 65, 200] {
            let all = DocumentSet::all(documents);
            assert!(all.iter().eq(0..documents), "{documents}");
            assert_eq!(all.is_empty(), documents == 0);
            assert!(!all.contains(documents));
        }
        let mut set = DocumentSet::none(100);
        assert!(set.insert(99) && set.insert(0) && !set.insert(100));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 99]);
        assert!(set.insert_bits(&[0b10, 0b1]) && !set.insert_bits(&[0xFF; 13]));
        assert!(set.contains(1) && set.contains(8));
    }
}
