//! Libraries of the maximum size.

use super::*;

#[test]
fn at_most_50_superseding_decisions_are_listed() {
    let app = Sandbox::new();
    app.file("docs/adr/0000-old.md", "# Old\n\n## Status\n\nAccepted\n");
    for number in 1..=60 {
        let text = "# New\n\n## Status\n\nAccepted\n\nSupersedes [Old](0000-old.md)\n";
        app.file(&format!("docs/adr/{number:04}-new.md"), text);
    }
    app.committed();
    let library = library(&app);
    let record = library.documents()[0].record.clone().unwrap();
    assert_eq!(record.status, Status::Superseded);
    assert_eq!(record.superseded_by.len(), 50);
    assert_eq!(record.superseded_by[0], "0001-new");
}

#[test]
fn a_library_of_the_maximum_size_is_cached() {
    let app = Sandbox::new();
    let half = "Orders are kept in a store of their own.\n\n".repeat((1 << 19) / 42 - 1);
    for number in 0..16 {
        app.file(
            &format!("docs/adr/{number:04}-a.md"),
            format!("# {number}\n\n{half}"),
        );
    }
    app.committed();
    let libraries = Libraries::new();
    let of = || libraries.of(&app.repo(), &cancel()).unwrap();
    let first = of();
    let size: u64 = first.documents().iter().map(|document| document.size).sum();
    assert!(size > MAX_TOTAL - (1 << 17), "{size}");
    assert!(
        first.cost() > LIBRARIES_BYTES,
        "it weighs more than all may"
    );
    libraries.libraries.run_pending_tasks();
    assert!(Arc::ptr_eq(&first, &of()));
}
