//! The languages of rules: those that the index supports, by all common names.
//!
//! PHP is parsed as code without surrounding text, as ast-grep does it, so it needs no `<?php`.

use std::borrow::Cow;

use archway_repo::{
    Cancel,
    syntax::{self, Syntax, SyntaxError},
};
use ast_grep_core::{
    Pattern, PatternError,
    language::Language,
    matcher::PatternBuilder,
    meta_var::MetaVariable,
    tree_sitter::{LanguageExt, StrDoc},
};
use ast_grep_language::SupportLang;
use serde::{Deserialize, Deserializer, de::Error};

/// The longest pattern of a rule, in bytes, which bounds its nesting depth as well.
const MAX_PATTERN: usize = 4 << 10;

/// Each language with its names in lower case, the one used in answers first.
const LANGUAGES: [(SupportLang, &[&str]); 12] = [
    (SupportLang::Rust, &["rust", "rs"]),
    (
        SupportLang::JavaScript,
        &["javascript", "js", "jsx", "mjs", "cjs", "node"],
    ),
    (SupportLang::TypeScript, &["typescript", "ts", "mts", "cts"]),
    (SupportLang::Tsx, &["tsx"]),
    (
        SupportLang::Python,
        &["python", "py", "python3", "py3", "pyi"],
    ),
    (SupportLang::Go, &["go", "golang"]),
    (SupportLang::Java, &["java"]),
    (SupportLang::C, &["c", "h"]),
    (
        SupportLang::Cpp,
        &["c++", "cpp", "cc", "cxx", "hpp", "hh", "hxx"],
    ),
    (SupportLang::CSharp, &["c#", "csharp", "cs"]),
    (SupportLang::Ruby, &["ruby", "rb"]),
    (SupportLang::Php, &["php"]),
];

/// A language that rules can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect(SupportLang);

impl Dialect {
    /// The language with this name, in any case, or with this file suffix.
    pub(crate) fn named(name: &str) -> Option<Dialect> {
        let name = name.trim().trim_start_matches('.').to_ascii_lowercase();
        let found = LANGUAGES
            .iter()
            .find(|(_, names)| names.contains(&name.as_str()));
        found.map(|&(language, _)| Dialect(language))
    }

    /// The name used in answers.
    pub(crate) fn name(self) -> &'static str {
        let known = LANGUAGES.iter().find(|&&(language, _)| language == self.0);
        known.and_then(|(_, names)| names.first()).unwrap_or(&"")
    }

    /// The names of all languages.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let names = LANGUAGES.iter();
        names.filter_map(|(_, names)| names.first().copied())
    }

    /// Parses code. What the grammar of files cannot read is left out as there.
    ///
    /// # Errors
    /// If the code is too large or takes too long, or the call was stopped.
    pub(crate) fn parse<'c>(
        self,
        code: &'c str,
        cancel: &Cancel,
    ) -> Result<Syntax<'c>, SyntaxError> {
        let language = match self.0 {
            SupportLang::C => syntax::Language::C,
            SupportLang::Cpp => syntax::Language::Cpp,
            SupportLang::TypeScript => syntax::Language::TypeScript,
            SupportLang::Tsx => syntax::Language::Tsx,
            _ => return Syntax::by_grammar(self.grammar(), code.as_bytes(), cancel),
        };
        language.parse(code.as_bytes(), cancel)
    }

    fn grammar(self) -> tree_sitter::Language {
        self.0.get_ts_language()
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dialect, D::Error> {
        let name = Cow::<'_, str>::deserialize(deserializer)?;
        let unknown = || D::Error::custom(format!("no grammar for the language `{name}`"));
        Dialect::named(&name).ok_or_else(unknown)
    }
}

impl Language for Dialect {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        self.0.pre_process_pattern(query)
    }

    fn meta_var_char(&self) -> char {
        self.0.meta_var_char()
    }

    fn expando_char(&self) -> char {
        self.0.expando_char()
    }

    fn extract_meta_var(&self, source: &str) -> Option<MetaVariable> {
        self.0.extract_meta_var(source)
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.0.kind_to_id(kind)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.0.field_to_id(field)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|source| {
            if source.len() > MAX_PATTERN {
                return Err(format!("it has more than {MAX_PATTERN} bytes"));
            }
            StrDoc::try_new(source, self.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_common_names() {
        for (name, said) in [
            ("ts", "typescript"),
            ("TypeScript", "typescript"),
            ("Tsx", "tsx"),
            ("py", "python"),
            ("c++", "c++"),
            ("C#", "c#"),
            ("CSharp", "c#"),
            ("golang", "go"),
            (" Rust ", "rust"),
            (".rb", "ruby"),
        ] {
            let found = Dialect::named(name).map(Dialect::name);
            assert_eq!(found, Some(said), "{name}");
        }
        for name in ["", "cobol", "typescript2", "."] {
            assert_eq!(Dialect::named(name), None, "{name}");
        }
    }

    #[test]
    fn every_language_has_a_grammar_and_unique_names() {
        for (language, names) in LANGUAGES {
            for name in names {
                let dialect = Dialect::named(name).unwrap();
                assert_eq!(dialect, Dialect(language), "{name}");
                assert!(dialect.grammar().node_kind_count() > 0, "{name}");
            }
        }
    }

    #[test]
    fn an_overlong_pattern_is_rejected() {
        let deep = "(".repeat(MAX_PATTERN + 1);
        let language = Dialect(SupportLang::JavaScript);
        assert!(Pattern::try_new(&deep, language).is_err());
        assert!(Pattern::try_new("console.log($A)", language).is_ok());
    }
}
