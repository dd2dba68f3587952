//! Rust: `mod x;` and `use` that resolve to files of the project.
//!
//! A path resolves to the file of the deepest module that it names; the rest of the path (items,
//! inline modules, reexports) is in that file. Crates are found by convention and by the names in
//! their manifests. Modules are found by name or by `#[path]`, but not through a `#[path]` in
//! another file.

mod module;
mod use_paths;

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{
    ImportCollector,
    context::{ImportContext, relative},
};
use module::Module;

pub(super) use module::{Crate, crates};

/// At most this many names of a path count: no real module nests deeper.
const MAX_NAMES: usize = 32;

/// A path or module declaration, and the inline modules that enclose it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RustImport {
    enclosing: Vec<String>,
    declaration: Declaration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Declaration {
    /// A path in a `use`, including `crate`, `self` and `super`.
    Use(Vec<String>),
    /// `mod name;`, with the file from its `#[path]`.
    Mod { name: String, file: Option<String> },
}

impl RustImport {
    /// The total length of its names, in bytes.
    pub(super) fn len(&self) -> usize {
        let enclosing: usize = self.enclosing.iter().map(String::len).sum();
        enclosing
            + match &self.declaration {
                Declaration::Use(names) => names.iter().map(String::len).sum(),
                Declaration::Mod { name, file } => {
                    name.len() + file.as_ref().map_or(0, String::len)
                }
            }
    }
}

/// The state of the walk through a file's items.
struct ImportFinder<'f> {
    collector: &'f mut ImportCollector,
    /// The enclosing inline modules, each with the byte offset of its end.
    enclosing: Vec<(usize, String)>,
    /// The value of a `#[path]` attribute for the next item.
    path: Option<String>,
}

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    let mut finder = ImportFinder {
        collector,
        enclosing: Vec::new(),
        path: None,
    };
    let mut stopped = Ok(());
    syntax.walk(syntax.root(), cancel, |node| {
        if stopped.is_err() {
            return Walk::Past;
        }
        finder.visit(syntax, node, cancel).unwrap_or_else(|reason| {
            stopped = Err(reason);
            Walk::Past
        })
    })?;
    stopped
}

impl ImportFinder<'_> {
    fn visit(
        &mut self,
        syntax: &Syntax<'_>,
        node: Node<'_>,
        cancel: &Cancel,
    ) -> Result<Walk, Stopped> {
        while self
            .enclosing
            .last()
            .is_some_and(|(end, _)| *end <= node.start_byte())
        {
            self.enclosing.pop();
        }
        match node.kind() {
            "line_comment" | "block_comment" => return Ok(Walk::Past),
            "attribute_item" => {
                self.path = path_attribute(syntax, node).or(self.path.take());
                return Ok(Walk::Past);
            }
            "mod_item" => self.module(syntax, node),
            "use_declaration" => {
                for names in use_paths::paths(syntax, node, cancel)? {
                    self.import(Declaration::Use(names));
                }
                return Ok(Walk::Past);
            }
            // The text of a macro call has no items before expansion.
            "token_tree" => return Ok(Walk::Past),
            _ => {}
        }
        self.path = None;
        Ok(Walk::Into)
    }

    fn module(&mut self, syntax: &Syntax<'_>, node: Node<'_>) {
        let Some(name) = node
            .child_by_field_name("name")
            .and_then(|name| syntax.text(name))
        else {
            return;
        };
        let name = without_raw_prefix(name);
        match node.child_by_field_name("body") {
            Some(_) if self.enclosing.len() >= MAX_NAMES => {}
            Some(body) => self.enclosing.push((body.end_byte(), name)),
            None => {
                let file = self.path.take();
                self.import(Declaration::Mod { name, file });
            }
        }
    }

    fn import(&mut self, declaration: Declaration) {
        let enclosing = self
            .enclosing
            .iter()
            .map(|(_, name)| name.clone())
            .collect();
        self.collector.add([super::Import::Rust(RustImport {
            enclosing,
            declaration,
        })]);
    }
}

/// A name without the `r#` of a raw identifier.
fn without_raw_prefix(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}

/// The value of `#[path = "…"]`.
fn path_attribute(syntax: &Syntax<'_>, item: Node<'_>) -> Option<String> {
    let attribute = item.named_child(0)?;
    let name = attribute.named_child(0)?;
    let value = attribute.child_by_field_name("value")?;
    let text = syntax
        .text(value)
        .filter(|_| syntax.text(name) == Some("path"))?;
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then(|| text.to_owned())
}

pub(super) fn resolve(
    import: &RustImport,
    own: &Crate,
    crates: &[(String, Crate)],
    context: &ImportContext<'_>,
) -> Option<RepoPath> {
    let here = own.module_of(context.from).inline(&import.enclosing);
    match &import.declaration {
        Declaration::Mod { name, file: None } => here.child(name, context)?.file,
        Declaration::Mod {
            file: Some(file), ..
        } => {
            let is_inline = !import.enclosing.is_empty();
            let base = if is_inline {
                here.folder
            } else {
                context.folder()
            };
            context.first(relative(&base, file))
        }
        Declaration::Use(names) => {
            let (start, rest) = start_of_path(names, here, own, crates, context)?;
            start.deepest_descendant(rest, context).file
        }
    }
}

/// The module in which a path starts, and the rest of the path.
fn start_of_path<'n>(
    names: &'n [String],
    here: Module,
    own: &Crate,
    crates: &[(String, Crate)],
    context: &ImportContext<'_>,
) -> Option<(Module, &'n [String])> {
    let (first, mut rest) = names.split_first()?;
    match first.as_str() {
        "crate" => return Some((own.root(), rest)),
        "self" | "super" => {}
        name => {
            // A child of this module takes precedence over a crate with the same name.
            if let Some(child) = here.child(name, context) {
                return Some((child, rest));
            }
            let (_, library) = crates.iter().find(|(known, _)| known == name)?;
            return Some((library.root(), rest));
        }
    }
    let mut module = if first == "super" {
        here.parent(own, context)?
    } else {
        here
    };
    while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
        (module, rest) = (module.parent(own, context)?, after);
    }
    Some((module, rest))
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    const MANIFEST: (&str, &str) = ("Cargo.toml", "[package]\nname = \"my-app\"\n");

    #[test]
    fn modules_are_files_or_folders_next_to_or_under_their_parent() {
        let root = "mod a;\npub mod b;\n#[path = \"odd/place.rs\"]\nmod c;\n\
                    mod inner { mod deep; #[path = \"x.rs\"] mod y; }\nmod r#type;\nmod gone;\n";
        let app = project(
            &[
                MANIFEST,
                ("src/lib.rs", root),
                ("src/a.rs", "mod one;\nmod lib;\n"),
            ],
            &[
                "src/b/mod.rs",
                "src/odd/place.rs",
                "src/inner/deep.rs",
                "src/inner/x.rs",
                "src/type.rs",
                "src/a/one.rs",
            ],
        );
        assert_eq!(
            imports(&app, "src/lib.rs"),
            [
                "src/a.rs",
                "src/b/mod.rs",
                "src/odd/place.rs",
                "src/inner/deep.rs",
                "src/inner/x.rs",
                "src/type.rs",
            ]
        );
        assert_eq!(imports(&app, "src/a.rs"), ["src/a/one.rs"]);
    }

    #[test]
    fn paths_resolve_to_the_deepest_module_with_a_file() {
        let text = "use crate::db::{self, store::{Store, open as begin}, Missing};\n\
                    pub use super::sibling::*;\nuse self::child::Thing;\nuse child::Other;\n\
                    use crate::Root;\nuse std::io;\nfn f() { use crate::late::x; }\n\
                    mod tests { use super::*; use super::super::aunt; }\n";
        let app = project(
            &[MANIFEST, ("src/web/page.rs", text)],
            &[
                "src/main.rs",
                "src/db/mod.rs",
                "src/db/store.rs",
                "src/web.rs",
                "src/web/sibling.rs",
                "src/web/page/child.rs",
                "src/late.rs",
                "src/web/aunt.rs",
            ],
        );
        assert_eq!(
            imports(&app, "src/web/page.rs"),
            [
                "src/db/mod.rs",
                "src/db/store.rs",
                "src/web/sibling.rs",
                "src/web/page/child.rs",
                "src/main.rs",
                "src/late.rs",
                "src/web/aunt.rs",
            ]
        );
    }

    #[test]
    fn binaries_and_tests_are_crates_that_import_the_library() {
        let text = "mod common;\nuse my_app::db::Store;\nuse other::x;\nuse serde::Serialize;\nuse crate::common::y;\n";
        let app = project(
            &[
                MANIFEST,
                ("tests/it.rs", text),
                ("src/bin/tool.rs", "use my_app::Thing;\nmod part;\n"),
                (
                    "crates/other/Cargo.toml",
                    "[package]\nname = \"x-other\"\n[lib]\nname = \"other\"\npath = \"main/root.rs\"\n",
                ),
            ],
            &[
                "src/lib.rs",
                "src/db.rs",
                "tests/common/mod.rs",
                "crates/other/main/root.rs",
                "crates/other/main/x.rs",
                "src/bin/part.rs",
            ],
        );
        assert_eq!(
            imports(&app, "tests/it.rs"),
            ["tests/common/mod.rs", "src/db.rs", "crates/other/main/x.rs"]
        );
        assert_eq!(
            imports(&app, "src/bin/tool.rs"),
            ["src/lib.rs", "src/bin/part.rs"]
        );
    }
}
