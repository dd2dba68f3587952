//! `archway project`.

use serde_json::json;

use crate::installation::{CommandResult, Installation};

fn with_acme() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation
}

/// The columns of a table's line.
fn columns(line: &str) -> Vec<&str> {
    let columns = line.split("  ").map(str::trim);
    columns.filter(|column| !column.is_empty()).collect()
}

#[test]
fn a_project_is_added_with_its_rules() {
    let installation = with_acme();
    let added = "project add acme site --open .env.example --close private/ --close *.key";
    assert_eq!(installation.run(added).ok(), "project acme/site: added\n");
    installation
        .run("project add acme docs --name Handbook --allow **")
        .ok();

    let list = installation.json("project list acme");
    let (docs, site) = (&list["projects"][0], &list["projects"][1]);
    assert_eq!(
        (&docs["slug"], &docs["name"]),
        (&json!("docs"), &json!("Handbook"))
    );
    assert_eq!(docs["allow"], json!(["**"]));
    assert_eq!(site["open"], json!([".env.example"]));
    assert_eq!(site["close"], json!(["private/", "*.key"]));
    assert_eq!(site["allow"], json!(null));
}

#[test]
fn unnamed_settings_stay_and_cleared_ones_get_their_default() {
    let installation = with_acme();
    installation
        .run("project add acme site --open .env.example --close *.key")
        .ok();
    let set = "project set acme site --name Site --close secret/ --clear-open";
    assert_eq!(installation.run(set).ok(), "project acme/site: changed\n");
    assert_eq!(installation.run(set).ok(), "project acme/site: unchanged\n");
    installation
        .run("project add acme docs --name Handbook --allow ** --close a")
        .ok();
    installation
        .run("project set acme docs --clear-allow --clear-name")
        .ok();

    let list = installation.run("project list acme").ok();
    let lines: Vec<Vec<&str>> = list.lines().map(columns).collect();
    let header = [
        "project", "name", "workers", "allow", "open", "close", "state",
    ];
    assert_eq!(lines[0], header);
    assert_eq!(
        lines[1],
        [
            "docs",
            "docs",
            "none yet (they look every 5 s)",
            "built-in",
            "-",
            "a",
            "waits for a worker"
        ]
    );
    assert_eq!(
        lines[2],
        [
            "site",
            "Site",
            "none yet (they look every 5 s)",
            "built-in",
            "-",
            "secret/",
            "waits for a worker"
        ]
    );
}

#[test]
fn the_list_says_which_workers_saw_the_folder_lately() {
    let installation = with_acme();
    installation.run("project add acme site").ok();
    installation.sql(
        "insert into worker_mounts (worker, pool, tenant_id, project_id, seen_at) \
         select worker, 'shared', tenant_id, id, now() - age from projects, \
             (values ('worker-b', interval '80 s'), ('worker-a', '0 s'), ('gone', '91 s')) \
             seen (worker, age)",
    );
    let list = installation.json("project list acme");
    assert_eq!(
        list["projects"][0]["workers"],
        json!(["worker-a", "worker-b"])
    );
    assert!(
        installation
            .run("project list acme")
            .ok()
            .contains("worker-a, worker-b")
    );
}

#[test]
fn a_project_that_no_worker_sees_is_not_called_served() {
    let place = with_acme();
    for slug in ["crashed", "seen", "unseen"] {
        place.run(&format!("project add acme {slug}")).ok();
    }
    place.sql(
        "update projects set created_at = now() - interval '1 hour'; \
         insert into worker_mounts (worker, pool, tenant_id, project_id, seen_at) \
         select 'w', 'shared', tenant_id, id, now() - age from projects, \
             (values ('seen', interval '9 s'), ('crashed', '12 min')) mounted (of, age) \
         where slug = of",
    );
    let list = place.json("project list acme");
    let states = list["projects"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|row| &row["state"]).collect();
    assert_eq!(states, ["unseen", "served", "unseen"]);
    let text = place.run("project list acme").ok();
    let lines: Vec<Vec<&str>> = text.lines().map(columns).collect();
    assert_eq!(
        (lines[1][2], lines[1][6]),
        ("none for 12 min", "not served")
    );
    assert_eq!((lines[2][2], lines[2][6]), ("w", "served"));
    assert_eq!((lines[3][2], lines[3][6]), ("none", "not served"));
    assert!(text.contains("<repos>/<tenant>/<project>"), "{text}");
    assert!(!text.contains("every 5 s"), "{text}");
}

#[test]
fn workers_of_one_name_are_shown_with_where_they_run() {
    let place = with_acme();
    place.run("project add acme site").ok();
    for at in ["box-7001", "box-7002", "box-7001"] {
        place.sql(&format!(
            "select report_mounts('w', '{at}', 'shared', array['acme'], array['site'])"
        ));
    }
    place.sql("select report_mounts('other', 'box-7003', 'shared', array['acme'], array['site'])");
    let list = place.json("project list acme");
    let expected = json!(["other", "w (box-7001)", "w (box-7002)"]);
    assert_eq!(list["projects"][0]["workers"], expected);
    let status = place.json("status");
    let workers = status["workers"].as_array().unwrap().iter();
    let workers: Vec<_> = workers
        .map(|row| (&row["name"], &row["instance"]))
        .collect();
    let expected = [("other", "box-7003"), ("w", "box-7001"), ("w", "box-7002")];
    let expected = expected.map(|(name, at)| (json!(name), json!(at)));
    assert_eq!(workers, expected.each_ref().map(|(name, at)| (name, at)));
    let text = place.run("status").ok();
    assert!(text.contains("w (box-7001)  shared"), "{text}");
}

#[test]
fn a_removed_project_keeps_its_slug_until_it_is_purged_and_can_come_back() {
    let installation = with_acme();
    installation
        .run("project add acme site --close private/")
        .ok();
    let purge = "project purge acme site --confirm site";
    assert!(
        installation
            .run(purge)
            .refusal()
            .contains("in use; remove it first")
    );
    installation.run("project remove acme site").ok();
    let refusal = installation.run("project add acme site").refusal();
    assert!(refusal.contains("project purge"), "{refusal}");
    assert!(
        installation
            .run("project remove acme site")
            .refusal()
            .contains("was removed")
    );

    assert_eq!(
        installation.run("project restore acme site").ok(),
        "project acme/site: restored\n"
    );
    assert_eq!(
        installation.run("project restore acme site").ok(),
        "project acme/site: in use before\n"
    );
    let list = installation.json("project list acme");
    assert_eq!(list["projects"][0]["close"], json!(["private/"]));

    installation.run("project remove acme site").ok();
    let refusal = installation.run("project purge acme site").refusal();
    assert!(refusal.contains("add --confirm site"), "{refusal}");
    assert_eq!(installation.run(purge).ok(), "project acme/site: erased\n");
    installation.run("project add acme site").ok();
    assert_eq!(
        installation.json("project list acme")["projects"][0]["close"],
        json!([])
    );
}

#[test]
fn invalid_arguments_are_refused_by_name() {
    let installation = with_acme();
    installation.run("project add acme site").ok();
    let refusal = |line: &str| installation.run(line).refusal();
    assert!(refusal("project add acme site").contains("there already is a project site"));
    assert!(refusal("project add nobody site").contains("there is no tenant nobody"));
    assert!(refusal("project set acme docs --name x").contains("`archway project list acme`"));
    for word in ["adr", "pattern", "guideline"] {
        assert!(
            refusal(&format!("project add acme {word}")).contains("reserved"),
            "{word}"
        );
    }
    for option in ["--allow", "--open", "--close"] {
        let refused = refusal(&format!("project set acme site {option} ok {option} a[b"));
        assert!(
            refused.contains("\"a[b\" is not a glob") && refused.contains("character 2"),
            "{refused}"
        );
    }
    let named = ["project", "set", "acme", "site", "--name", "a\u{1b}[2J"];
    assert!(
        CommandResult::of(installation.archway().args(named))
            .refusal()
            .contains("control characters")
    );
    let elsewhere = refusal("project add acme docs --repo /tmp");
    assert!(
        elsewhere.contains("<repos>/acme/docs") && elsewhere.contains("--repo"),
        "{elsewhere}"
    );
    assert_eq!(
        installation.json("project list acme")["projects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(installation.run("project set acme site").code, 2);
    assert_eq!(
        installation
            .run("project set acme site --name x --clear-name")
            .code,
        2
    );
}

#[test]
fn without_a_tenant_all_projects_are_listed_with_their_tenants() {
    let installation = with_acme();
    installation.run("tenant create zeta").ok();
    for project in ["acme site", "zeta docs", "zeta site"] {
        installation.run(&format!("project add {project}")).ok();
    }
    let all = [("acme", "site"), ("zeta", "docs"), ("zeta", "site")];
    for (list, kind, name) in [
        ("project list", "projects", "slug"),
        ("index status", "indexes", "project"),
    ] {
        let found = installation.json(list);
        assert_eq!(found["tenant"], json!(null), "{list}");
        let rows = found[kind].as_array().unwrap().iter();
        let rows: Vec<_> = rows.map(|row| (&row["tenant"], &row[name])).collect();
        let expected = all.map(|(tenant, project)| (json!(tenant), json!(project)));
        assert_eq!(rows, expected.each_ref().map(|(a, b)| (a, b)), "{list}");

        let text = installation.run(list).ok();
        let lines: Vec<Vec<&str>> = text.lines().map(columns).collect();
        assert_eq!(lines[0][..2], ["tenant", "project"], "{list}");
        let whose: Vec<_> = lines[1..].iter().map(|line| (line[0], line[1])).collect();
        assert_eq!(whose, all, "{list}");
        for of_one in ["zeta", "--tenant zeta"] {
            let found = installation.json(&format!("{list} {of_one}"));
            assert_eq!(found["tenant"], "zeta");
            assert_eq!(found[kind].as_array().unwrap().len(), 2);
        }
    }
    let docs = installation.json("index status --project docs");
    assert_eq!(docs["indexes"][0]["tenant"], "zeta");
    let refusal = installation.run("index status --project none").refusal();
    assert!(
        refusal.contains("no tenant has a project none"),
        "{refusal}"
    );
}
