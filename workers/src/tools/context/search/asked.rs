//! What is asked for, checked.

use archway_index::chunk::Kind;
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Glob, RepoPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SearchArgs;
use crate::tools::files::module;

/// Which discoveries and decisions are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::tools) enum NoteType {
    #[default]
    All,
    Pattern,
    Rule,
    Decision,
    Issue,
}

/// Where to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::tools) enum ProjectScope {
    #[default]
    Current,
    AllLinked,
}

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::tools) enum ChunkType {
    Function,
    Class,
    Method,
    Interface,
    Type,
}

/// What is asked for.
pub(super) struct Asked {
    pub(super) query: String,
    /// Of notes; `None`: all there is.
    pub(super) note_kind: Option<&'static str>,
    pub(super) module: Option<String>,
    pub(super) kinds: Option<Vec<Kind>>,
    pub(super) glob: Option<Glob>,
}

impl Asked {
    /// # Errors
    /// If two filters leave nothing, or the glob does not parse.
    pub(super) fn of(args: &SearchArgs) -> Result<Asked, Failure> {
        let note_kind = args.kind.name();
        let is_of_code = args.chunk_type.is_some() || args.path_glob.is_some();
        if let (Some(kind), true) = (note_kind, is_of_code) {
            return Err(Failure::new(
                Fault::InvalidArguments,
                format!(
                    "chunk_type and path_glob are about code, and type {kind:?} about what was noted"
                ),
                "leave out type, or the two others",
            ));
        }
        let kinds = args.chunk_type.as_ref();
        Ok(Asked {
            query: args.query.clone(),
            note_kind,
            module: args
                .module
                .clone()
                .map(|module| module.trim_end_matches('/').to_owned()),
            kinds: kinds.map(|kinds| kinds.iter().map(|kind| kind.kind()).collect()),
            glob: args.path_glob.as_deref().map(Glob::parse).transpose()?,
        })
    }

    /// Whether anything is left out by what is asked for.
    pub(super) fn is_filtered(&self) -> bool {
        self.note_kind.is_some()
            || self.module.is_some()
            || self.kinds.is_some()
            || self.glob.is_some()
    }

    /// Whether notes may be found at all.
    pub(super) fn wants_notes(&self) -> bool {
        self.kinds.is_none() && self.glob.is_none()
    }

    /// Whether notes may be found, and not each.
    pub(super) fn picks_notes(&self) -> bool {
        self.wants_notes() && (self.note_kind.is_some() || self.module.is_some())
    }

    /// Whether a file is one of those that are asked for.
    pub(super) fn takes_file(&self, path: &RepoPath) -> bool {
        let is_in = |wanted: &str| {
            let shown = path.display();
            module(&shown) == wanted || is_beneath(&shown, wanted)
        };
        self.note_kind.is_none()
            && self.module.as_deref().is_none_or(is_in)
            && self.glob.as_ref().is_none_or(|glob| glob.matches(path))
    }
}

impl NoteType {
    fn name(self) -> Option<&'static str> {
        match self {
            NoteType::All => None,
            NoteType::Pattern => Some("pattern"),
            NoteType::Rule => Some("rule"),
            NoteType::Decision => Some("decision"),
            NoteType::Issue => Some("issue"),
        }
    }
}

impl ChunkType {
    fn kind(self) -> Kind {
        match self {
            ChunkType::Function => Kind::Function,
            ChunkType::Class => Kind::Class,
            ChunkType::Method => Kind::Method,
            ChunkType::Interface => Kind::Interface,
            ChunkType::Type => Kind::Type,
        }
    }
}

/// Whether a path begins with whole components of a folder's.
fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
