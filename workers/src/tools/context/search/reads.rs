//! Recent reads of the files that were found, by the caller and by others.

use std::collections::{HashMap, HashSet};

use archway_index::fuse::Reads;
use archway_store::FileReads;
use uuid::Uuid;

use crate::tools::ToolContext;
use crate::tools::files::module;

/// A read within this many seconds is recent.
const RECENT_SECONDS: i64 = 24 * 60 * 60;

/// The reads of the files that were found.
#[derive(Default)]
pub(super) struct FoundReads {
    files: HashMap<(Uuid, String), FileReads>,
    /// Project and module of the files that the caller read last.
    modules: HashSet<(Uuid, String)>,
    now: i64,
}

impl FoundReads {
    /// Loads the reads of these files and projects. Without Postgres there are none.
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Uuid],
        files: &[(Uuid, String)],
    ) -> FoundReads {
        let store = cx.store();
        let Ok(reads) = store.recent_reads(cx.principal(), projects, files).await else {
            return FoundReads::default();
        };
        let files = reads.files.into_iter();
        let last = reads.last.iter();
        let modules = last.map(|(project, path)| (*project, module(path).to_owned()));
        FoundReads {
            files: files
                .map(|file| ((file.project, file.path.clone()), file))
                .collect(),
            modules: modules.filter(|(_, module)| !module.is_empty()).collect(),
            now: jiff::Timestamp::now().as_second(),
        }
    }

    /// The reads of a file, and when the caller last read it.
    pub(super) fn of_file(&self, project: Uuid, path: &str) -> (Reads, Option<i64>) {
        let file = self.files.get(&(project, path.to_owned()));
        let last = file.and_then(|file| file.own_last);
        let times = file.map_or(0, |file| u32::try_from(file.times).unwrap_or(u32::MAX));
        let reads = Reads {
            is_recent: last.is_some_and(|last| self.now - last < RECENT_SECONDS),
            is_near: self.is_near(project, module(path)),
            times,
        };
        (reads, last)
    }

    /// The reads that concern a note about this module.
    pub(super) fn of_note(&self, project: Uuid, module: Option<&str>) -> Reads {
        Reads {
            is_near: module.is_some_and(|module| self.is_near(project, module)),
            ..Reads::default()
        }
    }

    fn is_near(&self, project: Uuid, module: &str) -> bool {
        self.modules.contains(&(project, module.to_owned()))
    }
}
