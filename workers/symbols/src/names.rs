//! The names that a text uses, each by a number.

use std::{borrow::Cow, collections::HashMap};

/// Names and their numbers, in the order in which they were met first.
#[derive(Default)]
pub(crate) struct Names<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    texts: Vec<Box<str>>,
}

impl<'a> Names<'a> {
    /// The number of a name, which may be new. `None` if there are too many.
    pub(crate) fn number(&mut self, name: impl Into<Cow<'a, str>>) -> Option<u32> {
        let name = name.into();
        if let Some(number) = self.numbers.get(&name) {
            return Some(*number);
        }
        let number = u32::try_from(self.texts.len()).ok()?;
        self.texts.push((&*name).into());
        self.numbers.insert(name, number);
        Some(number)
    }

    /// The names, by number.
    pub(crate) fn into_texts(self) -> Vec<Box<str>> {
        self.texts
    }
}
