//! `read_file`: a file's text, a part of it, or its bytes, and the files that it imports.

mod include_deps;
mod range;

use std::io::Read as _;

use archway_history::{Histories, History};
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Kind, Repo, RepoFile, RepoPath};
use base64::{Engine, prelude::BASE64_STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    describe,
    imports::{Dependency, Importer, Imports, ShownPart},
    open,
    window::{Part, Window},
};
use crate::tools::{Reply, Tool, ToolContext, schema::is_false};
use include_deps::IncludeDeps;
use range::Range;

/// Reads a file, with its language, module and role.
pub(in crate::tools) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ReadFileArgs {
    /// File path relative to the project root.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
    /// Most bytes of the file to return; a text is cut at a line end.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 1, max = 1_048_576))]
    max_bytes: u32,
    /// How content is encoded; base64 for binary files.
    #[serde(default)]
    encoding: Encoding,
    /// First line to return, from 1.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line to return, inclusive.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// Also return the project's files that it imports, with their content while there is room; "signatures" for what
    /// they export instead.
    #[serde(default)]
    #[schemars(schema_with = "include_deps::schema")]
    include_deps: IncludeDeps,
    /// 0 disables imports.
    #[serde(default = "default_max_depth")]
    #[schemars(range(min = 0, max = 1))]
    max_depth: u8,
    /// Read it at this commit, branch or tag.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = 256))]
    revision: Option<String>,
}

/// About 16,000 tokens: common clients drop replies over 25,000.
fn default_max_bytes() -> u32 {
    64_000
}

fn default_max_depth() -> u8 {
    1
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct FileContent {
    file: File,
    /// Files of the project that it imports.
    dependencies: Vec<Dependency>,
    /// Why dependencies may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies_error: Option<String>,
    metadata: Metadata,
}

#[derive(Serialize, JsonSchema)]
struct File {
    path: String,
    content: String,
    /// The whole file's, in bytes.
    size: u64,
    /// The whole file's; absent for base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    language: &'static str,
    encoding: Encoding,
    truncated: bool,
    /// RFC 3339 in UTC.
    modified_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// The next line when truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<u64>,
    /// The first line is longer than `max_bytes`.
    #[serde(default, skip_serializing_if = "is_false")]
    line_truncated: bool,
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "is_false")]
    lossy: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    module: String,
    /// core, test, config, docs or build.
    role: &'static str,
    last_modified: String,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str = "Read one file of a repository, whole or by lines, with its \
        language, module and role, and on demand the files that it imports. Find the place with \
        grep_codebase first; go on with start_line when the answer is truncated.";
    const FAMILY: &'static str = "files";
    const PER_MINUTE: Option<u32> = Some(100);
    const UNTRUSTED: bool = true;
    type Args = ReadFileArgs;
    type Output = FileContent;

    async fn run(cx: &ToolContext, args: ReadFileArgs) -> Result<Reply<FileContent>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let range = Range::of(&args)?;
        let is_from_start = args.start_line.is_none_or(|line| line <= 1);
        let max_bytes = args.max_bytes as usize;
        let part = match args.include_deps {
            IncludeDeps::None => None,
            IncludeDeps::Content => Some(ShownPart::Text(max_bytes)),
            IncludeDeps::Signatures => Some(ShownPart::Signatures(cx.symbols().clone())),
        };
        let part = part.filter(|_| args.max_depth > 0);
        let cache = cx.imports().clone();
        let histories = cx.histories();
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = RepoPath::parse(&args.path)?;
                let at_revision = match &args.revision {
                    Some(revision) => Some(as_of(repo, revision, &path, &histories, cancel)?),
                    None => None,
                };
                let repo = at_revision.as_ref().unwrap_or(repo);
                let mut file = open::file_of(repo, &path, args.revision.as_deref(), cancel)?;
                let shown = match args.encoding {
                    Encoding::Base64 => bytes(&mut file, &path, max_bytes),
                    Encoding::Utf8 => text(&mut file, &path, range.window(max_bytes), cancel)
                        .and_then(|(file, part)| range.show(file, &part)),
                }?;
                let importer = Importer {
                    cache: &cache,
                    repo,
                    path: &path,
                };
                let imports = part.as_ref();
                let imports = imports.map(|part| importer.imports(&shown.content, part, cancel));
                Ok(Read {
                    file: shown,
                    imports: imports.transpose()?.unwrap_or_default(),
                    commit: at_revision
                        .and_then(|at_revision| at_revision.head())
                        .map(|head| head.commit),
                })
            })
            .await?;
        cx.record_access(&project, &snapshot.value.file.path);
        let commit = snapshot.value.commit.clone();
        let (files, pointers) = snapshot.value.shown(is_from_start);
        let reply = Reply::from_snapshot(snapshot, Read::content);
        Ok(reply.as_of(commit).whole_files(pointers).of_files(files))
    }
}

/// The result of reading.
struct Read {
    file: File,
    imports: Imports,
    /// The commit, if a revision was requested.
    commit: Option<String>,
}

impl Read {
    /// Returns the files whose text is shown, and JSON pointers to the texts that start at byte 0.
    fn shown(&self, is_from_start: bool) -> (Vec<String>, Vec<String>) {
        let imported = self.imports.shown().map(str::to_owned);
        let files = std::iter::once(self.file.path.clone()).chain(imported);
        let imported = 0..self.imports.dependencies.len();
        let pointers = imported.map(|at| format!("/dependencies/{at}/content"));
        let pointers = pointers.chain(is_from_start.then(|| "/file/content".to_owned()));
        (files.collect(), pointers.collect())
    }

    fn content(self) -> FileContent {
        let Read { file, imports, .. } = self;
        FileContent {
            dependencies: imports.dependencies,
            dependencies_error: imports.error,
            metadata: Metadata {
                module: describe::module(&file.path).to_owned(),
                role: describe::role(&file.path),
                last_modified: file.modified_at.clone(),
            },
            file,
        }
    }
}

/// Returns the project at a revision. The path rules are checked before the revision is resolved.
fn as_of(
    repo: &Repo,
    revision: &str,
    path: &RepoPath,
    histories: &Histories,
    cancel: &Cancel,
) -> Result<Repo, Failure> {
    repo.rules().admit(path, path, Kind::File)?;
    let commit = History::of(repo, histories, cancel)?.resolve(revision, cancel)?;
    Ok(repo.as_of(commit)?)
}

fn bytes(file: &mut RepoFile, path: &RepoPath, max_bytes: usize) -> Result<File, Failure> {
    let max = max_bytes as u64;
    if file.size() > max {
        return Err(open::too_large(
            file,
            path,
            "raise max_bytes (at most 1048576)",
        ));
    }
    let mut bytes = Vec::new();
    let read = file.by_ref().take(max).read_to_end(&mut bytes);
    read.map_err(|error| open::unreadable(path, &error))?;
    Ok(File {
        encoding: Encoding::Base64,
        ..shown(file, path, BASE64_STANDARD.encode(bytes))
    })
}

fn text(
    file: &mut RepoFile,
    path: &RepoPath,
    window: Window,
    cancel: &Cancel,
) -> Result<(File, Part), Failure> {
    let mut part = open::text(file, path, window, cancel)?;
    let content = std::mem::take(&mut part.content);
    let file = File {
        lines: Some(part.lines),
        truncated: part.truncated,
        next_start_line: part.next,
        line_truncated: part.line_cut,
        lossy: part.lossy,
        ..shown(file, path, content)
    };
    Ok((file, part))
}

fn shown(file: &RepoFile, path: &RepoPath, content: String) -> File {
    let path = path.display();
    File {
        language: describe::language(&path),
        path,
        content,
        size: file.size(),
        lines: None,
        encoding: Encoding::Utf8,
        truncated: false,
        modified_at: archway_repo::rfc3339(file.modified()),
        start_line: None,
        end_line: None,
        next_start_line: None,
        line_truncated: false,
        lossy: false,
    }
}
