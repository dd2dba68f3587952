//! Syntax trees of source code: the language of a file, and its grammar.
//!
//! The grammars are C code that runs in this process on untrusted text. So a parse is bounded in
//! size and time, few run at once, and trees are walked with a cursor, never by recursion: the
//! author of the code chooses its depth. The parser itself recurses where two readings of a text
//! meet: 30,000 brackets overflow a usual stack, which would end the process. So it runs on a
//! thread of its own with a stack large enough for [`MAX_BYTES`]. Code with errors has a tree, too;
//! see [`Syntax::error_line`]. Code that parses need not compile, and newer syntax than the
//! grammar's is reported as an error.

mod error;
mod failed;
pub mod large_stack;
mod readable;

use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
};

use tokio::time::{Duration, Instant};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::{Cancel, RepoPath, Stopped};
pub use error::SyntaxError;
use failed::LeftOut;
use large_stack::LargeStackThreads;

/// The largest text that is parsed, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// Time limit of a parse. 1 MiB of ordinary code needs a tenth of it.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Stack size of a parser thread in bytes: 256 for each token that a text can have. Only the used
/// part takes memory.
const STACK: usize = MAX_BYTES * 256;

/// Maximum number of concurrent parses. Each may take 200 MB, two hundred times the size of its text. A call
/// that parses a text a second time holds its first tree meanwhile, and waits with it.
const MAX_PARSES: usize = 4;

/// Nodes visited between two checks for cancellation.
const NODES_PER_CHECK: usize = 4096;

static PARSES: LargeStackThreads = LargeStackThreads::new("parse", STACK, MAX_PARSES);

/// A language with a built-in grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Rust.
    Rust,
    /// With JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX, where `<T>x` is no cast.
    Tsx,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
}

/// A text and its syntax tree.
pub struct Syntax<'a> {
    tree: Tree,
    text: &'a [u8],
    /// What the grammar did not get.
    left_out: LeftOut,
}

/// Whether a walk descends into a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Visit its children.
    Into,
    /// Skip its children.
    Past,
}

impl Language {
    /// The language of a file by its name; `None` if there is no grammar for it. Headers count as
    /// C.
    pub fn of(path: &RepoPath) -> Option<Language> {
        let (stem, extension) = std::str::from_utf8(path.name()).ok()?.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Some(match extension.to_ascii_lowercase().as_str() {
            "rs" => Language::Rust,
            "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            "py" | "pyi" => Language::Python,
            "go" => Language::Go,
            "java" => Language::Java,
            "c" | "h" => Language::C,
            "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" => Language::Cpp,
            "cs" => Language::CSharp,
            "rb" => Language::Ruby,
            "php" => Language::Php,
            _ => return None,
        })
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Rust => tree_sitter_rust::LANGUAGE,
            Language::JavaScript => tree_sitter_javascript::LANGUAGE,
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Language::Python => tree_sitter_python::LANGUAGE,
            Language::Go => tree_sitter_go::LANGUAGE,
            Language::Java => tree_sitter_java::LANGUAGE,
            Language::C => tree_sitter_c::LANGUAGE,
            Language::Cpp => tree_sitter_cpp::LANGUAGE,
            Language::CSharp => tree_sitter_c_sharp::LANGUAGE,
            Language::Ruby => tree_sitter_ruby::LANGUAGE,
            Language::Php => tree_sitter_php::LANGUAGE_PHP,
        }
        .into()
    }

    /// Parses `text`. Waits while the maximum number of parses is running. If there is an error, and the
    /// grammar reads more once what it does not know is replaced (see `readable`), the tree is of that
    /// text. Its places are the same.
    ///
    /// # Errors
    /// If the text is too large or takes too long, or the call was stopped.
    pub fn parse<'a>(self, text: &'a [u8], cancel: &Cancel) -> Result<Syntax<'a>, SyntaxError> {
        let syntax = Syntax::by_grammar(self.grammar(), text, cancel)?;
        let misread = readable::misread(self, text, syntax.root());
        let failed = syntax.failed_bytes(&misread, cancel)?;
        if failed == 0 {
            return Ok(syntax);
        }
        let Some(readable) = readable::readable(self, text, syntax.root(), misread) else {
            return Ok(syntax);
        };
        let other = loop {
            match Syntax::by_grammar(self.grammar(), &readable.text, cancel) {
                Err(SyntaxError::Busy) => cancel.check()?,
                // So what is read of a large text can depend on the machine's load.
                Err(SyntaxError::TooSlow) => return Ok(syntax),
                other => break other?,
            }
        };
        let misread = readable::misread(self, &readable.text, other.root());
        if other.failed_bytes(&misread, cancel)? >= failed {
            return Ok(syntax);
        }
        Ok(Syntax {
            tree: other.tree,
            text,
            left_out: readable.left_out,
        })
    }
}

/// Parses on the calling thread.
fn tree(
    grammar: &tree_sitter::Language,
    text: &[u8],
    cancel: &Cancel,
) -> Result<Tree, SyntaxError> {
    let mut parser = Parser::new();
    parser.set_language(grammar).map_err(SyntaxError::Grammar)?;
    let last = Instant::now() + MAX_TIME;
    let mut go_on = |_: &tree_sitter::ParseState| {
        let stop = Instant::now() >= last || cancel.check().is_err();
        if stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut rest = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    cancel.check()?;
    tree.ok_or(SyntaxError::TooSlow)
}

impl<'a> Syntax<'a> {
    /// Parses `text` with a grammar. Waits while the maximum number of parses is running.
    ///
    /// # Errors
    /// If the text is too large or takes too long, or the call was stopped.
    pub fn by_grammar(
        grammar: tree_sitter::Language,
        text: &'a [u8],
        cancel: &Cancel,
    ) -> Result<Syntax<'a>, SyntaxError> {
        if text.len() > MAX_BYTES {
            return Err(SyntaxError::TooLarge);
        }
        let (shared, call): (Arc<[u8]>, Cancel) = (text.into(), cancel.clone());
        let parsed = PARSES.run(cancel, move || tree(&grammar, &shared, &call))?;
        Ok(Syntax {
            tree: parsed?,
            text,
            left_out: LeftOut::default(),
        })
    }

    /// A handle on the tree; nodes are shared.
    pub fn tree(&self) -> Tree {
        self.tree.clone()
    }

    /// The root node.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// A node's text, if it is UTF-8.
    pub fn text(&self, node: Node<'_>) -> Option<&'a str> {
        std::str::from_utf8(self.text.get(node.byte_range())?).ok()
    }

    /// Visits `from` and its descendants in text order.
    ///
    /// # Errors
    /// If the call was stopped.
    pub fn walk<'t>(
        &self,
        from: Node<'t>,
        cancel: &Cancel,
        mut visit: impl FnMut(Node<'t>) -> Walk,
    ) -> Result<(), Stopped> {
        let mut cursor = from.walk();
        let mut visited = 0_usize;
        loop {
            visited += 1;
            if visited.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            if visit(cursor.node()) == Walk::Into && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Ok(());
                }
            }
        }
    }

    /// As [`Syntax::error_bytes`], and the bytes that are read without an error as what they are not.
    fn failed_bytes(&self, misread: &[Range<usize>], cancel: &Cancel) -> Result<usize, Stopped> {
        let misread: usize = misread.iter().map(ExactSizeIterator::len).sum();
        Ok(self.error_bytes(cancel)? + misread)
    }

    /// The number of bytes that the grammar does not accept, and of tokens that it misses.
    ///
    /// # Errors
    /// If the call was stopped.
    pub fn error_bytes(&self, cancel: &Cancel) -> Result<usize, Stopped> {
        let mut bytes = 0;
        self.walk(self.root(), cancel, |node| {
            if node.is_error() || node.is_missing() {
                bytes += 1 + node.byte_range().len();
            } else if node.has_error() {
                return Walk::Into;
            }
            Walk::Past
        })?;
        Ok(bytes)
    }
}
