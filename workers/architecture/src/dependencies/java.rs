//! Java: classes and packages of the project, from its source folders.
//!
//! The language doesn't define the source root. The file's own package declaration yields one; the
//! folders that builds use by default are the others. A package is all of its files except tests.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};

use super::{
    Found,
    place::{Place, beneath, with_suffix},
};

/// Default source folders of builds, by priority.
const FOLDERS: [&[u8]; 3] = [b"/src/main/java/", b"/src/test/java/", b"/src/"];
/// At most this many names of a qualified name count: no real package nests deeper.
const MAX_NAMES: usize = 64;
/// At most this many source folders of a project are searched.
const MAX_ROOTS: usize = 256;

/// A package or import declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Import {
    /// The package of the file itself, which is not an import.
    Own(Vec<String>),
    /// A class, a nested class, or a static member.
    Class(Vec<String>),
    /// All members of a package or a class.
    All(Vec<String>),
}

impl Import {
    /// The total length of its names, in bytes.
    pub(super) fn len(&self) -> usize {
        let (Import::Own(names) | Import::Class(names) | Import::All(names)) = self;
        names.iter().map(String::len).sum()
    }
}

pub(super) fn find(syntax: &Syntax<'_>, found: &mut Found, cancel: &Cancel) -> Result<(), Stopped> {
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
        let (mut name, mut all) = (None, false);
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "scoped_identifier" | "identifier" => name = syntax.text(child),
                "asterisk" => all = true,
                _ => {}
            }
        }
        let names = name.unwrap_or_default().split('.').take(MAX_NAMES);
        let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
        let import = match kind {
            "package_declaration" => Import::Own(names),
            _ if all => Import::All(names),
            _ => Import::Class(names),
        };
        found.add([super::Import::Java(import)]);
        Walk::Past
    })
}

/// The source roots, the most likely first.
pub(super) fn roots(imports: &[super::Import], place: &Place<'_>) -> Vec<RepoPath> {
    let own = imports.iter().find_map(|import| match import {
        super::Import::Java(Import::Own(package)) => Some(package.as_slice()),
        _ => None,
    });
    // A file without a package is in a source root.
    let own = own_root(own.unwrap_or_default(), place);
    let mut known: Vec<RepoPath> = Vec::new();
    for entry in &place.listing.entries {
        if !entry.path.name().ends_with(b".java") {
            continue;
        }
        let is_known = known.last().is_some_and(|root| entry.path.is_within(root));
        if let Some(root) = conventional(&entry.path).filter(|_| !is_known) {
            known.push(root);
        }
        if known.len() == MAX_ROOTS {
            break;
        }
    }
    // Tests can import main sources, but not the other way round.
    let is_of_tests = |root: &RepoPath| root.as_bytes().ends_with(b"src/test/java");
    known.sort_by_key(is_of_tests);
    let shared = |root: &RepoPath| common_names(root, place.from);
    known.sort_by_key(|root| std::cmp::Reverse(shared(root)));
    let root = RepoPath::root();
    own.into_iter().chain(known).chain([root]).collect()
}

/// The source root that the importing file's package implies.
fn own_root(package: &[String], place: &Place<'_>) -> Option<RepoPath> {
    let mut root = place.folder();
    for name in package.iter().rev() {
        if root.name() != name.as_bytes() {
            return None;
        }
        root = root.parent()?;
    }
    Some(root)
}

/// The default source folder that contains a file, if any.
fn conventional(path: &RepoPath) -> Option<RepoPath> {
    let whole = [b"/", path.as_bytes()].concat();
    FOLDERS.iter().find_map(|folder| {
        let at = memchr::memmem::find(&whole, folder)?;
        let end = at + folder.len() - 1;
        Some(RepoPath::trusted(whole.get(1..end)?))
    })
}

fn common_names(one: &RepoPath, other: &RepoPath) -> usize {
    let both = one.components().zip(other.components());
    both.take_while(|(one, other)| one == other).count()
}

pub(super) fn resolve(import: &Import, roots: &[RepoPath], place: &Place<'_>) -> Vec<RepoPath> {
    match import {
        Import::Own(_) => Vec::new(),
        Import::Class(names) => class(names, roots, place).into_iter().collect(),
        Import::All(names) => {
            let packages = roots
                .iter()
                .map(|root| package(&beneath(root, names), place));
            let package = packages.into_iter().find(|files| !files.is_empty());
            package.unwrap_or_else(|| class(names, roots, place).into_iter().collect())
        }
    }
}

/// The file of a class. For a member or nested class, as in `a.b.C.d`, the file of the outer class.
fn class(names: &[String], roots: &[RepoPath], place: &Place<'_>) -> Option<RepoPath> {
    let around = (1..=names.len())
        .rev()
        .filter_map(|length| names.get(..length));
    let mut candidates = around.flat_map(|names| {
        let file = move |root: &RepoPath| with_suffix(&beneath(root, names), ".java");
        roots.iter().map(file)
    });
    candidates.find(|path| place.has(path))
}

fn package(folder: &RepoPath, place: &Place<'_>) -> Vec<RepoPath> {
    let files = place.files_in(folder);
    let files = files.into_iter().filter(|path| is_source(path.name()));
    files.cloned().collect()
}

/// Whether a file is part of its package for importers. Test classes are recognized by the names
/// that Maven Surefire runs.
fn is_source(name: &[u8]) -> bool {
    let Some(stem) = name.strip_suffix(b".java") else {
        return false;
    };
    let ends: [&[u8]; 3] = [b"Test", b"Tests", b"TestCase"];
    !stem.starts_with(b"Test") && !ends.iter().any(|end| stem.ends_with(end))
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    const OWN: &str = "app/src/main/java/com/acme";

    fn at(path: &str) -> String {
        format!("{OWN}/{path}")
    }

    #[test]
    fn classes_members_and_packages_are_found_from_the_file_s_own_package() {
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
    fn a_file_without_a_package_stands_where_packages_begin() {
        let text = "import com.acme.Store;\nclass Main {}\n";
        let store = "java/com/acme/Store.java";
        let app = project(&[("java/Main.java", text)], &[store]);
        assert_eq!(imports(&app, "java/Main.java"), [store]);
    }

    #[test]
    fn tests_see_sources_and_modules_see_each_other() {
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
