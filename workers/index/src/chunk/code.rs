//! Cuts source code into its declarations.
//!
//! Chunks share no bytes: a nested declaration takes its bytes out of the outer one. Of a class with
//! methods remain its head and the parts between methods. Code outside declarations (constants,
//! statements) becomes chunks of lines.

use archway_repo::{
    Cancel, RepoPath,
    syntax::{Language, Syntax, SyntaxError},
};

use super::{
    Chunk, Kind, MAX_CHUNKS,
    cutter::{Cutter, Label, has_substance, trimmed},
    declaration::Role,
    items::{self, Item},
    size::STRUCTURED,
};

/// The chunks of a source file.
///
/// # Errors
/// If the file cannot be parsed, or `cancel` stops the work.
pub(super) fn declarations(
    path: &RepoPath,
    text: &str,
    language: Language,
    cancel: &Cancel,
) -> Result<Vec<Chunk>, SyntaxError> {
    let syntax = parsed(language, text, cancel)?;
    let syntax_errors = if path.name().ends_with(b".h") {
        syntax.error_bytes(cancel)?
    } else {
        0
    };
    let items = if syntax_errors == 0 {
        items::items(text, language, &syntax, cancel)?
    } else {
        // A header may be C++, which is full of errors to the grammar of C.
        let other = parsed(Language::Cpp, text, cancel)?;
        if other.error_bytes(cancel)? < syntax_errors {
            items::items(text, Language::Cpp, &other, cancel)?
        } else {
            items::items(text, language, &syntax, cancel)?
        }
    };
    Ok(layout(text, &items))
}

/// Parses a text, waiting while the parser is busy: load must not change how a text is cut.
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

/// An item that the layout is inside of.
struct OpenItem<'a> {
    /// `None` for the file itself.
    item: Option<&'a Item>,
    end: usize,
    /// Whether none of its parts was added yet.
    is_new: bool,
}

/// Walks a text from its start, and assigns each byte to the innermost declaration around it.
struct Layout<'a> {
    text: &'a str,
    cutter: Cutter<'a>,
    open: Vec<OpenItem<'a>>,
    at: usize,
}

fn layout(text: &str, items: &[Item]) -> Vec<Chunk> {
    let file = OpenItem {
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
        layout.open.push(OpenItem {
            item: Some(item),
            end: item.bytes.end.min(around),
            is_new: true,
        });
    }
    layout.close(usize::MAX);
    layout.cutter.done()
}

impl<'a> Layout<'a> {
    /// Leaves all items that end by `at`.
    fn close(&mut self, at: usize) {
        while let Some(end) = self.open.last().map(|open| open.end)
            && end <= at
        {
            self.advance(end);
            self.open.pop();
        }
    }

    /// Assigns the bytes up to `to` to the innermost open item.
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
            None => Label::new(Kind::Lines, None, None),
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

    /// The label of its own bytes. The bytes of a module or an `impl` belong to it, but are not it.
    fn label(&self) -> Label {
        match self.kind() {
            Kind::Lines => Label::new(Kind::Lines, None, self.symbol.clone()),
            kind => Label {
                declaration: self.place,
                ..Label::new(kind, self.symbol.clone(), self.parent.clone())
            },
        }
    }
}
