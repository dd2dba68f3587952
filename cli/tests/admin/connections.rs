//! `archway connection`: what a dry run says.

use serde_json::{Value, json};

use crate::installation::Installation;

#[test]
fn a_dry_run_of_urls_reads_no_key_and_shows_the_slugs_of_a_listing() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    for added in [
        "acme-site",
        "web --git https://git.example.com/acme/web",
        "old --git https://git.example.com/acme/old",
    ] {
        installation.run(&format!("project add acme {added}")).ok();
    }
    for removed in ["acme-site", "old"] {
        let line = format!("project remove acme {removed}");
        installation.run(&line).ok();
    }
    // A key for ssh has many lines, which a token has not.
    let key = installation.file("key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3B\n");
    let (folder, _) = key.rsplit_once('/').unwrap();
    let urls = ["site", "web", "old"].map(|it| format!("ssh://git@git.example.com/acme/{it}"));
    let shown = installation.json(&format!(
        "connection add acme list --repository {} --credential key --credentials {folder} --dry-run",
        urls.join(" --repository ")
    ));
    let repositories = shown["repositories"].as_array().unwrap().iter();
    let slugs: Vec<&Value> = repositories.map(|it| &it["slug"]).collect();
    // Removed projects keep their slugs; what an operator serves is left to that project.
    assert_eq!(slugs, ["acme-site-2", "acme-old"]);
    assert_eq!(shown["left_out"], json!({ "named": 1 }));
}
