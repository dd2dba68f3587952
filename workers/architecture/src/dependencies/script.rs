//! JavaScript and TypeScript: `import`, `export … from`, `require("…")`, `import("…")`.
//!
//! Only relative specifiers resolve; packages are not part of the project. Node tries the name as
//! written, then with extensions, then the folder's index. TypeScript tries its own extensions
//! first, even where the specifier has the output's `.js`.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Language, Syntax, Walk},
};
use tree_sitter::Node;

use super::{
    Import, ImportCollector,
    context::{ImportContext, relative, with_suffix},
};

const NODE_EXTENSIONS: [&str; 12] = [
    "", ".js", ".json", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".node",
];
const TYPESCRIPT_EXTENSIONS: [&str; 12] = [
    ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".d.mts", ".d.cts", "", ".js", ".jsx", ".mjs", ".cjs",
];
const INDEX: &str = "/index";

/// The TypeScript sources of each output extension, in TypeScript's order.
const TYPESCRIPT_SOURCES: [(&str, &[&str]); 4] = [
    (".js", &[".ts", ".tsx", ".d.ts"]),
    (".jsx", &[".tsx", ".d.ts"]),
    (".mjs", &[".mts", ".d.mts"]),
    (".cjs", &[".cts", ".d.cts"]),
];

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    syntax.walk(syntax.root(), cancel, |node| {
        let source = match node.kind() {
            "import_statement" | "export_statement" | "import_require_clause" => {
                node.child_by_field_name("source")
            }
            "call_expression" => call_argument(syntax, node),
            _ => None,
        };
        let specifier = source.and_then(|source| string_literal(syntax, source));
        collector.add(
            specifier
                .filter(|text| is_relative(text))
                .map(Import::Script),
        );
        Walk::Into
    })
}

/// The argument of `require(…)` or `import(…)`.
fn call_argument<'t>(syntax: &Syntax<'_>, call: Node<'t>) -> Option<Node<'t>> {
    let function = call.child_by_field_name("function")?;
    let loads = function.kind() == "import"
        || (function.kind() == "identifier" && syntax.text(function) == Some("require"));
    if !loads {
        return None;
    }
    call.child_by_field_name("arguments")?.named_child(0)
}

/// The text of a string literal without escapes.
fn string_literal(syntax: &Syntax<'_>, node: Node<'_>) -> Option<String> {
    let text = syntax.text(node).filter(|_| node.kind() == "string")?;
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    (!inner.contains('\\')).then(|| inner.to_owned())
}

fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

pub(super) fn resolve(
    specifier: &str,
    language: Language,
    context: &ImportContext<'_>,
) -> Option<RepoPath> {
    // A bundler's suffix such as `?raw` is not part of the name.
    let name = specifier
        .split_once('?')
        .map_or(specifier, |(name, _)| name);
    let target = relative(&context.folder(), name)?;
    let is_typescript = matches!(language, Language::TypeScript | Language::Tsx);
    let extensions = if is_typescript {
        TYPESCRIPT_EXTENSIONS
    } else {
        NODE_EXTENSIONS
    };
    // `./` and `..` can only be folders.
    let is_folder = name.ends_with('/') || name.ends_with('.');
    let sources = sources(&target).filter(|_| is_typescript && !is_folder);
    let as_file = extensions
        .into_iter()
        .filter(|_| !is_folder)
        .map(|extension| with_suffix(&target, extension));
    let index = relative(&target, INDEX)?;
    let as_folder = extensions
        .into_iter()
        .filter(|extension| !extension.is_empty())
        .map(|extension| with_suffix(&index, extension));
    context.first(
        sources
            .into_iter()
            .flatten()
            .chain(as_file)
            .chain(as_folder),
    )
}

/// The sources that TypeScript compiles to `output`, if it is a script.
fn sources(output: &RepoPath) -> Option<Vec<RepoPath>> {
    let (stem, extensions) = TYPESCRIPT_SOURCES.iter().find_map(|(extension, sources)| {
        let stem = output.as_bytes().strip_suffix(extension.as_bytes())?;
        Some((RepoPath::trusted(stem), sources))
    })?;
    Some(
        extensions
            .iter()
            .map(|extension| with_suffix(&stem, extension))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    #[test]
    fn relative_imports_of_each_form_resolve_but_not_packages() {
        let text = r#"
            import a from "./a";
            import type { B } from './b';
            import './c';
            export * from "./d";
            export { e } from "./e";
            const f = require("./f");
            const g = await import('./g');
            import h = require("./h");
            import React from "react"; import x from "@scope/x"; import y from "/etc/y";
            const z = require(name); const t = require(`./${name}`); other.require("./i");
        "#;
        let files = [
            "a.ts", "b.ts", "c.ts", "d.ts", "e.ts", "f.ts", "g.ts", "h.ts", "i.ts",
        ];
        let app = project(&[("main.ts", text)], &files);
        assert_eq!(imports(&app, "main.ts"), &files[..8]);
    }

    #[test]
    fn node_tries_the_name_then_extensions_then_an_index() {
        let text = "import './a.js'; import './b'; import './c'; import './d/'; import '.';
                    import '..'; import './data.json'; import './e.mjs?raw';";
        let app = project(
            &[("src/main.js", text)],
            &[
                "src/a.js",
                "src/a.ts",
                "src/b.js",
                "src/b/index.js",
                "src/c/index.js",
                "src/d.js",
                "src/d/index.jsx",
                "src/index.js",
                "index.cjs",
                "src/data.json",
                "src/e.mjs",
            ],
        );
        assert_eq!(
            imports(&app, "src/main.js"),
            [
                "src/a.js",
                "src/b.js",
                "src/c/index.js",
                "src/d/index.jsx",
                "src/index.js",
                "index.cjs",
                "src/data.json",
                "src/e.mjs",
            ]
        );
    }

    #[test]
    fn typescript_tries_its_own_extensions_first() {
        let text = "import './a.js'; import './b'; import './c'; import './d.mjs'; import './e.js';
                    import './f.css'; import '../auth';";
        let app = project(
            &[("src/main.tsx", text)],
            &[
                "src/a.js",
                "src/a.ts",
                "src/b.js",
                "src/b.tsx",
                "src/c.d.ts",
                "src/d.mts",
                "src/e.js",
                "src/f.css",
                "auth/index.ts",
            ],
        );
        assert_eq!(
            imports(&app, "src/main.tsx"),
            [
                "src/a.ts",
                "src/b.tsx",
                "src/c.d.ts",
                "src/d.mts",
                "src/e.js",
                "src/f.css",
                "auth/index.ts",
            ]
        );
    }
}
