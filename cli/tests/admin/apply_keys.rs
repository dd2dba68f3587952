//! `archway apply`: the keys of a file, whose secrets come from the environment.

use crate::apply::{FILE, apply, everything, generated};
use crate::installation::{CommandResult, Installation, bare};

#[test]
fn a_key_is_read_from_its_variable_and_never_printed() {
    let (installation, key) = (Installation::new(), generated());
    let file = installation.file("tenants.yaml", FILE);
    let refusal = installation.run(&format!("apply -f {file}")).refusal();
    assert!(
        refusal.contains("ACME_CI") && refusal.contains("key generate"),
        "{refusal}"
    );
    let refusal = apply(&installation, FILE, "hush-hush", &[]).refusal();
    assert!(
        refusal.contains("ACME_CI holds no key") && !refusal.contains("hush"),
        "{refusal}"
    );

    let secret = key.split('_').nth(2).unwrap();
    let done = apply(&installation, FILE, &key, &["--json", "--log", "trace"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.out.contains(secret) && !done.err.contains(secret));
    assert!(installation.takes(&key));
    assert!(
        everything(&installation)
            .iter()
            .all(|row| !row.contains(secret))
    );
}

#[test]
fn a_new_key_in_the_variable_is_the_successor_of_the_old_one() {
    let (installation, old, new) = (Installation::new(), generated(), generated());
    apply(&installation, FILE, &old, &[]).ok();
    apply(&installation, FILE, &new, &[]).ok();
    assert!(installation.takes(&old) && installation.takes(&new));
    let lineages = "select distinct lineage::text from api_keys";
    assert_eq!(installation.texts(lineages).len(), 1);
    let pruned = apply(&installation, FILE, &new, &["--prune"]).ok();
    assert!(pruned.starts_with("revoked key acme/ci "), "{pruned}");
    assert!(!installation.takes(&old) && installation.takes(&new));
    let refusal = apply(&installation, FILE, &old, &[]).refusal();
    assert!(refusal.contains("was revoked"), "{refusal}");
}

#[test]
fn a_key_whose_id_is_in_use_for_something_else_is_refused() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    installation.sql("update api_keys set secret_hash = sha256('other')");
    assert!(
        apply(&installation, FILE, &key, &[])
            .refusal()
            .contains("in use for something else")
    );
    let elsewhere = FILE.replace("slug: acme", "slug: beta");
    assert!(
        apply(&installation, &elsewhere, &key, &[])
            .refusal()
            .contains("in use for something else")
    );
}

#[test]
fn a_key_that_was_hashed_under_a_lost_root_secret_is_good_again() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let line = CommandResult::of(bare().args(["secret", "generate"])).ok();
    installation.file("secret", &line);
    assert!(!installation.takes(&key));
    let refusal = apply(&installation, FILE, &key, &[]).refusal();
    assert!(refusal.contains("none of the 1 live keys"), "{refusal}");
    assert!(refusal.contains("--replace-secret"), "{refusal}");
    let report = apply(&installation, FILE, &key, &["--replace-secret"]).ok();
    assert!(
        report.contains("  hash: changed, and not shown\n"),
        "{report}"
    );
    assert!(installation.takes(&key));
    // An older line that still exists verifies what it hashed.
    let newer = CommandResult::of(bare().args(["secret", "generate"])).ok();
    installation.file("secret", &format!("{newer}{line}"));
    assert_eq!(apply(&installation, FILE, &key, &[]).ok(), "unchanged 5\n");
    assert!(installation.takes(&key));
}

#[test]
fn a_key_for_a_pruned_project_is_refused_and_nothing_changes() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let before = everything(&installation);
    let text = FILE
        .replace("      - slug: docs\n", "")
        .replace("projects: [site]", "projects: [docs, site]");
    let refusal = apply(&installation, &text, &key, &["--prune"]).refusal();
    assert!(
        refusal.starts_with("archway: key acme/ci\n  because: project docs was removed"),
        "{refusal}"
    );
    assert_eq!(everything(&installation), before);
}

#[test]
fn a_key_that_is_as_it_was_is_refused_when_its_project_goes() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let before = everything(&installation);
    let pruned = FILE.replace(
        "      - slug: site\n        name: Site\n        allow: [docs/**]\n        close: [private/]\n",
        "",
    );
    let refusal = apply(&installation, &pruned, &key, &["--prune"]).refusal();
    assert!(
        refusal.starts_with("archway: key acme/ci\n  because: project site was removed"),
        "{refusal}"
    );
    assert_eq!(everything(&installation), before);

    // By a command, before a file without a list of projects is applied.
    installation.run("project remove acme site").ok();
    let (head, rest) = FILE.split_once("    projects:").unwrap();
    let (_projects, keys) = rest.split_once("    keys:").unwrap();
    let silent = format!("{head}    keys:{keys}");
    let refusal = apply(&installation, &silent, &key, &[]).refusal();
    assert!(refusal.contains("project site was removed"), "{refusal}");
}

#[test]
fn a_key_file_has_precedence_over_the_variable() {
    let (installation, key) = (Installation::new(), generated());
    let file = installation.file("tenants.yaml", FILE);
    let held = installation.file("api.key", &format!("{key}\n"));
    let named = format!("ACME_CI={held}");
    installation
        .run(&format!("apply -f {file} --key-file {named}"))
        .ok();
    assert!(installation.takes(&key));
    let done = apply(&installation, FILE, &generated(), &["--key-file", &named]);
    assert_eq!(done.ok(), "unchanged 5\n");
    let refusal = |options: &str| {
        installation
            .run(&format!("apply -f {file} {options}"))
            .refusal()
    };
    assert!(refusal("--key-file ACME_CI=/nowhere").contains("reading /nowhere"));
    let misspelt = refusal(&format!("--key-file ACME_C1={held}"));
    assert!(
        misspelt.contains("--key-file ACME_C1 is unused"),
        "{misspelt}"
    );
    let twice = refusal(&format!("--key-file {named} --key-file {named}"));
    assert!(
        twice.contains("--key-file ACME_CI is listed twice"),
        "{twice}"
    );
}
