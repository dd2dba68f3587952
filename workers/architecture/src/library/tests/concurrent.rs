//! Concurrent calls: one reads, and the others wait until their deadline.

use std::sync::Barrier;

use archway_repo::Stopped;

use super::*;

/// A project with 20 documents.
fn project() -> Sandbox {
    let app = Sandbox::new();
    for number in 0..20 {
        let text = format!("# Number {number}\n\n## Status\n\nAccepted\n");
        app.file(&format!("docs/adr/{number:04}-x.md"), text);
    }
    app.committed();
    app
}

#[test]
fn concurrent_calls_share_one_library() {
    let (app, libraries, together) = (project(), Libraries::new(), Barrier::new(10));
    let read = || {
        let repo = app.repo();
        together.wait();
        libraries.of(&repo, &cancel()).unwrap()
    };
    let all: Vec<Arc<Library>> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..10).map(|_| scope.spawn(read)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(all.iter().all(|library| Arc::ptr_eq(library, &all[0])));
    assert_eq!(all[0].documents().len(), 20);
}

#[test]
fn a_waiting_call_ends_when_it_is_cancelled() {
    let (app, libraries) = (project(), Libraries::new());
    let repo = app.repo();
    let lock = libraries
        .read_locks
        .get_with_by_ref(repo.key(), Arc::default);
    let reader = lock.lock();
    let left = libraries.of(&repo, &cancel().cancel_at_check(3));
    assert!(
        matches!(left, Err(RepoError::Stopped(Stopped::Cancelled))),
        "{left:?}"
    );
    drop(reader);
    assert_eq!(
        libraries.of(&repo, &cancel()).unwrap().documents().len(),
        20
    );
}

#[test]
fn a_cancelled_call_leaves_cached_texts_to_the_next() {
    let (app, libraries) = (project(), Libraries::new());
    let (repo, whole) = (app.repo(), cancel());
    Libraries::new().of(&repo, &whole).unwrap();
    let half = cancel().cancel_at_check(whole.checks() / 2);
    libraries.of(&repo, &half).unwrap_err();
    libraries.contents.run_pending_tasks();
    let read = libraries.contents.entry_count();
    assert!(read > 0 && read < 20, "{read}");
    let cached: Vec<_> = libraries
        .contents
        .iter()
        .map(|(_, cached)| cached)
        .collect();
    let library = libraries.of(&repo, &cancel()).unwrap();
    let is_used = |cached: &Arc<Content>| {
        let mut documents = library.documents().iter();
        documents.any(|document| Arc::ptr_eq(&document.content, cached))
    };
    assert!(cached.iter().all(is_used));
}
