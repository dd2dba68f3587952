//! Repositories by URL: connections, single ones, and how they go.

use serde_json::{Value, json};

use crate::apply::apply;
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
fn a_wait_for_a_host_that_limits_us_ends_with_its_message() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let add = "connection add acme org --github acme --credential host";
    installation.run(add).ok();
    // As a listing records a host that limits the rate.
    installation.sql(
        "update listings set tried_at = now(), message = 'the host asks to wait until noon', \
         next_at = now() + interval '30 minutes', not_before = now() + interval '30 minutes'",
    );
    let refusal = installation.run("sync run acme --wait").refusal();
    let expected = "connection org: the host asks to wait until noon";
    assert!(refusal.contains(expected), "{refusal}");
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

#[test]
fn a_connection_is_added_changed_and_removed_with_its_projects() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let done = |line: &str| installation.json(line)["done"].as_str().unwrap().to_owned();
    let add = "connection add acme org --github acme --credential host";
    assert_eq!(done(add), "added; `archway sync` lists it");
    let changed = format!("{add} --exclude legacy-* --archived");
    assert_eq!(done(&changed), "changed; `archway sync` lists it again");
    let listed = installation.json("connection list acme");
    let source = &listed["connections"][0]["source"];
    assert_eq!(source, "acme at https://github.com");
    let shown = installation.json("connection show acme org");
    let settings = &shown["settings"];
    let filters = (&settings["exclude"], &settings["archived"]);
    assert_eq!(filters, (&json!(["legacy-*"]), &json!(true)));
    assert_eq!(settings["credential"], "host");
    installation.run("sync run acme --accept-removals").ok();
    let accepted = "select count(*) from listings where accepts_losses and wants_whole";
    assert_eq!(installation.count(accepted), 1);

    // As a listing records what it found.
    let line = "project add acme site --git https://github.com/acme/site";
    installation.run(line).ok();
    installation.sql("update sources set connection_id = c.id, host_id = '1' from connections c");
    let remove = "connection remove acme org";
    assert_eq!(done(remove), "removed, with 1 projects");
    let listed = installation.json("connection list acme");
    assert_eq!(listed["connections"], json!([]));
    let status = installation.json("sync status acme");
    assert_eq!(status["out_of_use"][0]["reason"], "connection");
    let refusal = installation.run(remove).refusal();
    assert!(refusal.contains("org"), "{refusal}");
}

const SOURCES: &str = r#"
tenants:
  - slug: acme
    projects:
      - slug: site
        git: {url: "https://git.example.com/acme/site", ref: main, credential: host}
    connections:
      - {name: org, github: {org: acme}, exclude: ["legacy-*"]}
      - {name: list, urls: {list: ["https://git.example.com/acme/wiki"]}}
"#;

#[test]
fn connections_and_urls_of_a_file_are_applied_changed_and_pruned() {
    let installation = Installation::new();
    let apply = |text: &str, options: &[&str]| apply(&installation, text, "", options).ok();
    let first = "created tenant acme\ncreated project acme/site\ncreated connection acme/org\n\
                 created connection acme/list\nunchanged 0\n";
    assert_eq!(apply(SOURCES, &[]), first);
    assert_eq!(apply(SOURCES, &[]), "unchanged 4\n");
    let edited = SOURCES
        .replace("ref: main", "ref: next")
        .replace("legacy-*", "old-*");
    assert_eq!(
        apply(&edited, &[]),
        "changed project acme/site\n  git: {ref: main} → {ref: next}\nchanged connection acme/org\n  \
         settings: {exclude: [legacy-*]} → {exclude: [old-*]}\nunchanged 2\n"
    );
    let reference = "select reference from sources";
    assert_eq!(installation.texts(reference), ["next"]);
    // A folder again, and only one of the connections.
    let less = "tenants: [{slug: acme, projects: [{slug: site}], \
                connections: [{name: org, github: {org: acme}, exclude: [old-*]}]}]";
    assert_eq!(
        apply(less, &[]),
        "changed project acme/site\n  git: {url: https://git.example.com/acme/site, ref: next, credential: host} → \
         a folder (left out, so reset)\nunchanged 2\n"
    );
    assert_eq!(installation.texts(reference), Vec::<String>::new());
    let connections = "select name from connections where removed_at is null order by 1";
    assert_eq!(installation.texts(connections), ["list", "org"]);
    assert_eq!(
        apply(less, &["--prune"]),
        "removed connection acme/list\nunchanged 3\n"
    );
    assert_eq!(installation.texts(connections), ["org"]);
}
