//! `archway apply`: the keys of a file, whose secrets stand in the environment.

use crate::apply::{FILE, apply, everything, generated};
use crate::place::{Done, Place, bare};

#[test]
fn a_key_is_read_from_its_variable_and_never_printed() {
    let (place, key) = (Place::new(), generated());
    let file = place.file("tenants.yaml", FILE);
    let refusal = place.run(&format!("apply -f {file}")).refusal();
    assert!(
        refusal.contains("ACME_CI") && refusal.contains("key generate"),
        "{refusal}"
    );
    let refusal = apply(&place, FILE, "hush-hush", &[]).refusal();
    assert!(
        refusal.contains("ACME_CI holds no key") && !refusal.contains("hush"),
        "{refusal}"
    );

    let secret = key.split('_').nth(2).unwrap();
    let done = apply(&place, FILE, &key, &["--json", "--log", "trace"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.out.contains(secret) && !done.err.contains(secret));
    assert!(place.takes(&key));
    assert!(everything(&place).iter().all(|row| !row.contains(secret)));
}

#[test]
fn a_new_key_in_the_variable_is_the_successor_of_the_old_one() {
    let (place, old, new) = (Place::new(), generated(), generated());
    apply(&place, FILE, &old, &[]).ok();
    apply(&place, FILE, &new, &[]).ok();
    assert!(place.takes(&old) && place.takes(&new));
    let lineages = "select distinct lineage::text from api_keys";
    assert_eq!(place.texts(lineages).len(), 1);
    let pruned = apply(&place, FILE, &new, &["--prune"]).ok();
    assert!(pruned.starts_with("revoked key acme/ci "), "{pruned}");
    assert!(!place.takes(&old) && place.takes(&new));
    let refusal = apply(&place, FILE, &old, &[]).refusal();
    assert!(refusal.contains("was revoked"), "{refusal}");
}

#[test]
fn a_key_whose_id_is_in_use_for_something_else_is_refused() {
    let (place, key) = (Place::new(), generated());
    apply(&place, FILE, &key, &[]).ok();
    place.sql("update api_keys set secret_hash = sha256('other')");
    assert!(
        apply(&place, FILE, &key, &[])
            .refusal()
            .contains("in use for something else")
    );
    let elsewhere = FILE.replace("slug: acme", "slug: beta");
    assert!(
        apply(&place, &elsewhere, &key, &[])
            .refusal()
            .contains("in use for something else")
    );
}

#[test]
fn a_key_that_was_hashed_under_a_lost_root_secret_is_good_again() {
    let (place, key) = (Place::new(), generated());
    apply(&place, FILE, &key, &[]).ok();
    let line = Done::of(bare().args(["secret", "generate"])).ok();
    place.file("secret", &line);
    assert!(!place.takes(&key));
    let refusal = apply(&place, FILE, &key, &[]).refusal();
    assert!(refusal.contains("none of the 1 keys"), "{refusal}");
    assert!(refusal.contains("--replace-secret"), "{refusal}");
    let report = apply(&place, FILE, &key, &["--replace-secret"]).ok();
    assert!(report.contains(": hash\n"), "{report}");
    assert!(place.takes(&key));
    // An older line that is still there goes on verifying what it hashed.
    let newer = Done::of(bare().args(["secret", "generate"])).ok();
    place.file("secret", &format!("{newer}{line}"));
    assert_eq!(apply(&place, FILE, &key, &[]).ok(), "unchanged 5\n");
    assert!(place.takes(&key));
}

#[test]
fn a_key_for_a_pruned_project_is_refused_and_nothing_changes() {
    let (place, key) = (Place::new(), generated());
    apply(&place, FILE, &key, &[]).ok();
    let before = everything(&place);
    let text = FILE
        .replace("      - slug: docs\n", "")
        .replace("projects: [site]", "projects: [docs, site]");
    let refusal = apply(&place, &text, &key, &["--prune"]).refusal();
    assert!(
        refusal.starts_with("archway: key acme/ci\n  because: project docs was removed"),
        "{refusal}"
    );
    assert_eq!(everything(&place), before);
}

#[test]
fn a_key_that_is_as_it_was_is_refused_when_its_project_goes() {
    let (place, key) = (Place::new(), generated());
    apply(&place, FILE, &key, &[]).ok();
    let before = everything(&place);
    let pruned = FILE.replace(
        "      - slug: site\n        name: Site\n        allow: [docs/**]\n        close: [private/]\n",
        "",
    );
    let refusal = apply(&place, &pruned, &key, &["--prune"]).refusal();
    assert!(
        refusal.starts_with("archway: key acme/ci\n  because: project site was removed"),
        "{refusal}"
    );
    assert_eq!(everything(&place), before);

    // By command, before the file that has no list of projects is applied.
    place.run("project remove acme site").ok();
    let (head, rest) = FILE.split_once("    projects:").unwrap();
    let (_projects, keys) = rest.split_once("    keys:").unwrap();
    let silent = format!("{head}    keys:{keys}");
    let refusal = apply(&place, &silent, &key, &[]).refusal();
    assert!(refusal.contains("project site was removed"), "{refusal}");
}

#[test]
fn a_key_file_has_precedence_over_the_variable() {
    let (place, key) = (Place::new(), generated());
    let file = place.file("tenants.yaml", FILE);
    let held = place.file("api.key", &format!("{key}\n"));
    let named = format!("ACME_CI={held}");
    place
        .run(&format!("apply -f {file} --key-file {named}"))
        .ok();
    assert!(place.takes(&key));
    let done = apply(&place, FILE, &generated(), &["--key-file", &named]);
    assert_eq!(done.ok(), "unchanged 5\n");
    let refusal = |options: &str| place.run(&format!("apply -f {file} {options}")).refusal();
    assert!(refusal("--key-file ACME_CI=/nowhere").contains("reading /nowhere"));
    let misspelt = refusal(&format!("--key-file ACME_C1={held}"));
    assert!(
        misspelt.contains("--key-file ACME_C1 is for no key"),
        "{misspelt}"
    );
    let twice = refusal(&format!("--key-file {named} --key-file {named}"));
    assert!(
        twice.contains("--key-file ACME_CI is listed twice"),
        "{twice}"
    );
}
