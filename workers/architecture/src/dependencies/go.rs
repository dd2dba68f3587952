//! Go: packages of the project's own modules. A package is all of its files except tests.
//!
//! A package's path begins with the path of its module, which the nearest `go.mod` states. Other
//! modules of the project are found by their `go.mod`, whether or not a `go.work` or a `replace`
//! connects them. The last resort is the module's `vendor` folder.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};

use super::{
    Import, ImportCollector,
    context::{ImportContext, parent, relative},
};

/// A module of the project: its import path and its folder.
pub(super) struct Module {
    path: String,
    folder: RepoPath,
}

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    syntax.walk(syntax.root(), cancel, |node| match node.kind() {
        "source_file" | "import_declaration" | "import_spec_list" | "ERROR" => Walk::Into,
        "import_spec" => {
            let path = node.child_by_field_name("path");
            let text = path.and_then(|path| syntax.text(path));
            let text = text.map(|text| text.trim_matches(['"', '`']).to_owned());
            collector.add(text.map(Import::Go));
            Walk::Past
        }
        _ => Walk::Past,
    })
}

/// The modules of the project: enclosing ones first, from the nearest outwards, then the others in
/// path order.
pub(super) fn modules(context: &ImportContext<'_>) -> Result<Vec<Module>, Stopped> {
    let mut modules: Vec<Module> = context
        .manifests("go.mod")?
        .into_iter()
        .filter_map(|(manifest, text)| {
            Some(Module {
                path: module_path(&text)?,
                folder: parent(manifest),
            })
        })
        .collect();
    let enclosing_depth = |module: &Module| {
        let depth = module.folder.components().count() + 1;
        if context.from.is_within(&module.folder) {
            depth
        } else {
            0
        }
    };
    modules.sort_by_key(|module| std::cmp::Reverse(enclosing_depth(module)));
    Ok(modules)
}

/// The module path in the `module …` line of a go.mod.
fn module_path(manifest: &str) -> Option<String> {
    let line = manifest
        .lines()
        .find_map(|line| line.trim().strip_prefix("module"))?;
    let path = line.split("//").next()?.trim().trim_matches(['"', '`']);
    (line.starts_with([' ', '\t']) && !path.is_empty()).then(|| path.to_owned())
}

pub(super) fn resolve(
    import: &str,
    modules: &[Module],
    context: &ImportContext<'_>,
) -> Vec<RepoPath> {
    let within = |module: &Module| {
        let rest = import.strip_prefix(module.path.as_str())?;
        let is_whole = rest.is_empty() || rest.starts_with('/');
        Some((module.path.len(), relative(&module.folder, rest)?)).filter(|_| is_whole)
    };
    // The longest path wins; among equals, the nearest module.
    let mut longest: Option<(usize, RepoPath)> = None;
    for (length, folder) in modules.iter().filter_map(within) {
        if longest
            .as_ref()
            .is_none_or(|(longest, _)| length > *longest)
        {
            longest = Some((length, folder));
        }
    }
    let vendored = || {
        let nearest = modules
            .first()
            .filter(|module| context.from.is_within(&module.folder))?;
        relative(&nearest.folder, &format!("vendor/{import}"))
    };
    let folder = longest.map(|(_, folder)| folder).or_else(vendored);
    folder
        .map(|folder| package_files(&folder, context))
        .unwrap_or_default()
}

fn package_files(folder: &RepoPath, context: &ImportContext<'_>) -> Vec<RepoPath> {
    let is_source =
        |path: &&&RepoPath| path.name().ends_with(b".go") && !path.name().ends_with(b"_test.go");
    let files = context.files_in(folder);
    files
        .iter()
        .filter(is_source)
        .map(|path| (*path).clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    #[test]
    fn a_package_is_all_of_its_files_except_tests() {
        let text = "package main\nimport (\n\t\"fmt\"\n\tn \"example.com/app/net\"\n\t. `example.com/app`\n)\n\
                    import _ \"example.com/apple\"\n";
        let app = project(
            &[
                ("cmd/x/main.go", text),
                ("go.mod", "// us\nmodule example.com/app // v1\n\ngo 1.24\n"),
            ],
            &[
                "net/a.go",
                "net/b_linux.go",
                "net/a_test.go",
                "net/deep/c.go",
                "net/x.txt",
                "root.go",
                "le/d.go",
            ],
        );
        assert_eq!(
            imports(&app, "cmd/x/main.go"),
            ["net/a.go", "net/b_linux.go", "root.go"]
        );
    }

    #[test]
    fn nearest_modules_precede_others_and_vendored_packages() {
        let text =
            "package b\nimport \"one.dev/x/sub/p\"\nimport \"two.dev/q\"\nimport \"three.dev/v\"\n";
        let app = project(
            &[
                ("a/b/main.go", text),
                ("a/go.mod", "module one.dev/x\n"),
                ("a/sub/go.mod", "module one.dev/x/sub\n"),
                ("z/go.mod", "module \"two.dev\"\n"),
            ],
            &["a/sub/p/p.go", "z/q/q.go", "a/vendor/three.dev/v/v.go"],
        );
        assert_eq!(
            imports(&app, "a/b/main.go"),
            ["a/sub/p/p.go", "z/q/q.go", "a/vendor/three.dev/v/v.go"]
        );
    }
}
