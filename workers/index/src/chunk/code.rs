//! Source code, cut into its declarations.
//!
//! Chunks never share a byte. A declaration within another takes its bytes out of it: a class is
//! its head, its methods stand alone, and what stands between them is the class again. Between
//! declarations that belong to nobody (constants, statements) are lines.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Language, Syntax, SyntaxError, Walk},
};
use tree_sitter::Node;

use super::{
    Chunk, Kind, MAX_CHUNKS,
    cutter::{Cutter, Label, has_substance, trimmed},
    declared::Role,
    found::{self, Item},
    size::STRUCTURED,
};

/// The chunks of a source file.
///
/// # Errors
/// If the file has no tree, or the call has to stop.
pub(super) fn declarations(
    path: &RepoPath,
    text: &str,
    language: Language,
    cancel: &Cancel,
) -> Result<Vec<Chunk>, SyntaxError> {
    let syntax = parsed(language, text, cancel)?;
    let flaws = if path.name().ends_with(b".h") {
        flaws(&syntax, cancel)?
    } else {
        0
    };
    let items = if flaws == 0 {
        found::items(text, language, &syntax, cancel)?
    } else {
        // A header may be C++, in which C's grammar finds mistakes.
        let other = parsed(Language::Cpp, text, cancel)?;
        if self::flaws(&other, cancel)? < flaws {
            found::items(text, Language::Cpp, &other, cancel)?
        } else {
            found::items(text, language, &syntax, cancel)?
        }
    };
    Ok(laid_out(text, &items))
}

/// A tree, as soon as others are parsed: that many are parsed now says nothing about this text,
/// which is to be cut the same way each time.
fn parsed<'a>(
    language: Language,
    text: &'a str,
    cancel: &Cancel,
) -> Result<Syntax<'a>, SyntaxError> {
    loop {
        match language.parse(text.as_bytes(), cancel) {
            Err(SyntaxError::Busy) => cancel.check()?,
            tree => return tree,
        }
    }
}

/// How many bytes are not as the grammar has it.
fn flaws(syntax: &Syntax<'_>, cancel: &Cancel) -> Result<usize, Stopped> {
    let mut bytes = 0;
    syntax.walk(syntax.root(), cancel, |node: Node<'_>| {
        if node.is_error() || node.is_missing() {
            bytes += 1 + node.byte_range().len();
        } else if node.has_error() {
            return Walk::Into;
        }
        Walk::Past
    })?;
    Ok(bytes)
}

/// Where a text is being gone through: what it is, and where that ends.
struct Open<'a> {
    /// `None` for the file itself.
    item: Option<&'a Item>,
    end: usize,
    /// Whether no part of it was added.
    is_new: bool,
}

/// Goes through a text from its start, and gives each byte to the innermost declaration round it.
struct Layout<'a> {
    text: &'a str,
    cutter: Cutter<'a>,
    open: Vec<Open<'a>>,
    at: usize,
}

fn laid_out(text: &str, items: &[Item]) -> Vec<Chunk> {
    let file = Open {
        item: None,
        end: text.len(),
        is_new: true,
    };
    let mut layout = Layout {
        text,
        cutter: Cutter::new(text, MAX_CHUNKS),
        open: vec![file],
        at: 0,
    };
    for item in items {
        layout.close(item.bytes.start);
        layout.advance(item.bytes.start);
        let around = layout.open.last().map_or(text.len(), |open| open.end);
        layout.open.push(Open {
            item: Some(item),
            end: item.bytes.end.min(around),
            is_new: true,
        });
    }
    layout.close(usize::MAX);
    layout.cutter.done()
}

impl<'a> Layout<'a> {
    /// Goes to the ends of all declarations that end by `at`.
    fn close(&mut self, at: usize) {
        while let Some(end) = self.open.last().map(|open| open.end)
            && end <= at
        {
            self.advance(end);
            self.open.pop();
        }
    }

    /// Gives what is between here and `to` to what is open.
    fn advance(&mut self, to: usize) {
        let bytes = self.at..to.max(self.at);
        self.at = bytes.end;
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let bytes = trimmed(self.text, bytes);
        let part = self.text.get(bytes.clone()).unwrap_or_default();
        let is_first = open.is_new && open.item.is_some_and(|item| item.kind() != Kind::Lines);
        if part.is_empty() || !(is_first || has_substance(part)) {
            return;
        }
        let label = match open.item {
            Some(Item { role: None, .. }) => return,
            Some(item) => item.label(),
            None => Label {
                kind: Kind::Lines,
                symbol: None,
                parent: None,
            },
        };
        let doc = open
            .item
            .filter(|_| open.is_new)
            .and_then(|item| item.doc.clone());
        open.is_new = false;
        self.cutter.add(bytes, &label, doc, &STRUCTURED);
    }
}

impl Item {
    fn kind(&self) -> Kind {
        match self.role {
            Some(Role::Function) if self.is_member => Kind::Method,
            Some(Role::Function) => Kind::Function,
            Some(Role::Class) => Kind::Class,
            Some(Role::Interface) => Kind::Interface,
            Some(Role::Type) => Kind::Type,
            Some(Role::Extension | Role::Module) | None => Kind::Lines,
        }
    }

    /// What its own bytes are called. Those of a module or an `impl` belong to it, and are not it.
    fn label(&self) -> Label {
        let kind = self.kind();
        let (symbol, parent) = match kind {
            Kind::Lines => (None, self.symbol.clone()),
            _ => (self.symbol.clone(), self.parent.clone()),
        };
        Label {
            kind,
            symbol,
            parent,
        }
    }
}
