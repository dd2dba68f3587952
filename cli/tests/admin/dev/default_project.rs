//! The default project of a key, when `archway dev` is started for another repository.

use super::{Dev, Home};
use crate::installation::{CommandResult, bare};

#[test]
fn starting_for_another_repository_keeps_the_default_and_says_so() {
    let home = Home::new();
    for folder in ["site", "handbook"] {
        std::fs::write(home.path(folder).join("where.txt"), format!("in {folder}")).unwrap();
    }
    let read = |dev: &Dev, project: &str| {
        let arguments = format!(r#"{{"path":"where.txt"{project}}}"#);
        let mut call = bare();
        call.args(["call", "read_file", "--arguments", &arguments, "--url"]);
        call.arg(dev.ready["url"].as_str().unwrap());
        CommandResult::of(call.env("ARCHWAY_API_KEY", dev.key())).ok()
    };
    let told = |dev: &Dev| {
        let slugs = dev.ready["projects"].as_array().unwrap().iter();
        let mut slugs: Vec<String> = slugs.map(|it| it.as_str().unwrap().to_owned()).collect();
        slugs.sort();
        let one = |name: &str| dev.ready[name].as_str().unwrap().to_owned();
        (one("project"), one("repo_project"), slugs.join(" "))
    };
    let as_told = |project: &str, repo: &str, all: &str| (project.into(), repo.into(), all.into());
    let first = home.start("site");
    assert_eq!(told(&first), as_told("site", "site", "site"));
    let key = first.key().to_owned();
    first.stop();

    let second = home.start("handbook");
    assert_eq!(second.key(), key);
    assert_eq!(told(&second), as_told("site", "handbook", "handbook site"));
    assert!(read(&second, "").contains("in site"));
    let named = read(&second, r#","project":"handbook""#);
    assert!(named.contains("in handbook"), "{named}");
    home.run("project remove dev site").ok();
    second.stop();

    // A removed project cannot be the default.
    let third = home.start("handbook");
    assert_eq!(told(&third), as_told("handbook", "handbook", "handbook"));
    assert!(read(&third, "").contains("in handbook"));
    third.stop();
}
