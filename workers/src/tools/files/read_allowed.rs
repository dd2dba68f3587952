//! `read_repo_file`: a reader that shows only what the project's allow globs name.

use archway_proto::{failure::Failure, fault::Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{open, window::Window};
use crate::text::shown;
use crate::{
    repo::{Kind, Repo, RepoPath},
    tools::{Reply, Tool, ToolContext},
};

/// The largest file it gives, in bytes.
const MAX_SIZE: usize = 1 << 20;

/// A file of the project's allow-list, whole.
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
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = RepoPath::parse(&args.path)?;
                let rules = repo.rules();
                // By the name alone: whether the file exists is not told.
                rules.admit(&path, &path, Kind::File)?;
                if !rules.allows_reading(&path) {
                    return Err(not_allowed(repo, &path));
                }
                let mut file = open::file(repo, &path)?;
                // Nor may a link on the list lead off it.
                if !rules.allows_reading(file.resolved()) {
                    return Err(not_allowed(repo, &path));
                }
                if file.size() > MAX_SIZE as u64 {
                    let suggestion = "read it in parts with read_file";
                    return Err(open::too_large(&file, &path, suggestion));
                }
                let part = open::text(&mut file, &path, Window::whole(MAX_SIZE), cancel)?;
                if part.truncated {
                    // Shown, it grows past what this tool gives.
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
        Ok(Reply::from_snapshot(snapshot, |file| file))
    }
}

fn not_allowed(repo: &Repo, path: &RepoPath) -> Failure {
    let failure = Failure::new(
        Fault::AccessDenied,
        format!(
            "{} is not on this project's list for read_repo_file",
            shown(&path.display())
        ),
        "use read_file for files outside docs, paths, templates, examples and .claude/memory",
    );
    // It may be that the list was to have this path, and does not parse.
    match repo.warnings() {
        [] => failure,
        warnings => failure.detail("warnings", warnings),
    }
}
