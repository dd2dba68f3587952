//! Repositories by URL: connections, single ones, and how they go.

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
    assert_eq!(slugs, ["acme-old", "acme-site-2"]);
    assert_eq!(shown["left_out"], json!({ "named": 1 }));
}

#[test]
fn what_connections_put_out_of_use_is_listed_with_its_reason() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    for slug in ["site", "old", "removed"] {
        let line = format!("project add acme {slug} --git https://git.example.com/acme/{slug}");
        installation.run(&line).ok();
    }
    installation.run("project remove acme removed").ok();
    installation.sql(
        "update sources set out_of_use = 'archived' from projects p where p.id = project_id and p.slug = 'old'; \
         update projects set removed_at = '2026-11-28T09:00:04Z' where slug = 'old'",
    );
    let status = installation.json("sync status acme");
    assert_eq!(status["mirrors"][0]["project"], "site");
    let expected = json!([{
        "tenant": "acme", "project": "old", "host": "git.example.com", "reason": "archived",
        "since": "2026-11-28T09:00:04Z",
    }]);
    assert_eq!(status["out_of_use"], expected);
    let shown = installation.run("sync status acme").ok();
    let last: Vec<&str> = shown.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(
        last,
        ["old", "archived", "git.example.com", "2026-11-28T09:00:04Z"]
    );
    assert!(
        !shown.contains("removed"),
        "by hand, not by a connection: {shown}"
    );
}

#[test]
fn options_of_a_repository_need_its_url() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    for option in ["--ref main", "--credential host", "--ca-file /ca.pem"] {
        let refused = installation.run(&format!("project add acme site {option}"));
        // The command line itself is wrong.
        assert_eq!((refused.code, refused.out.as_str()), (2, ""));
        assert!(
            refused.err.contains("--git <URL>"),
            "{option}: {}",
            refused.err
        );
    }
    let both = "project add acme site --git https://host/a --path /tmp";
    assert!(
        installation
            .run(both)
            .err
            .contains("cannot be used with '--path <DIR>'")
    );
}
