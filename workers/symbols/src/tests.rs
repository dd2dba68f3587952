//! What each language defines and uses.

mod definitions;
mod headers;
mod receivers;
mod uses;
mod scopes;
mod shown;
mod queries;
mod hostile;
mod unreadable;
mod correct;
mod conditions;

use archway_repo::{syntax::Language, testing::cancel};

use crate::{Receiver, Symbols};

fn symbols(language: Language, text: &str) -> Symbols {
    Symbols::of(language, text.as_bytes(), &cancel()).unwrap()
}

/// `kind name` of each definition, with its containers; `+` before what is exported.
fn defined(language: Language, text: &str) -> Vec<String> {
    let symbols = symbols(language, text);
    let show = |it: &crate::Definition| {
        let mark = if it.is_exported { "+" } else { "" };
        let kind = format!("{:?}", it.kind).to_lowercase();
        format!("{mark}{kind} {}", it.qualified(language))
    };
    symbols.definitions.iter().map(show).collect()
}

/// `line:column kind` of each use of a name, with what stands before it and what is around.
fn used(language: Language, text: &str, name: &str) -> Vec<String> {
    let symbols = symbols(language, text);
    let show = |it: &crate::Use| {
        let kind = format!("{:?}", it.kind).to_lowercase();
        let before = match it.receiver {
            Receiver::None => String::new(),
            Receiver::Own => " of self".to_owned(),
            Receiver::Name(name) => format!(" of {}", symbols.name(name)),
            Receiver::Unknown => " of ?".to_owned(),
        };
        let within = symbols.definition(it.within);
        let within = within.map_or(String::new(), |it| format!(" in {}", it.name));
        format!("{}:{} {kind}{before}{within}", it.line, it.column)
    };
    symbols.uses_of(name).map(show).collect()
}
