//! The family `symbols`: where names are defined, where they are used, and what stands in a file.
//!
//! There is no second index: the search index names the files that have the words of a name, and only
//! these are parsed. Parsed files are cached by blob.

mod sources;
mod find;
mod near;
mod every_project;
mod find_symbol;
mod modules;
mod confidence;
mod place;
mod scope;
mod targets;
mod references;
mod find_references;
mod nested;
mod outline;

pub(super) use find_references::FindReferences;
pub(super) use find_symbol::FindSymbol;
pub(super) use nested::signatures;
pub(super) use outline::Outline;
pub(super) use sources::Sources;

use archway_symbols::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an answer without items says if the time was up before all files were looked at.
const LATE: &str =
    "the time was up before all files were looked at: call again, or narrow it by path_glob";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SymbolKind {
    Function,
    Method,
    Class,
    Interface,
    Struct,
    Enum,
    Trait,
    Type,
    Constant,
    Variable,
    Module,
    Macro,
    Field,
}

impl From<Kind> for SymbolKind {
    fn from(kind: Kind) -> SymbolKind {
        match kind {
            Kind::Function => SymbolKind::Function,
            Kind::Method => SymbolKind::Method,
            Kind::Class => SymbolKind::Class,
            Kind::Interface => SymbolKind::Interface,
            Kind::Struct => SymbolKind::Struct,
            Kind::Enum => SymbolKind::Enum,
            Kind::Trait => SymbolKind::Trait,
            Kind::Type => SymbolKind::Type,
            Kind::Constant => SymbolKind::Constant,
            Kind::Variable => SymbolKind::Variable,
            Kind::Module => SymbolKind::Module,
            Kind::Macro => SymbolKind::Macro,
            Kind::Field => SymbolKind::Field,
        }
    }
}
