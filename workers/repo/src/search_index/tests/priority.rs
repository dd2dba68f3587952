//! The thread that builds yields to those that answer calls.

use std::sync::mpsc::{self, SyncSender};

use rustix::process::nice;

use super::storage::few_files;
use super::*;

/// A snapshot without files, which tells the niceness of the thread that reads it.
struct NicenessSource(SyncSender<i32>);

impl BuildSource for NicenessSource {
    fn read(&self, _build: &mut Build<'_>) -> Result<(), BuildError> {
        self.0.send(nice(0).unwrap()).unwrap();
        Ok(())
    }

    fn finish(&self, _index: &ProjectIndex) {}
}

#[test]
fn builds_run_at_low_priority() {
    let app = few_files();
    let worker = Worker::start(&app, None, LIMIT);
    let (sender, receiver) = mpsc::sync_channel(1);
    let index = worker.index(&worker.repo("app"));
    let indexes = &worker.repos.0.search_index;
    indexes.request(&index, "acme", NicenessSource(sender));
    let niceness = receiver.recv_timeout(PATIENCE).unwrap();
    // 19 is the maximum.
    let own = nice(0).unwrap();
    assert_eq!(niceness, (own + 10).min(19));
}
