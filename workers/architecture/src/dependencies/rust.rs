//! Rust: `mod x;` and `use` that resolve to files of the project.
//!
//! A path resolves to the file of the deepest module that it names; the rest of the path (items,
//! inline modules, reexports) is in that file. Crates are found by convention and by the names in
//! their manifests. Modules are found by name or by `#[path]`, but not through a `#[path]` in
//! another file.

mod module;
mod tokens;

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{
    Found,
    place::{Place, relative},
};
use module::Module;

pub(super) use module::{Crate, crates};

/// At most this many names of a path count: no real module nests deeper.
const MAX_NAMES: usize = 32;

/// A path or module declaration, and the inline modules that enclose it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Import {
    around: Vec<String>,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum What {
    /// A path in a `use`, including `crate`, `self` and `super`.
    Use(Vec<String>),
    /// `mod name;`, with the file from its `#[path]`.
    Mod { name: String, file: Option<String> },
}

impl Import {
    /// The total length of its names, in bytes.
    pub(super) fn len(&self) -> usize {
        let around: usize = self.around.iter().map(String::len).sum();
        around
            + match &self.what {
                What::Use(names) => names.iter().map(String::len).sum(),
                What::Mod { name, file } => name.len() + file.as_ref().map_or(0, String::len),
            }
    }
}

/// The state of the walk through a file's items.
struct Finder<'f> {
    found: &'f mut Found,
    /// The enclosing inline modules, each with the byte offset of its end.
    around: Vec<(usize, String)>,
    /// The value of a `#[path]` attribute for the next item.
    path: Option<String>,
}

pub(super) fn find(syntax: &Syntax<'_>, found: &mut Found, cancel: &Cancel) -> Result<(), Stopped> {
    let mut finder = Finder {
        found,
        around: Vec::new(),
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

impl Finder<'_> {
    fn visit(
        &mut self,
        syntax: &Syntax<'_>,
        node: Node<'_>,
        cancel: &Cancel,
    ) -> Result<Walk, Stopped> {
        while self
            .around
            .last()
            .is_some_and(|(end, _)| *end <= node.start_byte())
        {
            self.around.pop();
        }
        match node.kind() {
            "line_comment" | "block_comment" => return Ok(Walk::Past),
            "attribute_item" => {
                self.path = path_attribute(syntax, node).or(self.path.take());
                return Ok(Walk::Past);
            }
            "mod_item" => self.module(syntax, node),
            "use_declaration" => {
                for names in tokens::paths(syntax, node, cancel)? {
                    self.import(What::Use(names));
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
        let name = plain(name);
        match node.child_by_field_name("body") {
            Some(_) if self.around.len() >= MAX_NAMES => {}
            Some(body) => self.around.push((body.end_byte(), name)),
            None => {
                let file = self.path.take();
                self.import(What::Mod { name, file });
            }
        }
    }

    fn import(&mut self, what: What) {
        let around = self.around.iter().map(|(_, name)| name.clone()).collect();
        self.found
            .add([super::Import::Rust(Import { around, what })]);
    }
}

/// A name without the `r#` of a raw identifier.
fn plain(name: &str) -> String {
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
    import: &Import,
    own: &Crate,
    crates: &[(String, Crate)],
    place: &Place<'_>,
) -> Option<RepoPath> {
    let here = own.module_of(place.from).inline(&import.around);
    match &import.what {
        What::Mod { name, file: None } => here.child(name, place)?.file,
        What::Mod {
            file: Some(file), ..
        } => {
            let is_inline = !import.around.is_empty();
            let base = if is_inline {
                here.folder
            } else {
                place.folder()
            };
            place.first(relative(&base, file))
        }
        What::Use(names) => {
            let (start, rest) = begin(names, here, own, crates, place)?;
            start.deepest(rest, place).file
        }
    }
}

/// The module in which a path starts, and the rest of the path.
fn begin<'n>(
    names: &'n [String],
    here: Module,
    own: &Crate,
    crates: &[(String, Crate)],
    place: &Place<'_>,
) -> Option<(Module, &'n [String])> {
    let (first, mut rest) = names.split_first()?;
    match first.as_str() {
        "crate" => return Some((own.root(), rest)),
        "self" | "super" => {}
        name => {
            // A child of this module takes precedence over a crate with the same name.
            if let Some(child) = here.child(name, place) {
                return Some((child, rest));
            }
            let (_, found) = crates.iter().find(|(known, _)| known == name)?;
            return Some((found.root(), rest));
        }
    }
    let mut module = if first == "super" {
        here.above(own, place)?
    } else {
        here
    };
    while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
        (module, rest) = (module.above(own, place)?, after);
    }
    Some((module, rest))
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    const MANIFEST: (&str, &str) = ("Cargo.toml", "[package]\nname = \"my-app\"\n");

    #[test]
    fn modules_are_files_or_folders_beside_or_beneath_their_parent() {
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
    fn paths_lead_to_the_deepest_module_with_a_file() {
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
    fn binaries_and_tests_begin_crates_of_their_own_and_name_the_library() {
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
