//! `read_repo_file`: reads only files that match the project's allow globs.
//!
//! A memory file with entries in the store is read from there, even if the repository has a file of
//! that path: callers of `write_memory_entry` read back here what they wrote.

use archway_proto::{failure::Failure, fault::Fault, refused_by::RefusedBy};
use archway_repo::{
    Kind, Repo, RepoPath, Rules,
    text::{shown, visible_json},
};
use archway_store::memory::{
    MemoryFile, MemoryFileContent, read_by, unreachable as memory_unreachable,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{open, window::Window};
use crate::{
    projects::Project,
    tools::{Reply, Tool, ToolContext},
};

/// Maximum size of a file in bytes.
const MAX_SIZE: usize = 1 << 20;
/// The folder of memory files.
const MEMORY_FOLDER: &str = ".claude/memory/";

/// Reads a whole file of the project's allow-list.
pub(in crate::tools) struct ReadRepoFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ReadRepoFileArgs {
    /// File path relative to the project root.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct AllowedFile {
    content: String,
    path: String,
    size_bytes: u64,
}

impl Tool for ReadRepoFile {
    const NAME: &'static str = "read_repo_file";
    const TITLE: &'static str = "Read a shared document";
    const DESCRIPTION: &'static str = "Read a file of the project's allow-list (docs, learning \
        paths, templates, examples and memory files), whole. For any other file use read_file.";
    const FAMILY: &'static str = "files";
    const PER_MINUTE: Option<u32> = Some(60);
    const UNTRUSTED: bool = true;
    type Args = ReadRepoFileArgs;
    type Output = AllowedFile;

    async fn run(cx: &ToolContext, args: ReadRepoFileArgs) -> Result<Reply<AllowedFile>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        if let Some(file) = memory_file(&args.path, &project.rules)
            && let Some(stored) = from_store(cx, &project, file).await?
        {
            cx.record_access(&project, &stored.path);
            let path = stored.path.clone();
            let reply = Reply::new(stored).of_memory(&project.slug);
            return Ok(reply.of_files([path]));
        }
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = RepoPath::parse(&args.path)?;
                let rules = repo.rules();
                // Checked by the name alone, so that the answer does not reveal whether the file
                // exists.
                rules.admit(&path, &path, Kind::File)?;
                if !rules.allows_reading(&path) {
                    return Err(not_allowed(repo, &path));
                }
                let mut file = open::allowed_file(repo, &path, cancel)?;
                // A link on the list must not lead to a file off the list.
                if !rules.allows_reading(file.resolved()) {
                    return Err(not_allowed(repo, &path));
                }
                if file.size() > MAX_SIZE as u64 {
                    let suggestion = "read it in parts with read_file";
                    return Err(open::too_large(&file, &path, suggestion));
                }
                let part = open::text(&mut file, &path, Window::whole(MAX_SIZE), cancel)?;
                if part.truncated {
                    // Escaping made it larger than this tool's maximum.
                    let suggestion = "read it in parts with read_file";
                    return Err(open::too_large(&file, &path, suggestion));
                }
                let (path, size_bytes) = (path.display(), file.size());
                Ok(AllowedFile {
                    content: part.content,
                    path,
                    size_bytes,
                })
            })
            .await?;
        cx.record_access(&project, &snapshot.value.path);
        let path = snapshot.value.path.clone();
        let reply = Reply::from_snapshot(snapshot, |file| file).of_files([path]);
        Ok(reply.whole_files(["/content".to_owned()]))
    }
}

/// The memory file of a path, if the project's readers may read it.
fn memory_file(path: &str, rules: &Rules) -> Option<MemoryFile> {
    let path = RepoPath::parse(path).ok()?;
    let name = path.display();
    let file = MemoryFile::parse(name.strip_prefix(MEMORY_FOLDER)?)?;
    let is_readable = rules.check(&path, Kind::File).is_ok() && rules.allows_reading(&path);
    is_readable.then_some(file)
}

/// The entries of a memory file, one per line, or `None` if nothing was ever appended.
async fn from_store(
    cx: &ToolContext,
    project: &Project,
    file: MemoryFile,
) -> Result<Option<AllowedFile>, Failure> {
    let path = format!("{MEMORY_FOLDER}{}", file.name());
    let store = cx.store();
    let reading = store.memory_file(project.id, file, MAX_SIZE as u64);
    let stored = read_by(cx.cancel().deadline, reading).await;
    let entries = match stored.map_err(|error| memory_unreachable(&error))? {
        MemoryFileContent::Absent => return Ok(None),
        MemoryFileContent::TooLarge(size) => return Err(too_long(&path, size)),
        MemoryFileContent::Entries(entries) => entries,
    };
    let size_bytes = entries.iter().map(|entry| entry.len() as u64 + 1).sum();
    let mut content = String::new();
    for entry in &entries {
        content.push_str(&visible_json(entry));
        content.push('\n');
    }
    if content.len() > MAX_SIZE {
        return Err(too_long(&path, size_bytes));
    }
    Ok(Some(AllowedFile {
        content,
        path,
        size_bytes,
    }))
}

fn too_long(path: &str, size: u64) -> Failure {
    Failure::new(
        Fault::FileTooLarge,
        format!("{path} has {size} bytes, more than can be read at once"),
        "read it a page at a time with search_memory",
    )
    .detail("size", size)
}

fn not_allowed(repo: &Repo, path: &RepoPath) -> Failure {
    let failure = Failure::new(
        Fault::AccessDenied,
        format!(
            "{} is not on this project's list for read_repo_file",
            shown(&path.display())
        ),
        "use read_file for files outside docs, paths, templates, examples and .claude/memory",
    )
    .refused_by(RefusedBy::of_path("no allow glob"));
    // The list may be incomplete because one of its globs does not parse.
    match repo.warnings() {
        [] => failure,
        warnings => failure.detail("warnings", warnings),
    }
}
