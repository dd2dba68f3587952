//! Recent reads of the files that were found, by the caller and by others.

use std::collections::{HashMap, HashSet};

use archway_index::fuse::Reads;
use archway_store::FileReads;
use uuid::Uuid;

use crate::tools::ToolContext;
use crate::tools::files::module;

/// A read within this many seconds is recent.
const RECENT_SECONDS: i64 = 24 * 60 * 60;

/// The reads of a project's files.
#[derive(Default)]
pub(super) struct ProjectReads {
    files: HashMap<String, FileReads>,
    /// The modules of the files that the caller read last.
    modules: HashSet<String>,
    now: i64,
}

impl ProjectReads {
    /// Loads the reads of these files. Without Postgres there are none.
    pub(super) async fn of(cx: &ToolContext, project: Uuid, paths: &[String]) -> ProjectReads {
        let store = cx.store();
        let files = store.reads_of(project, cx.principal(), paths);
        let last = store.last_reads(project, cx.principal());
        let Ok((files, last)) = tokio::try_join!(files, last) else {
            return ProjectReads::default();
        };
        let modules = last.iter().map(|path| module(path).to_owned());
        ProjectReads {
            files: files
                .into_iter()
                .map(|file| (file.path.clone(), file))
                .collect(),
            modules: modules.filter(|module| !module.is_empty()).collect(),
            now: jiff::Timestamp::now().as_second(),
        }
    }

    /// The reads of a file, and when the caller last read it.
    pub(super) fn of_file(&self, path: &str) -> (Reads, Option<i64>) {
        let file = self.files.get(path);
        let last = file.and_then(|file| file.own_last);
        let times = file.map_or(0, |file| u32::try_from(file.times).unwrap_or(u32::MAX));
        let reads = Reads {
            is_recent: last.is_some_and(|last| self.now - last < RECENT_SECONDS),
            is_near: self.modules.contains(module(path)),
            times,
        };
        (reads, last)
    }

    /// The reads that concern a note about this module.
    pub(super) fn of_note(&self, module: Option<&str>) -> Reads {
        Reads {
            is_near: module.is_some_and(|module| self.modules.contains(module)),
            ..Reads::default()
        }
    }
}
