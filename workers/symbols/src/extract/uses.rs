//! The uses of names, as the walk meets them.

use super::{Extractor, MAX_NAME, MAX_USES};
use crate::{
    Kind, Receiver, Use, UseKind, binding, classify,
    naming::{name_text, row},
    path::Path,
    receiver::Before,
    unread::{self, Unread},
};
use archway_repo::syntax::Language;

impl Extractor<'_> {
    /// Adds the use that a name is, if it is one.
    pub(super) fn add_use(&mut self, path: Path<'_, '_>) {
        let Some(node) = path.last().map(|step| step.node) else {
            return;
        };
        let name = name_text(self.text, node);
        let is_full = self.symbols.uses.len() >= MAX_USES;
        if name.is_empty() || name.len() > MAX_NAME || is_full {
            return;
        }
        let is_import = node.start_byte() < self.import_end;
        let is_local = self.shared.is_local(&self.open, path, name);
        let Some((kind, before)) =
            classify::classify(self.language, self.text, path, (is_import, is_local))
        else {
            return;
        };
        if kind == UseKind::Other && classify::is_exported_name(path) {
            self.exported.extend(self.text.get(node.byte_range()));
        }
        let receiver = self.receiver(before);
        let Some(number) = self.names.number(name) else {
            return;
        };
        let used = Use {
            name: number,
            line: row(node.start_position().row),
            column: self.columns.next(node),
            kind,
            receiver,
            within: self.within(),
        };
        self.symbols.uses.push(used);
        if kind == UseKind::Local {
            let last_line = binding::last_line(self.language, path);
            self.symbols.last_lines.push(last_line);
        }
        // `{ name }` is a member of the object as well.
        if let Some(kind) = classify::shorthand(path) {
            let receiver = Receiver::Unknown;
            self.symbols.uses.push(Use {
                kind,
                receiver,
                ..used
            });
        }
    }

    /// Adds the words before a byte that are in no node: macros, mostly.
    pub(super) fn add_unread(&mut self, unread: &mut Unread<'_>, to: usize) {
        while let Some((word, line)) = unread.next(self.text, to) {
            self.open.retain(|open| open.end > word.start);
            let name = self.text.get(word.clone()).unwrap_or_default();
            let is_full = self.symbols.uses.len() >= MAX_USES;
            let number = self
                .names
                .number(name)
                .filter(|_| name.len() <= MAX_NAME && !is_full);
            let Some(name) = number else { continue };
            let column = self.columns.at(word.start, line.start);
            self.symbols.uses.push(Use {
                name,
                line: line.number,
                column,
                kind: UseKind::Other,
                receiver: unread::receiver(self.text, word.start),
                within: self.within(),
            });
        }
    }

    fn receiver(&mut self, before: Before<'_>) -> Receiver {
        let node = match before {
            Before::Nothing => return Receiver::None,
            Before::Own if self.language == Language::Rust => return self.own_type(),
            // The module outside of one in the same text.
            Before::OuterModule if !self.is_in_module() => return Receiver::Unknown,
            // No member, but a name in scope.
            Before::Module | Before::OuterModule => return Receiver::None,
            Before::Own => return Receiver::Own,
            Before::Unknown => return Receiver::Unknown,
            Before::Name(node) => node,
        };
        // A module may stand there as a string.
        let name = name_text(self.text, node).trim_matches(['"', '\'']);
        let number = self.names.number(name).filter(|_| name.len() <= MAX_NAME);
        number.map_or(Receiver::Unknown, Receiver::Name)
    }

    fn is_in_module(&self) -> bool {
        self.open.iter().any(|open| open.kind == Kind::Module)
    }

    /// The type around, by its name.
    fn own_type(&mut self) -> Receiver {
        let own = self.open.iter().rev().find(|open| open.kind.is_type());
        let name = own.map(|own| own.name.clone());
        let number = name.and_then(|name| self.names.number(name));
        number.map_or(Receiver::Unknown, Receiver::Name)
    }
}
