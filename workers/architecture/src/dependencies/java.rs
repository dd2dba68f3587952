//! Java: classes and packages of the project, from its source folders.
//!
//! The language doesn't define the source root. The file's own package declaration yields one; the
//! folders that builds use by default are the others. A package is all of its files except tests.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};

use super::{
    ImportCollector,
    context::{ImportContext, beneath, with_suffix},
};

/// Default source folders of builds, by priority.
const SOURCE_FOLDERS: [&[u8]; 3] = [b"/src/main/java/", b"/src/test/java/", b"/src/"];
/// At most this many names of a qualified name count: no real package nests deeper.
const MAX_NAMES: usize = 64;
/// At most this many source folders of a project are searched.
const MAX_ROOTS: usize = 256;

/// A package or import declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum JavaImport {
    /// The package of the file itself, which is not an import.
    Package(Vec<String>),
    /// A class, a nested class, or a static member.
    Class(Vec<String>),
    /// All members of a package or a class.
    Wildcard(Vec<String>),
}

impl JavaImport {
    /// The total length of its names, in bytes.
    pub(super) fn len(&self) -> usize {
        let (JavaImport::Package(names) | JavaImport::Class(names) | JavaImport::Wildcard(names)) =
            self;
        names.iter().map(String::len).sum()
    }
}

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    syntax.walk(syntax.root(), cancel, |node| {
        let kind = node.kind();
        if !matches!(kind, "package_declaration" | "import_declaration") {
            let may_hold_imports = matches!(kind, "program" | "ERROR");
            return if may_hold_imports {
                Walk::Into
            } else {
                Walk::Past
            };
        }
        let mut cursor = node.walk();
        let (mut name, mut is_wildcard) = (None, false);
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "scoped_identifier" | "identifier" => name = syntax.text(child),
                "asterisk" => is_wildcard = true,
                _ => {}
            }
        }
        let names = name.unwrap_or_default().split('.').take(MAX_NAMES);
        let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
        let import = match kind {
            "package_declaration" => JavaImport::Package(names),
            _ if is_wildcard => JavaImport::Wildcard(names),
            _ => JavaImport::Class(names),
        };
        collector.add([super::Import::Java(import)]);
        Walk::Past
    })
}

/// The source roots, the most likely first.
pub(super) fn source_roots(
    imports: &[super::Import],
    context: &ImportContext<'_>,
) -> Vec<RepoPath> {
    let package = imports.iter().find_map(|import| match import {
        super::Import::Java(JavaImport::Package(package)) => Some(package.as_slice()),
        _ => None,
    });
    // A file without a package is in a source root.
    let own_root = package_root(package.unwrap_or_default(), context);
    let mut conventional_roots: Vec<RepoPath> = Vec::new();
    for entry in &context.listing.entries {
        if !entry.path.name().ends_with(b".java") {
            continue;
        }
        let is_known = conventional_roots
            .last()
            .is_some_and(|root| entry.path.is_within(root));
        if let Some(root) = conventional_root(&entry.path).filter(|_| !is_known) {
            conventional_roots.push(root);
        }
        if conventional_roots.len() == MAX_ROOTS {
            break;
        }
    }
    // Tests can import main sources, but not the other way round.
    let is_of_tests = |root: &RepoPath| root.as_bytes().ends_with(b"src/test/java");
    conventional_roots.sort_by_key(is_of_tests);
    let shared = |root: &RepoPath| common_names(root, context.from);
    conventional_roots.sort_by_key(|root| std::cmp::Reverse(shared(root)));
    let root = RepoPath::root();
    own_root
        .into_iter()
        .chain(conventional_roots)
        .chain([root])
        .collect()
}

/// The source root that the importing file's package implies.
fn package_root(package: &[String], context: &ImportContext<'_>) -> Option<RepoPath> {
    let mut root = context.folder();
    for name in package.iter().rev() {
        if root.name() != name.as_bytes() {
            return None;
        }
        root = root.parent()?;
    }
    Some(root)
}

/// The default source folder that contains a file, if any.
fn conventional_root(path: &RepoPath) -> Option<RepoPath> {
    let whole = [b"/", path.as_bytes()].concat();
    SOURCE_FOLDERS.iter().find_map(|folder| {
        let at = memchr::memmem::find(&whole, folder)?;
        let end = at + folder.len() - 1;
        Some(RepoPath::trusted(whole.get(1..end)?))
    })
}

fn common_names(one: &RepoPath, other: &RepoPath) -> usize {
    let pairs = one.components().zip(other.components());
    pairs.take_while(|(one, other)| one == other).count()
}

pub(super) fn resolve(
    import: &JavaImport,
    source_roots: &[RepoPath],
    context: &ImportContext<'_>,
) -> Vec<RepoPath> {
    match import {
        JavaImport::Package(_) => Vec::new(),
        JavaImport::Class(names) => class_file(names, source_roots, context)
            .into_iter()
            .collect(),
        JavaImport::Wildcard(names) => {
            let packages = source_roots
                .iter()
                .map(|root| package_files(&beneath(root, names), context));
            let package = packages.into_iter().find(|files| !files.is_empty());
            package.unwrap_or_else(|| {
                class_file(names, source_roots, context)
                    .into_iter()
                    .collect()
            })
        }
    }
}

/// The file of a class. For a member or nested class, as in `a.b.C.d`, the file of the outer class.
fn class_file(
    names: &[String],
    source_roots: &[RepoPath],
    context: &ImportContext<'_>,
) -> Option<RepoPath> {
    let prefixes = (1..=names.len())
        .rev()
        .filter_map(|length| names.get(..length));
    let mut candidates = prefixes.flat_map(|names| {
        let file = move |root: &RepoPath| with_suffix(&beneath(root, names), ".java");
        source_roots.iter().map(file)
    });
    candidates.find(|path| context.has(path))
}

fn package_files(folder: &RepoPath, context: &ImportContext<'_>) -> Vec<RepoPath> {
    let files = context.files_in(folder);
    let files = files.into_iter().filter(|path| is_source(path.name()));
    files.cloned().collect()
}

/// Whether a file is part of its package for importers. Test classes are recognized by the names
/// that Maven Surefire runs.
fn is_source(name: &[u8]) -> bool {
    let Some(stem) = name.strip_suffix(b".java") else {
        return false;
    };
    let suffixes: [&[u8]; 3] = [b"Test", b"Tests", b"TestCase"];
    !stem.starts_with(b"Test") && !suffixes.iter().any(|suffix| stem.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    const OWN: &str = "app/src/main/java/com/acme";

    fn at(path: &str) -> String {
        format!("{OWN}/{path}")
    }

    #[test]
    fn classes_members_and_packages_resolve_from_the_own_package() {
        let text = "package com.acme.web;\nimport java.util.List;\nimport com.acme.db.Store;\n\
                    import com.acme.db.Pool.Entry;\nimport static com.acme.util.Text.trim;\n\
                    import static com.acme.util.Bits.*;\nimport com.acme.model.*;\nclass A {}\n";
        let files = [
            "db/Store.java",
            "db/Pool.java",
            "util/Text.java",
            "util/Bits.java",
            "model/One.java",
            "model/Two.java",
            "model/TwoTest.java",
            "model/deep/Three.java",
            "web/B.java",
        ];
        let files: Vec<String> = files.iter().map(|file| at(file)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let main = at("web/A.java");
        let app = project(&[(&main, text)], &files);
        assert_eq!(imports(&app, &main), &files[..6]);
    }

    #[test]
    fn a_file_without_a_package_is_in_a_source_root() {
        let text = "import com.acme.Store;\nclass Main {}\n";
        let store = "java/com/acme/Store.java";
        let app = project(&[("java/Main.java", text)], &[store]);
        assert_eq!(imports(&app, "java/Main.java"), [store]);
    }

    #[test]
    fn tests_import_main_sources_and_other_modules() {
        let text = "package com.acme;\nimport com.acme.db.Store;\nimport com.other.Thing;\n";
        let test = "app/src/test/java/com/acme/ATest.java";
        let store = at("db/Store.java");
        let app = project(
            &[(test, text)],
            &[&store, "other/src/main/java/com/other/Thing.java"],
        );
        assert_eq!(
            imports(&app, test),
            [&store, "other/src/main/java/com/other/Thing.java"]
        );
    }
}
