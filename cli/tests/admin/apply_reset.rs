//! `archway apply`: fields that are reset because the file leaves them out.

use crate::apply::{FILE, apply, generated};
use crate::installation::Installation;

#[test]
fn a_dry_run_shows_what_is_reset_because_it_is_left_out() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let less = "tenants: [{slug: acme, projects: [{slug: site, open: [.env.example]}], \
                keys: [{label: ci, from_env: ACME_CI, scopes: [tools:read], agents: 4}]}]";
    let id = key.split('_').nth(1).unwrap();
    let why = "and callers may see more: write it to keep it";
    let reset = "(left out, so reset)";
    let shown = apply(&installation, less, &key, &["--dry-run"]).ok();
    let wanted = format!(
        "changed tenant acme\n  name: Acme → acme {reset}\n\
         changed project acme/site\n  name: Site → the slug {reset}\n  \
         allow: [docs/**] → the built-in list {reset}\n  open: [] → [.env.example]\n  \
         close: [private/] → [] {reset}\n\
         changed key acme/ci {id}\n  projects: [site] → all {reset}\n  families: [files] → all {reset}\n  \
         default_project: site → none {reset}\n  expires: 2099-01-31T00:00:00Z → never {reset}\n\
         warning: project acme/site: allow is left out, so [docs/**] becomes the built-in list, {why}\n\
         warning: project acme/site: close is left out, so [private/] becomes [], {why}\n\
         warning: key acme/ci {id}: projects is left out, so [site] becomes all, {why}\n\
         warning: key acme/ci {id}: families is left out, so [files] becomes all, {why}\n\
         unchanged 0\ndry run: nothing was changed\n"
    );
    assert_eq!(shown, wanted);
    // What is written is no reset, though its value is the default.
    let empty = less.replace("slug: site, ", "slug: site, close: [], ");
    let shown = apply(&installation, &empty, &key, &["--dry-run"]).ok();
    assert!(shown.contains("  close: [private/] → []\n"), "{shown}");
    assert!(!shown.contains("close is left out"), "{shown}");
}
