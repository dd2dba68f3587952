//! Python: `import a.b`, `from .a import b`, `from package import module`.
//!
//! An absolute name is resolved in the folder that contains the file's topmost package, then in
//! each folder above it, then in `src`. As in Python, a package takes precedence over a module with
//! the same name. A name imported from a package is its submodule if that file exists; otherwise
//! the package defines it.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{
    ImportCollector,
    context::{ImportContext, beneath, parent, relative, with_suffix},
};

/// At most this many names of a dotted name count: no real package nests deeper.
const MAX_NAMES: usize = 64;

/// The import of a module, or of a name from a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PythonImport {
    /// The number of dots before the module's name.
    dots: usize,
    module: Vec<String>,
    /// The imported name; `None` for the module itself or `*`.
    name: Option<String>,
}

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    syntax.walk(syntax.root(), cancel, |node| match node.kind() {
        "import_statement" => {
            let import = |module| PythonImport {
                dots: 0,
                module,
                name: None,
            };
            collector.add(names(syntax, node).map(import).map(super::Import::Python));
            Walk::Past
        }
        "import_from_statement" => {
            collector.add(
                imported_names(syntax, node)
                    .into_iter()
                    .map(super::Import::Python),
            );
            Walk::Past
        }
        _ => Walk::Into,
    })
}

/// The imports of a `from … import …`: one for each name, or the module for `*`.
fn imported_names(syntax: &Syntax<'_>, node: Node<'_>) -> Vec<PythonImport> {
    let Some(from) = node.child_by_field_name("module_name") else {
        return Vec::new();
    };
    let (dots, dotted) = match from.kind() {
        "relative_import" => {
            let text = syntax.text(from).unwrap_or_default();
            let dots = text.bytes().take_while(|byte| b". \t".contains(byte));
            let dotted = from
                .named_child(1)
                .filter(|node| node.kind() == "dotted_name");
            (dots.filter(|&byte| byte == b'.').count(), dotted)
        }
        _ => (0, Some(from)),
    };
    let module = dotted
        .map(|node| identifiers(syntax, node))
        .unwrap_or_default();
    let import = |name: Option<String>| PythonImport {
        dots,
        module: module.clone(),
        name,
    };
    let names = names(syntax, node).filter_map(|name| name.into_iter().next());
    let mut imports: Vec<PythonImport> = names.map(|name| import(Some(name))).collect();
    if imports.is_empty() {
        imports.push(import(None));
    }
    imports
}

/// The dotted names that a statement imports, without aliases.
fn names(syntax: &Syntax<'_>, node: Node<'_>) -> impl Iterator<Item = Vec<String>> {
    let mut cursor = node.walk();
    let names: Vec<Vec<String>> = node
        .children_by_field_name("name", &mut cursor)
        .take(super::MAX_IMPORTS)
        .filter_map(|name| match name.kind() {
            "aliased_import" => name.child_by_field_name("name"),
            _ => Some(name),
        })
        .map(|name| identifiers(syntax, name))
        .collect();
    names.into_iter()
}

fn identifiers(syntax: &Syntax<'_>, dotted: Node<'_>) -> Vec<String> {
    let mut cursor = dotted.walk();
    dotted
        .named_children(&mut cursor)
        .filter(|node| node.kind() == "identifier")
        .filter_map(|node| syntax.text(node))
        .take(MAX_NAMES)
        .map(str::to_owned)
        .collect()
}

impl PythonImport {
    /// The total length of its names, in bytes.
    pub(super) fn len(&self) -> usize {
        let names = self.module.iter().chain(&self.name);
        self.dots + names.map(String::len).sum::<usize>()
    }
}

pub(super) fn resolve(import: &PythonImport, context: &ImportContext<'_>) -> Option<RepoPath> {
    if import.dots > 0 {
        let up = "../".repeat(import.dots - 1);
        return resolve_in(import, &relative(&context.folder(), &up)?, context);
    }
    roots(context).find_map(|root| resolve_in(import, &root, context))
}

/// Resolves `import` if its module is in `root`.
fn resolve_in(
    import: &PythonImport,
    root: &RepoPath,
    context: &ImportContext<'_>,
) -> Option<RepoPath> {
    let module = beneath(root, &import.module);
    let submodule = import.name.as_ref().and_then(|name| {
        let path = module.join(name.as_bytes());
        module_file(&path, context)
    });
    submodule.or_else(|| module_file(&module, context))
}

fn module_file(module: &RepoPath, context: &ImportContext<'_>) -> Option<RepoPath> {
    let in_folder = ["__init__.py", "__init__.pyi"].map(|name| module.join(name.as_bytes()));
    let [package, stub] = in_folder;
    let (file, file_stub) = (with_suffix(module, ".py"), with_suffix(module, ".pyi"));
    context.first([package, file, stub, file_stub])
}

/// The folders that absolute names may start from, the most likely first.
fn roots(context: &ImportContext<'_>) -> impl Iterator<Item = RepoPath> {
    let is_package = |folder: &RepoPath| {
        context.has(&folder.join(b"__init__.py")) || context.has(&folder.join(b"__init__.pyi"))
    };
    let mut top = context.folder();
    while !top.is_root() && is_package(&top) {
        top = parent(&top);
    }
    let above = std::iter::successors(Some(top), RepoPath::parent);
    above.chain([RepoPath::trusted(b"src")])
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    #[test]
    fn absolute_names_resolve_packages_before_modules() {
        let text = "import os\nimport app.a.b, app.c as d\nfrom app.d import e\n\
                    from app.d import thing\nfrom top import *\nimport lib\n";
        let app = project(
            &[("back/app/main.py", text)],
            &[
                "back/app/__init__.py",
                "back/app/a/__init__.py",
                "back/app/a/b.py",
                "back/app/c.py",
                "back/app/c/__init__.py",
                "back/app/d/__init__.py",
                "back/app/d/e.py",
                "back/top.py",
                "top.py",
                "src/lib/__init__.py",
                "os/x.py",
            ],
        );
        assert_eq!(
            imports(&app, "back/app/main.py"),
            [
                "back/app/a/b.py",
                "back/app/c/__init__.py",
                "back/app/d/e.py",
                "back/app/d/__init__.py",
                "back/top.py",
                "src/lib/__init__.py",
            ]
        );
    }

    #[test]
    fn relative_names_resolve_upwards_to_the_root() {
        let text = "from . import x, y\nfrom .a import b\nfrom .. import up\nfrom ..z import q\n\
                    from .... import out\nfrom .a.b import (c,\n  d as e)\n\
                    if True:\n    def f():\n        from . import late\n";
        let app = project(
            &[("pkg/sub/main.py", text)],
            &[
                "pkg/sub/x.py",
                "pkg/sub/__init__.py",
                "pkg/sub/a/b.py",
                "pkg/up.pyi",
                "pkg/__init__.py",
                "pkg/z.py",
                "out.py",
                "pkg/sub/a/c.py",
                "pkg/sub/late.py",
            ],
        );
        assert_eq!(
            imports(&app, "pkg/sub/main.py"),
            [
                "pkg/sub/x.py",
                "pkg/sub/__init__.py",
                "pkg/sub/a/b.py",
                "pkg/up.pyi",
                "pkg/z.py",
                "pkg/sub/late.py",
            ]
        );
    }
}
