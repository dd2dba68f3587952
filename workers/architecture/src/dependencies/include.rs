//! C and C++: `#include "…"`.
//!
//! A name in quotes is resolved relative to the file's folder, then to each folder above it and
//! that folder's `include`, up to the project's root: the usual targets of `-I`. Names in angle
//! brackets are system headers.

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{Syntax, Walk},
};

use super::{
    Import, ImportCollector,
    context::{ImportContext, relative},
};

pub(super) fn find_imports(
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    syntax.walk(syntax.root(), cancel, |node| {
        if node.kind() != "preproc_include" {
            return Walk::Into;
        }
        let path = node.child_by_field_name("path");
        let quoted = path.filter(|path| path.kind() == "string_literal");
        let text = quoted.and_then(|path| syntax.text(path));
        let text = text.map(|text| text.trim_matches('"').to_owned());
        collector.add(text.map(Import::Include));
        Walk::Past
    })?;
    let unread = syntax.unread_directives().filter_map(quoted_name);
    collector.add(unread.map(Import::Include));
    Ok(())
}

/// The name that a line includes.
fn quoted_name(line: &str) -> Option<String> {
    let rest = line.strip_prefix('#')?.trim_start();
    let quoted = rest.strip_prefix("include")?.trim_start();
    let (name, _) = quoted.strip_prefix('"')?.split_once('"')?;
    Some(name.to_owned())
}

pub(super) fn resolve(name: &str, context: &ImportContext<'_>) -> Option<RepoPath> {
    // An absolute name is a path on a developer's machine.
    if name.starts_with('/') {
        return None;
    }
    // `..` is relative to the file only: elsewhere it would leave the include folders.
    if name.starts_with("..") {
        return context.first(relative(&context.folder(), name));
    }
    let here_or_include = |folder: RepoPath| {
        let include = folder.join(b"include");
        [folder, include]
            .into_iter()
            .filter_map(|folder| relative(&folder, name))
    };
    context.first(context.folders_above().flat_map(here_or_include))
}

#[cfg(test)]
mod tests {
    use crate::dependencies::testing::{imports, project};

    #[test]
    fn quoted_names_resolve_next_to_the_file_then_upwards() {
        let text = "#include <stdio.h>\n#include \"a.h\"\n#ifdef X\n# include \"lib/b.h\"\n#endif\n\
                    #include \"c.h\"\n#include \"../d.h\"\n#include \"../../../e.h\"\n#include \"/f.h\"\nint x;\n";
        let app = project(
            &[("lib/src/main.c", text)],
            &[
                "lib/src/a.h",
                "a.h",
                "include/a.h",
                "include/lib/b.h",
                "lib/include/c.h",
                "c.h",
                "lib/d.h",
                "e.h",
                "f.h",
                "stdio.h",
            ],
        );
        assert_eq!(
            imports(&app, "lib/src/main.c"),
            [
                "lib/src/a.h",
                "include/lib/b.h",
                "lib/include/c.h",
                "lib/d.h"
            ]
        );
    }

    #[test]
    fn a_header_may_be_cpp() {
        let text =
            "#include \"b.h\"\nnamespace n { template <class T> class A : public B<T> {}; }\n";
        let app = project(&[("a.h", text)], &["b.h"]);
        assert_eq!(imports(&app, "a.h"), ["b.h"]);
    }

    #[test]
    fn names_in_lists_are_found_though_an_error_is_near() {
        let text = "int list[] = {\n# include \"a.inc\"\n  0,\n};\n/*\n#include \"b.inc\"\n*/\n\
                    int f(void) { return g(1\n#if A\n, 2\n#if 0\n#include \"c.inc\"\n#endif\n#endif\n); }\n";
        let app = project(&[("main.c", text)], &["a.inc", "b.inc", "c.inc"]);
        assert_eq!(imports(&app, "main.c"), ["a.inc"]);
    }
}
