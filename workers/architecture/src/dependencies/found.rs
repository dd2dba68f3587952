//! What a text imports, as its language has it, before anything is looked up.

use std::collections::HashSet;

use archway_repo::{
    Cancel, Stopped,
    syntax::{Language, Syntax, SyntaxError},
};

use super::{go, include, java, python, rust, script};

/// How many imports of one text are followed.
pub(super) const MAX_IMPORTS: usize = 4096;
/// The longest name that is taken for one of a file, in bytes.
const MAX_NAME: usize = 4096;
/// What a kept import costs beside its names, in bytes.
const OVERHEAD: usize = 200;

/// What was found in one text.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) imports: Vec<Import>,
    /// Why there may be more.
    pub(super) flaw: Option<String>,
}

/// One import, as its language has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Import {
    Rust(rust::Import),
    /// A module specifier of JavaScript or TypeScript.
    Script(String),
    Python(python::Import),
    /// A package's path.
    Go(String),
    Java(java::Import),
    /// The name of a header in quotes.
    Include(String),
}

impl Parsed {
    /// Whether the imports of this language are looked for. Elsewhere a name is no path: what it
    /// loads is decided by a load path or a build.
    pub(super) fn is_for(language: Language) -> bool {
        !matches!(language, Language::CSharp | Language::Ruby | Language::Php)
    }

    /// What `text` imports.
    ///
    /// # Errors
    /// What may be otherwise the next time.
    pub(super) fn of(
        language: Language,
        text: &[u8],
        cancel: &Cancel,
    ) -> Result<Parsed, SyntaxError> {
        match Parsed::with(language, text, cancel) {
            // A header may be C++, in which C's grammar finds mistakes.
            Ok(parsed) if language == Language::C && parsed.flaw.is_some() => {
                match Parsed::with(Language::Cpp, text, cancel) {
                    Ok(other) if other.flaw.is_none() => Ok(other),
                    Ok(_) | Err(SyntaxError::TooLarge | SyntaxError::TooSlow) => Ok(parsed),
                    // What was found may be kept only if both were tried.
                    Err(error) => Err(error),
                }
            }
            Err(error @ (SyntaxError::TooLarge | SyntaxError::TooSlow)) => {
                Ok(Parsed::failed(&error))
            }
            parsed => parsed,
        }
    }

    fn with(language: Language, text: &[u8], cancel: &Cancel) -> Result<Parsed, SyntaxError> {
        let syntax = language.parse(text, cancel)?;
        let mut found = Found::default();
        find(language, &syntax, &mut found, cancel)?;
        let error = syntax.error_line(cancel)?;
        let mut flaw = error
            .map(|line| format!("syntax error at line {line}: imports near it may be missing"));
        if found.is_cut {
            flaw = Some(format!(
                "only the first {MAX_IMPORTS} imports were followed"
            ));
        }
        let imports = found.imports;
        Ok(Parsed { imports, flaw })
    }

    pub(super) fn failed(error: &SyntaxError) -> Parsed {
        Parsed {
            imports: Vec::new(),
            flaw: Some(error.to_string()),
        }
    }

    pub(super) fn cost(&self) -> u32 {
        let names: usize = self
            .imports
            .iter()
            .map(|import| import.len() + OVERHEAD)
            .sum();
        u32::try_from(names + OVERHEAD).unwrap_or(u32::MAX)
    }
}

/// The imports of one text, in their order, each once.
#[derive(Default)]
pub(super) struct Found {
    imports: Vec<Import>,
    seen: HashSet<Import>,
    /// There were more than are followed.
    is_cut: bool,
}

impl Found {
    pub(super) fn add(&mut self, imports: impl IntoIterator<Item = Import>) {
        for import in imports {
            if import.len() > MAX_NAME || self.seen.contains(&import) {
                continue;
            }
            if self.imports.len() == MAX_IMPORTS {
                self.is_cut = true;
                return;
            }
            self.seen.insert(import.clone());
            self.imports.push(import);
        }
    }
}

impl Import {
    /// How many bytes its names have.
    fn len(&self) -> usize {
        match self {
            Import::Rust(import) => import.len(),
            Import::Python(import) => import.len(),
            Import::Java(import) => import.len(),
            Import::Script(name) | Import::Go(name) | Import::Include(name) => name.len(),
        }
    }
}

fn find(
    language: Language,
    syntax: &Syntax<'_>,
    found: &mut Found,
    cancel: &Cancel,
) -> Result<(), Stopped> {
    match language {
        Language::Rust => rust::find(syntax, found, cancel),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script::find(syntax, found, cancel)
        }
        Language::Python => python::find(syntax, found, cancel),
        Language::Go => go::find(syntax, found, cancel),
        Language::Java => java::find(syntax, found, cancel),
        Language::C | Language::Cpp => include::find(syntax, found, cancel),
        // Not parsed for this: `Parsed::is_for`.
        Language::CSharp | Language::Ruby | Language::Php => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    #[test]
    fn a_call_that_stops_says_nothing_of_a_header_that_may_be_cpp() {
        let text =
            b"#include \"a.h\"\ntemplate <typename T> class A : public B<T> { A() = default; };\n";
        let as_c = Parsed::with(Language::C, text, &cancel()).unwrap();
        assert!(as_c.flaw.is_some(), "it is no C");
        let whole = cancel();
        let parsed = Parsed::of(Language::C, text, &whole).unwrap();
        assert_eq!(parsed.flaw, None);
        for at in 1..=whole.looks() {
            match Parsed::of(Language::C, text, &cancel().at_look(at)) {
                Ok(parsed) => assert_eq!(parsed.flaw, None, "at look {at}"),
                Err(error) => assert!(matches!(error, SyntaxError::Stopped(_)), "{error}"),
            }
        }
    }
}
