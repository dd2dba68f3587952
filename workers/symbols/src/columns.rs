//! Columns of names, each counted on from the one before: a line may have the length of the text.

use tree_sitter::Node;

/// The columns of a text's names, in the order of the text.
pub(crate) struct Columns<'a> {
    text: &'a str,
    /// Where the line of the last name begins, and the name, in bytes.
    line: usize,
    name: usize,
    /// Characters between the two.
    characters: usize,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(text: &'a str) -> Columns<'a> {
        Columns {
            text,
            line: 0,
            name: 0,
            characters: 0,
        }
    }

    /// The column of a name in characters, from 1.
    pub(crate) fn next(&mut self, node: Node<'_>) -> u32 {
        let start = node.start_byte();
        self.at(start, start.saturating_sub(node.start_position().column))
    }

    /// The column of a byte in characters, from 1; `line` is where its line begins.
    pub(crate) fn at(&mut self, start: usize, line: usize) -> u32 {
        if line != self.line || start < self.name {
            (self.name, self.characters) = (line, 0);
        }
        let part = self.text.get(self.name..start);
        self.characters += part.map_or(0, |part| part.chars().count());
        (self.line, self.name) = (line, start);
        u32::try_from(self.characters + 1).unwrap_or(u32::MAX)
    }
}
