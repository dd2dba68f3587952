//! Names of modules and files, the languages whose files use one another's names, and how they find members.

use archway_repo::syntax::Language;

/// Whether an imported module may be the file at `path`: by the last part of its name.
pub(super) fn may_be(module: &str, path: &str, language: Language) -> bool {
    let (file, folder) = file_and_folder(path);
    let file = file.strip_suffix(".d").unwrap_or(file);
    let is_script = family(language) == SCRIPT;
    let (last, is_index) = match is_script {
        true => (
            module.rsplit('/').next().unwrap_or_default(),
            file == "index",
        ),
        false => (
            module.rsplit('.').next().unwrap_or_default(),
            file == "__init__",
        ),
    };
    // A package by its own name has a file of any folder for its index.
    let is_package = is_script && !module.starts_with('.');
    let is_folder = matches!(last, "" | "." | "..") || last == folder || is_package;
    let is_file = last == file || last.rsplit_once('.').is_some_and(|(stem, _)| stem == file);
    let is_it = is_file || (is_index && is_folder);
    is_it && (is_script || is_around(module, path))
}

/// Whether the packages that a module of Python names are the folders around the file, as far as both go.
fn is_around(module: &str, path: &str) -> bool {
    let path = path.strip_suffix("/__init__.py").unwrap_or(path);
    let file = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let parts = module.rsplit('.').filter(|part| !part.is_empty());
    parts
        .zip(file.rsplit('/'))
        .all(|(part, folder)| part == folder)
}

/// The name of a file without its extension, and that of the folder around.
pub(super) fn file_and_folder(path: &str) -> (&str, &str) {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let file = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    (file, folders.rsplit('/').next().unwrap_or_default())
}

/// The family of JavaScript and TypeScript.
pub(super) const SCRIPT: u8 = 0;

/// Languages whose files use one another's names.
pub(super) fn family(language: Language) -> u8 {
    match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => SCRIPT,
        Language::C | Language::Cpp => 1,
        Language::Rust => 2,
        Language::Python => 3,
        Language::Go => 4,
        Language::Java => 5,
        Language::CSharp => 6,
        Language::Ruby => 7,
        Language::Php => 8,
    }
}

/// Whether a bare name may be a member of the type around.
pub(super) fn looks_among_members(language: Language) -> bool {
    use Language::{CSharp, Cpp, Java, Ruby};
    matches!(language, Java | CSharp | Cpp | Ruby)
}

/// Whether no import binds a member of a type by its bare name.
pub(super) fn keeps_members(language: Language) -> bool {
    use Language::{Go, JavaScript, Python, Tsx, TypeScript};
    matches!(language, Go | JavaScript | Python | Tsx | TypeScript)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_python_is_a_file_in_its_packages() {
        for (module, path, expected) in [
            ("flask.wrappers", "src/flask/wrappers.py", true),
            (".wrappers", "src/flask/wrappers.py", true),
            ("werkzeug.wrappers", "src/flask/wrappers.py", false),
            ("a.b.wrappers", "wrappers.py", true),
            ("flask.json", "src/flask/json/__init__.py", true),
            ("other.json", "src/flask/json/__init__.py", false),
            (".", "src/flask/__init__.py", true),
            ("flask", "src/flask/wrappers.py", false),
        ] {
            let found = may_be(module, path, Language::Python);
            assert_eq!(found, expected, "{module} {path}");
        }
    }

    #[test]
    fn a_module_of_a_script_is_known_by_its_last_part() {
        for (module, path, expected) in [
            ("../net/gate", "src/net/gate.ts", true),
            ("./gate.js", "src/net/gate.ts", true),
            ("..", "src/index.ts", true),
            ("acme", "packages/acme/src/index.ts", true),
            ("./door", "src/net/gate.ts", false),
        ] {
            let found = may_be(module, path, Language::TypeScript);
            assert_eq!(found, expected, "{module} {path}");
        }
    }
}
