//! Names of modules and files, and the languages whose files use one another's names.

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
    is_file || (is_index && is_folder)
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
