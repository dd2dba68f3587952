//! The validated request of a search.

use archway_index::chunk::Kind;
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Glob, GlobError, RepoPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SearchArgs;
use crate::tools::files::module;

/// The type of discoveries and decisions to find.
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

/// The projects to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::tools) enum ProjectScope {
    #[default]
    Current,
    AllLinked,
    All,
}

/// The kind of a piece of code.
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

/// A validated request.
pub(super) struct SearchRequest {
    pub(super) query: String,
    /// The kind of notes. `None` means all.
    pub(super) note_kind: Option<&'static str>,
    pub(super) module: Option<String>,
    pub(super) kinds: Option<Vec<Kind>>,
    pub(super) glob: Option<PathGlob>,
}

/// A glob of paths to find, or to leave out.
pub(super) struct PathGlob {
    glob: Glob,
    leaves_out: bool,
}

impl PathGlob {
    /// Parses a glob; a leading `!` leaves out what it matches.
    fn parse(text: &str) -> Result<PathGlob, GlobError> {
        let left_out = text.strip_prefix('!');
        Ok(PathGlob {
            glob: Glob::parse(left_out.unwrap_or(text))?,
            leaves_out: left_out.is_some(),
        })
    }

    fn admits(&self, path: &RepoPath) -> bool {
        self.glob.matches(path) != self.leaves_out
    }
}

impl SearchRequest {
    /// Validates the arguments.
    ///
    /// # Errors
    /// If two filters exclude each other, or the glob does not parse.
    pub(super) fn of(args: &SearchArgs) -> Result<SearchRequest, Failure> {
        let note_kind = args.kind.name();
        let is_of_code = args.chunk_type.is_some() || args.path_glob.is_some();
        if let (Some(kind), true) = (note_kind, is_of_code) {
            return Err(Failure::new(
                Fault::InvalidArguments,
                format!("chunk_type and path_glob apply to code, and type {kind:?} to notes"),
                "leave out type, or the two others",
            ));
        }
        let kinds = args.chunk_type.as_ref();
        Ok(SearchRequest {
            query: args.query.clone(),
            note_kind,
            module: args
                .module
                .clone()
                .map(|module| module.trim_end_matches('/').to_owned()),
            kinds: kinds.map(|kinds| kinds.iter().map(|kind| kind.kind()).collect()),
            glob: args.path_glob.as_deref().map(PathGlob::parse).transpose()?,
        })
    }

    /// Whether any filter is set.
    pub(super) fn is_filtered(&self) -> bool {
        self.filters().next().is_some()
    }

    /// The arguments of the filters that are set.
    pub(super) fn filters(&self) -> impl Iterator<Item = &'static str> {
        let filters = [
            ("type", self.note_kind.is_some()),
            ("module", self.module.is_some()),
            ("chunk_type", self.kinds.is_some()),
            ("path_glob", self.glob.is_some()),
        ];
        let set = filters.into_iter().filter(|(_, is_set)| *is_set);
        set.map(|(name, _)| name)
    }

    /// Whether notes can match at all.
    pub(super) fn includes_notes(&self) -> bool {
        self.kinds.is_none() && self.glob.is_none()
    }

    /// Whether a filter selects some of the notes.
    pub(super) fn filters_notes(&self) -> bool {
        self.includes_notes() && (self.note_kind.is_some() || self.module.is_some())
    }

    /// Whether a file matches the filters.
    pub(super) fn matches_file(&self, path: &RepoPath) -> bool {
        let is_in = |module_name: &str| {
            let shown = path.display();
            module(&shown) == module_name || is_beneath(&shown, module_name)
        };
        self.note_kind.is_none()
            && self.module.as_deref().is_none_or(is_in)
            && self.glob.as_ref().is_none_or(|glob| glob.admits(path))
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

/// Whether `path` is beneath `folder`, compared by whole components.
fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
