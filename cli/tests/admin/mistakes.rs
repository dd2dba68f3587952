//! What commands answer to names and options that cannot be meant.

use crate::dev::Home;
use crate::installation::{CommandResult, Installation};

fn with_acme() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation
}

#[test]
fn changes_of_a_tenant_that_never_was_are_refused() {
    let installation = with_acme();
    let of_nobody = installation.run("audit changes nobody").refusal();
    let wanted = "there is no tenant \"nobody\", and no record of one";
    assert!(of_nobody.contains(wanted), "{of_nobody}");
    let later = installation
        .run("audit changes acme --since 2099-01-01")
        .ok();
    assert_eq!(later, "no changes\n");
    installation.run("limits set acme month=1000").ok();
    let shown = installation.run("audit changes acme --limit 1").ok();
    assert!(
        shown.contains("added: of=month, level=tenant, month=1000"),
        "{shown}"
    );
}

#[test]
fn an_empty_label_is_refused() {
    let installation = with_acme();
    for label in ["", " "] {
        let mut command = installation.archway();
        let done = CommandResult::of(command.args(["key", "issue", "acme", "--label", label]));
        assert!(
            done.code == 2 && done.err.contains("leave --label out"),
            "{}",
            done.err
        );
    }
}

#[test]
fn an_empty_name_is_seen_in_the_refusal() {
    let installation = with_acme();
    let nameless = CommandResult::of(
        installation
            .archway()
            .args(["project", "remove", "acme", ""]),
    );
    let nameless = nameless.refusal();
    assert!(nameless.contains("there is no project \"\";"), "{nameless}");
}

#[test]
fn a_project_of_dev_is_refused_with_advice_that_works() {
    let home = Home::new();
    let dev = home.start("site");
    for options in ["", "--allow-protocol file"] {
        let add = format!("project add dev docs --git file:///srv/docs {options}");
        let refusal = home.run(&add).refusal();
        assert!(refusal.contains("name a folder"), "{refusal}");
        assert!(!refusal.contains("--allow-protocol"), "{refusal}");
    }
    for option in ["--repo", "--path"] {
        let add = format!("project add dev docs {option} https://host.example/docs.git");
        let refusal = home.run(&add).refusal();
        assert!(refusal.contains("a URL goes to --git"), "{refusal}");
    }
    let folder = format!(
        "project add dev docs --repo {}",
        home.path("handbook").display()
    );
    home.run(&folder).ok();
    dev.stop();
}
