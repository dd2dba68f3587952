//! `archway access`, and `access` in a file of `archway apply`.

use serde_json::json;

use crate::installation::Installation;

pub(super) fn installation() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    for project in ["api", "web-1", "web-2"] {
        installation
            .run(&format!("project add acme {project}"))
            .ok();
    }
    installation
}

fn edition(installation: &Installation) -> Vec<String> {
    installation.texts("select edition::text from access_editions")
}

#[test]
fn a_rule_is_added_listed_explained_and_removed() {
    let installation = installation();
    let nothing = installation.run("access list acme").ok();
    assert_eq!(
        nothing,
        "there are no access rules: everyone may use all projects\n"
    );
    let explained = installation.run("access explain acme --key ci").ok();
    assert!(explained.contains("no access rules"), "{explained}");

    let allow = "access allow acme --who key:ci --who group:dev --project web-*";
    let first = installation.json(allow)["rule"].as_i64().unwrap();
    let deny = "access deny acme --who key:ci --project web-2 --family git";
    let second = installation.json(deny)["rule"].as_i64().unwrap();
    assert_eq!(edition(&installation), ["2"]);
    let list = installation.json("access list acme");
    assert_eq!(list["rules"][0]["who"], json!(["key:ci", "group:dev"]));
    assert_eq!(list["rules"][1]["deny"], true);

    let explained = installation.json("access explain acme --key ci");
    assert_eq!(explained["rules"], json!([first, second]));
    let projects = explained["projects"].as_array().unwrap();
    assert_eq!(projects[0]["families"], json!([]), "api");
    assert!(projects[1]["families"].to_string().contains("git"), "web-1");
    assert_eq!(projects[1]["given_by"], json!([first]));
    assert!(
        !projects[2]["families"].to_string().contains("git"),
        "web-2"
    );
    assert_eq!(projects[2]["denied_by"], json!([second]));
    let issuer = "--issuer https://login.example --subject ada";
    for (group, rules) in [("dev", json!([first])), ("ops", json!([]))] {
        let line = format!("access explain acme {issuer} --group {group} --project web-2");
        assert_eq!(installation.json(&line)["rules"], rules, "{group}");
    }
    let text = installation.run("access explain acme --key ci").ok();
    assert!(text.contains("key ci of acme: rules"), "{text}");
    assert!(text.contains("none"), "{text}");

    installation
        .run(&format!("access remove acme {second}"))
        .ok();
    installation
        .run(&format!("access remove acme {first}"))
        .ok();
    assert_eq!(edition(&installation), ["4"]);
    let gone = installation.run(&format!("access remove acme {first}"));
    assert!(gone.refusal().contains("`archway access list acme`"));
}

#[test]
fn a_label_that_no_live_key_has_is_named() {
    let installation = installation();
    let allow = "access allow acme --who key:ci --project web-*";
    assert_eq!(installation.json(allow)["unknown_labels"], json!(["ci"]));
    let explain = "access explain acme --key ci";
    assert_eq!(installation.json(explain)["key_exists"], false);
    let explained = installation.run(explain).ok();
    assert!(
        explained.contains("no live key of acme has this label"),
        "{explained}"
    );
    installation.run("key issue acme --label ci").ok();
    assert_eq!(installation.json(allow)["unknown_labels"], json!([]));
    assert_eq!(installation.json(explain)["key_exists"], true);
}

#[test]
fn a_malformed_rule_is_refused_with_what_it_may_be() {
    let installation = installation();
    for (options, words) in [
        ("--who team:dev --project *", "group:NAME"),
        ("--who everyone --project Web", "topic:NAME"),
        (
            "--who everyone --project * --family fils",
            "there are basics",
        ),
        ("--who subject:ada --project *", "subject:ISSUER#SUBJECT"),
    ] {
        let refused = installation.run(&format!("access allow acme {options}"));
        let refused = refused.refusal();
        assert!(refused.contains(words), "{options}: {refused}");
    }
    let unknown = installation.run("access explain acme --key ci --project nonesuch");
    assert!(unknown.refusal().contains("there is no project nonesuch"));
    assert_eq!(edition(&installation), Vec::<String>::new());
}

#[test]
fn a_file_sets_exactly_its_rules_and_keeps_those_that_stay() {
    let installation = installation();
    let apply = |access: &str| {
        let text = format!("tenants: [{{slug: acme{access}}}]");
        let file = installation.file("tenants.yaml", &text);
        installation.run(&format!("apply -f {file}"))
    };
    let rules = ", access: [{who: [everyone], projects: [api]}, {who: ['key:ci'], projects: ['web-*'], deny: true}]";
    apply(rules).ok();
    let ids = "select string_agg(id::text, ' ' order by id) from access_rules";
    let first = installation.texts(ids);
    apply(rules).ok();
    apply("").ok();
    assert_eq!(installation.texts(ids), first, "unchanged");
    let changed = ", access: [{who: [everyone], projects: [api]}, {who: ['key:ci'], projects: [web-1], deny: true}]";
    let said = apply(changed).ok();
    assert!(
        said.contains("removed access rule acme: deny web-* to key:ci")
            && said.contains("created access rule acme: deny web-1 to key:ci"),
        "{said}"
    );
    let second = installation.texts(ids);
    assert_eq!(first[0].split(' ').next(), second[0].split(' ').next());
    let refused = apply(", access: [{who: [nobody], projects: [api]}]");
    assert!(refused.refusal().contains("access rule 1 of acme"));
    let hidden = apply(", access: [{who: [everyone], projects: [api], deny: true}]").ok();
    assert!(hidden.contains("all are hidden from everyone"), "{hidden}");
    let open = apply(", access: []").ok();
    assert!(open.contains("everyone may use all projects"), "{open}");
    assert_eq!(edition(&installation), ["8"]);
}

/// `api` and `web-1` are private at their host, which said two hours ago that ada may read the first.
fn hosted() -> Installation {
    let installation = installation();
    let connection = "connection add acme github --github acme --credential github";
    installation
        .run(&format!(
            "{connection} --permissions host --permissions-grace 6"
        ))
        .ok();
    installation.sql(
        "insert into sources (project_id, tenant_id, url, host, connection_id, host_id, visibility) \
         select p.id, p.tenant_id, 'https://github.com/acme/x', 'github.com', c.id, p.slug, \
                case p.slug when 'web-2' then 'public' else 'private' end from projects p, connections c; \
         insert into host_readers (project_id, connection_id, tenant_id, readers, listed_at) \
         select project_id, connection_id, tenant_id, '{7}', now() - interval '130 minutes' from sources \
         where host_id = 'api'; \
         insert into host_accounts (connection_id, tenant_id, account, login) \
         select connection_id, tenant_id, 7, 'ada' from host_permissions",
    );
    installation
}

const TOKEN: &str = "access explain acme --issuer https://login.example --subject s";

/// What the host says of `api` about a caller, who has no family of tools there unless it gives it.
fn answer(installation: &Installation, line: &str) -> serde_json::Value {
    let explained = installation.json(&format!("{line} --project api"));
    let project = &explained["projects"][0];
    let is_hidden = project["families"].as_array().unwrap().is_empty();
    assert_eq!(is_hidden, project["host"]["answer"] != "reads", "{project}");
    project["host"].clone()
}

#[test]
fn what_a_host_says_is_explained_with_its_age() {
    let installation = hosted();
    let text = installation
        .run(&format!("{TOKEN} --account github:login:Ada"))
        .ok();
    assert!(text.contains("the tenant has no rules"), "{text}");
    for (project, says) in [
        ("api", "all github: reads it, as of 2 h ago"),
        ("web-1", "none github: has not answered yet"),
        ("web-2", "all"),
    ] {
        let line = text.lines().find(|line| line.starts_with(project)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.join(" "), format!("{project} {says}"), "{text}");
    }
    let said = answer(&installation, &format!("{TOKEN} --account github:id:7"));
    assert_eq!(
        (&said["answer"], &said["connection"]),
        (&json!("reads"), &json!("github"))
    );
    let age = said["age_seconds"].as_i64().unwrap();
    assert!((7800..7900).contains(&age), "{said}");
    let eve = format!("{TOKEN} --account github:login:eve");
    for (line, says) in [
        (&*eve, "does_not_read"),
        (TOKEN, "does_not_read"),
        ("access explain acme --key ci", "no_account"),
    ] {
        assert_eq!(answer(&installation, line)["answer"], says, "{line}");
    }
    let shown = installation.run("connection show acme github").ok();
    let says =
        "permissions: the host said who may read 1 of 2 private repositories, the oldest 2 h ago";
    assert!(shown.contains(says), "{shown}");
}

#[test]
fn an_old_answer_counts_no_more_and_a_rule_for_a_key_stands_for_the_host() {
    let installation = hosted();
    installation.sql("update host_readers set listed_at = now() - interval '7 hours'");
    let ada = format!("{TOKEN} --account github:login:ada");
    assert_eq!(answer(&installation, &ada)["answer"], "too_old");
    let state = installation.json("connection show acme github");
    assert_eq!(state["permissions"]["answered"], 0);
    for (who, is_given) in [("everyone", false), ("key:ci", true)] {
        installation
            .run(&format!("access allow acme --who {who} --project *"))
            .ok();
        let explained = installation.json("access explain acme --key ci --project api");
        let families = explained["projects"][0]["families"].as_array().unwrap();
        assert_eq!(!families.is_empty(), is_given, "{explained}");
    }
}

#[test]
fn permissions_need_a_host_that_can_be_asked() {
    let installation = installation();
    for (more, says) in [
        (
            "--repository https://one.example/a/x --permissions host",
            "a list of URLs",
        ),
        ("--github acme --permissions host", "`credential`"),
        (
            "--github acme --credential github --permissions host --permissions-grace 0",
            "1 to 720",
        ),
    ] {
        let refused = installation
            .run(&format!("connection add acme org {more}"))
            .refusal();
        assert!(refused.contains(says), "{more}: {refused}");
    }
    for (line, says) in [
        (
            "connection add acme org --github acme --permissions-grace 5",
            "--permissions",
        ),
        (
            "connection add acme org --github acme --permissions nobody",
            "possible values: host",
        ),
        (
            "access explain acme --issuer https://a --subject s --account ada",
            "CONNECTION:login:NAME",
        ),
    ] {
        let usage = installation.run(line);
        assert!(usage.code == 2 && usage.err.contains(says), "{}", usage.err);
    }
}
