//! Whether other files may use a definition, as far as its own declaration says.

use archway_repo::syntax::Language;

use crate::{Kind, naming::Scope};

/// Whether a definition is exported, by the text before its name, the name itself and what is around.
pub(crate) fn is_exported(language: Language, head: &str, name: &str, scope: Scope<'_>) -> bool {
    let has = |word: &str| {
        head.split(|c: char| !c.is_alphanumeric())
            .any(|it| it == word)
    };
    match language {
        Language::Rust => scope.exports || head.trim_start().starts_with("pub"),
        Language::Python => !name.starts_with('_') || name.ends_with("__"),
        Language::Go => name.chars().next().is_some_and(char::is_uppercase),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_member = scope.kind.is_some() && !scope.is_local;
            let is_hidden = has("private") || name.starts_with('#');
            has("export") || (is_member && !is_hidden)
        }
        Language::Java => scope.exports || has("public") || has("protected"),
        Language::CSharp => {
            let is_open = has("public") || has("protected") || has("internal");
            scope.exports || is_open || matches!(scope.kind, None | Some(Kind::Module))
        }
        Language::C | Language::Cpp => !has("static") || scope.kind.is_some(),
        Language::Php | Language::Ruby => !has("private") && !has("protected"),
    }
}
