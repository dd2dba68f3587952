//! `write_memory_entry`: appends an entry to a memory file.

use archway_proto::{catalog::Scope, failure::Failure, fault::Fault};
use archway_repo::text::shown;
use archway_store::memory::{MemoryFile, NewEntry, write_by};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entry::Entry;
use crate::tools::{Reply, Tool, ToolContext};

/// Appends an entry to a memory file of the project.
pub(in crate::tools) struct WriteMemoryEntry;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct WriteMemoryEntryArgs {
    /// `progress_log.jsonl` or `decisions.jsonl`.
    file: String,
    /// At most 10 KB: `event` or `decision` (text), `timestamp` (ISO 8601; else the server's), and fields of your own.
    entry: Map<String, Value>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct WrittenEntry {
    success: bool,
    file: MemoryFile,
    /// Entries of the file, including this one: its number.
    entry_count: u64,
}

impl Tool for WriteMemoryEntry {
    const NAME: &'static str = "write_memory_entry";
    const TITLE: &'static str = "Write to memory";
    const DESCRIPTION: &'static str = "Append an entry to the project's progress log or decisions, \
        for later sessions. It can't be changed afterwards. For a pattern, rule or issue that \
        search should find, use record_discovery; search_memory reads entries back.";
    const FAMILY: &'static str = "memory";
    const SCOPE: Scope = Scope::MemoryWrite;
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 2;
    const ONCE: bool = true;
    const UNTRUSTED: bool = false;
    type Args = WriteMemoryEntryArgs;
    type Output = WrittenEntry;

    async fn run(
        cx: &ToolContext,
        args: WriteMemoryEntryArgs,
    ) -> Result<Reply<WrittenEntry>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let file = MemoryFile::parse(&args.file).ok_or_else(|| not_allowed(&args.file))?;
        let entry = Entry::check(args.entry, Timestamp::now())?;
        let entry = NewEntry {
            project: project.id,
            file,
            text: entry.text,
            words: entry.words,
        };
        let store = cx.store();
        let appending = store.append_entry(cx.author(), &entry);
        let entry_count = write_by(cx.cancel().deadline, appending).await?;
        cx.project_changed(&project);
        let written = Reply::new(WrittenEntry {
            success: true,
            file,
            entry_count,
        });
        Ok(written.of_memory(&project.slug))
    }
}

fn not_allowed(file: &str) -> Failure {
    let allowed = MemoryFile::ALL.map(MemoryFile::name);
    Failure::new(
        Fault::WriteNotAllowed,
        format!("{:?} can't be appended to", shown(file)),
        format!("append to {}", allowed.join(" or ")),
    )
    .detail("allowed", allowed.as_slice())
}
