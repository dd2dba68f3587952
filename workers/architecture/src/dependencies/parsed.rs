//! The imports in a text, by language, before they are resolved.

use std::collections::HashSet;

use archway_repo::{
    Cancel, Stopped,
    syntax::{Language, Syntax, SyntaxError},
};

use super::{go, include, java, python, rust, script};

/// At most this many imports of a text are resolved.
pub(super) const MAX_IMPORTS: usize = 4096;
/// The longest name of an import, in bytes.
const MAX_NAME: usize = 4096;
/// The memory that a cached import takes besides its names, in bytes.
const OVERHEAD: usize = 200;

/// The imports in one text.
#[derive(Debug, Default)]
pub(super) struct ParsedImports {
    pub(super) imports: Vec<Import>,
    /// The reason why there may be more imports.
    pub(super) warning: Option<String>,
}

/// An import statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Import {
    Rust(rust::RustImport),
    /// A module specifier in JavaScript or TypeScript.
    Script(String),
    Python(python::PythonImport),
    /// The path of a package.
    Go(String),
    Java(java::JavaImport),
    /// The name of a header in quotes.
    Include(String),
}

impl ParsedImports {
    /// Whether imports of this language are supported. In the others, imported names are no paths:
    /// a load path or a build determines the files.
    pub(super) fn is_for(language: Language) -> bool {
        !matches!(language, Language::CSharp | Language::Ruby | Language::Php)
    }

    /// The imports in `text`.
    ///
    /// # Errors
    /// Only if another attempt may succeed.
    pub(super) fn of(
        language: Language,
        text: &[u8],
        cancel: &Cancel,
    ) -> Result<ParsedImports, SyntaxError> {
        match ParsedImports::parse_with(language, text, cancel) {
            // A header may be C++, which has syntax errors in C's grammar.
            Ok(parsed) if language == Language::C && parsed.warning.is_some() => {
                match ParsedImports::parse_with(Language::Cpp, text, cancel) {
                    Ok(other) if other.warning.is_none() => Ok(other),
                    Ok(_) | Err(SyntaxError::TooLarge | SyntaxError::TooSlow) => Ok(parsed),
                    // The result is cacheable only if both grammars were tried.
                    Err(error) => Err(error),
                }
            }
            Err(error @ (SyntaxError::TooLarge | SyntaxError::TooSlow)) => {
                Ok(ParsedImports::failed(&error))
            }
            parsed => parsed,
        }
    }

    fn parse_with(
        language: Language,
        text: &[u8],
        cancel: &Cancel,
    ) -> Result<ParsedImports, SyntaxError> {
        let syntax = language.parse(text, cancel)?;
        let mut collector = ImportCollector::default();
        find_imports(language, &syntax, &mut collector, cancel)?;
        let error = syntax.error_line(cancel)?;
        let mut warning = error
            .map(|line| format!("syntax error at line {line}: imports near it may be missing"));
        if collector.is_truncated {
            warning = Some(format!(
                "only the first {MAX_IMPORTS} imports were followed"
            ));
        }
        let imports = collector.imports;
        Ok(ParsedImports { imports, warning })
    }

    pub(super) fn failed(error: &SyntaxError) -> ParsedImports {
        ParsedImports {
            imports: Vec::new(),
            warning: Some(error.to_string()),
        }
    }

    pub(super) fn weight(&self) -> u32 {
        let names: usize = self
            .imports
            .iter()
            .map(|import| import.len() + OVERHEAD)
            .sum();
        u32::try_from(names + OVERHEAD).unwrap_or(u32::MAX)
    }
}

/// The imports of one text, in order, without duplicates.
#[derive(Default)]
pub(super) struct ImportCollector {
    imports: Vec<Import>,
    seen: HashSet<Import>,
    /// Whether imports were omitted because of the limit.
    is_truncated: bool,
}

impl ImportCollector {
    pub(super) fn add(&mut self, imports: impl IntoIterator<Item = Import>) {
        for import in imports {
            if import.len() > MAX_NAME || self.seen.contains(&import) {
                continue;
            }
            if self.imports.len() == MAX_IMPORTS {
                self.is_truncated = true;
                return;
            }
            self.seen.insert(import.clone());
            self.imports.push(import);
        }
    }
}

impl Import {
    /// The total length of its names, in bytes.
    fn len(&self) -> usize {
        match self {
            Import::Rust(import) => import.len(),
            Import::Python(import) => import.len(),
            Import::Java(import) => import.len(),
            Import::Script(name) | Import::Go(name) | Import::Include(name) => name.len(),
        }
    }
}

fn find_imports(
    language: Language,
    syntax: &Syntax<'_>,
    collector: &mut ImportCollector,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    match language {
        Language::Rust => rust::find_imports(syntax, collector, cancel),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script::find_imports(syntax, collector, cancel)
        }
        Language::Python => python::find_imports(syntax, collector, cancel),
        Language::Go => go::find_imports(syntax, collector, cancel),
        Language::Java => java::find_imports(syntax, collector, cancel),
        Language::C | Language::Cpp => include::find_imports(syntax, collector, cancel),
        // Unsupported: see `ParsedImports::is_for`.
        Language::CSharp | Language::Ruby | Language::Php => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    #[test]
    fn a_cancelled_parse_never_warns_about_a_cpp_header() {
        let text =
            b"#include \"a.h\"\ntemplate <typename T> class A : public B<T> { A() = default; };\n";
        let as_c = ParsedImports::parse_with(Language::C, text, &cancel()).unwrap();
        assert!(as_c.warning.is_some(), "not valid C");
        let whole = cancel();
        let parsed = ParsedImports::of(Language::C, text, &whole).unwrap();
        assert_eq!(parsed.warning, None);
        for at in 1..=whole.checks() {
            match ParsedImports::of(Language::C, text, &cancel().cancel_at_check(at)) {
                Ok(parsed) => assert_eq!(parsed.warning, None, "at check {at}"),
                Err(error) => assert!(matches!(error, SyntaxError::Stopped(_)), "{error}"),
            }
        }
    }
}
