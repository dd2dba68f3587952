//! `archway limits`.

use serde_json::{Value, json};

use crate::installation::Installation;

/// The limits that a gateway reads for a key: its own and its tenant's, in order.
fn found(installation: &Installation, id: &str) -> Vec<String> {
    installation.texts(&format!(
        "select concat_ws(' ', l->>'level', l->>'of', l->>'per_minute', l->>'of_key') \
         from find_api_key('{id}'), jsonb_array_elements(limits) l order by 1"
    ))
}

fn issue(installation: &Installation, options: &str) -> String {
    let issued = installation.json(&format!("key issue acme {options}"));
    issued["id"].as_str().unwrap().to_owned()
}

/// A line of `limits show`, by its name.
fn line(shown: &str, name: &str) -> String {
    let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn installation() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation
}

#[test]
fn a_limit_that_is_set_notifies_gateways_and_shows_its_source() {
    let installation = installation();
    let key = issue(&installation, "--label ci --agents 3");
    let other = issue(&installation, "--label other");
    let set = |line: &str| installation.run(&format!("limits set {line}")).ok();
    assert_eq!(
        set("acme total=0 grep_codebase=500"),
        "tenant acme, level tenant: total unlimited\n\
         tenant acme, level tenant: grep_codebase 500 a minute\n"
    );
    set("acme --level session grep_codebase=7");
    set(&format!("acme --key {key} total=9000"));
    set(&format!(
        "--tenant acme --key {key} --tool grep_codebase 90"
    ));
    assert_eq!(
        found(&installation, &other),
        [
            "session grep_codebase 7 false",
            "tenant grep_codebase 500 false",
            "tenant total 0 false"
        ]
    );
    assert_eq!(
        found(&installation, &key)[..2],
        ["key grep_codebase 90 true", "key total 9000 true"]
    );

    let shown = installation.run("limits show acme").ok();
    assert!(shown.starts_with("any key of tenant acme without limits of its own, 1 agent\n"));
    assert_eq!(
        line(&shown, "total"),
        "total - - 1200 unlimited (set for the tenant)"
    );
    assert_eq!(
        line(&shown, "grep_codebase"),
        "grep_codebase 5 7 (set for the tenant) 60 500 (set for the tenant)"
    );
    assert_eq!(line(&shown, "hello"), "hello 1 100 100 1000");
    assert_eq!(line(&shown, "prompts/get"), "prompts/get 1 60 60 600");
    assert_eq!(
        line(&shown, "list_projects"),
        "list_projects 1 unlimited unlimited unlimited"
    );

    let show_key = format!("limits show acme --key {key}");
    let shown = installation.run(&show_key).ok();
    assert!(shown.starts_with(&format!("key {key} of tenant acme, 3 agents\n")));
    assert_eq!(line(&shown, "hello"), "hello 1 100 300 1000");
    assert_eq!(
        line(&shown, "total"),
        "total - - 9000 (set for the key) unlimited (set for the tenant)"
    );
}

#[test]
fn json_output_shows_the_same_limits() {
    let installation = installation();
    let key = issue(&installation, "");
    let set = installation.json(&format!("limits set acme --key {key} hello=0 total=5"));
    let hello = json!({ "name": "hello", "per_minute": 0, "changed": true });
    assert_eq!((&set["level"], &set["limits"][0]), (&json!("key"), &hello));
    let again = installation.json(&format!("limits set acme --key {key} hello=0"));
    assert_eq!(again["limits"][0]["changed"], false);

    let shown = installation.json(&format!("limits show acme --key {key} total hello"));
    let by =
        |per_minute: Value, origin: &str| json!({ "per_minute": per_minute, "origin": origin });
    let limits = json!([
        {
            "name": "total", "per": "minute", "weight": null, "session": null,
            "key": by(json!(5), "key"), "tenant": by(json!(12_000), "default"),
        },
        {
            "name": "hello", "per": "minute", "weight": 1, "session": by(json!(100), "default"),
            "key": by(Value::Null, "key"), "tenant": by(json!(1000), "default"),
        },
    ]);
    let wanted = json!({ "tenant": "acme", "key": key, "agents": 1, "limits": limits });
    assert_eq!(shown, wanted);
}

#[test]
fn clearing_a_limit_restores_the_previous_one() {
    let installation = installation();
    let key = issue(&installation, "");
    installation
        .run("limits set acme --level key hello=5 total=6")
        .ok();
    installation
        .run(&format!("limits set acme --key {key} hello=7"))
        .ok();
    let unset = installation
        .run(&format!("limits unset acme --key {key} hello total"))
        .ok();
    assert_eq!(
        unset,
        format!(
            "key {key}, level key: hello not set\nkey {key}, level key: total not set, as before\n"
        )
    );
    let shown = installation
        .run(&format!("limits show acme --key {key}"))
        .ok();
    assert!(line(&shown, "hello").contains(" 5 (set for the tenant) "));
    let unset = installation.json("limits unset --tenant acme --level key hello total");
    let total = json!({ "name": "total", "per_minute": null, "changed": true });
    assert_eq!(unset["limits"][1], total);
    assert_eq!(found(&installation, &key), Vec::<String>::new());
}

#[test]
fn a_limit_of_a_key_goes_for_its_successor_and_ends_with_neither() {
    let installation = installation();
    let old = issue(&installation, "");
    let rotated = installation.json(&format!("key rotate {old}"));
    let new = rotated["id"].as_str().unwrap();
    installation
        .run(&format!("limits set acme --key {old} hello=5"))
        .ok();
    assert_eq!(found(&installation, new), ["key hello 5 true"]);
    installation.run(&format!("key revoke {old}")).ok();
    let refusal = installation
        .run(&format!("limits set acme --key {old} hello=6"))
        .refusal();
    assert!(refusal.contains("is revoked; name a live one"), "{refusal}");
    installation
        .run(&format!("limits set acme --key {new} hello=6"))
        .ok();
    assert_eq!(found(&installation, new), ["key hello 6 true"]);
}

#[test]
fn invalid_limits_are_refused_and_change_nothing() {
    let installation = installation();
    installation.run("tenant create zeta").ok();
    let key = issue(&installation, "");
    let refusal = |line: &str| installation.run(&format!("limits {line}")).refusal();
    assert!(refusal("set acme --level session total=5").contains("no total of its own"));
    let line = format!("set acme --key {key} --level tenant hello=5");
    assert!(refusal(&line).contains("does not bind its tenant"));
    assert!(refusal("set acme hello=5 helo=6").contains("did you mean hello?"));
    assert!(refusal("unset acme helo").contains("did you mean hello?"));
    assert!(refusal("show acme helo").contains("did you mean hello?"));
    assert!(refusal("unset acme").contains("name the limits to unset"));
    assert!(refusal("set acme --force No-Name=5").contains("is not a valid name of a limit"));
    assert!(refusal("set nobody hello=5").contains("there is no tenant nobody"));
    // Another tenant's key is reported like an unknown one.
    for (tenant, id) in [("zeta", key.as_str()), ("acme", "aaaaaaaaaaaa")] {
        let refusal = refusal(&format!("set {tenant} --key {id} hello=5"));
        assert!(
            refusal.contains(&format!("there is no key {id}")),
            "{refusal}"
        );
    }
    for line in [
        "acme hello=-1",
        "acme hello=x",
        "acme -- -1",
        "acme hello",
        "acme 5",
        "acme --tenant acme hello=5",
        "hello=5",
        "acme",
    ] {
        let refused = installation.run(&format!("limits set {line}"));
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{line}");
    }
    assert_eq!(installation.count("select count(*) from limits"), 0);
}

#[test]
fn a_tool_of_another_build_can_be_limited_shown_and_let_go() {
    let installation = installation();
    installation
        .run("limits set acme --force git_log_of_tomorrow=5")
        .ok();
    let shown = installation
        .run("limits show acme git_log_of_tomorrow")
        .ok();
    assert_eq!(
        line(&shown, "git_log"),
        "git_log_of_tomorrow - unlimited unlimited 5 (set for the tenant)"
    );
    installation
        .run("limits unset acme git_log_of_tomorrow")
        .ok();
    assert_eq!(installation.count("select count(*) from limits"), 0);
}

#[test]
fn a_limit_by_the_month_is_of_a_tenant_and_larger_than_others() {
    let installation = installation();
    assert_eq!(
        installation.run("limits set acme month=2000000000").ok(),
        "tenant acme, level tenant: month 2000000000 units a month\n"
    );
    let own = "month: 2000000000 units a calendar month (set for the tenant)";
    let shown = installation.run("limits show acme month").ok();
    assert!(
        shown.ends_with(&format!("\n\n{own}\n")) && !shown.contains("a minute"),
        "{shown}"
    );
    let shown = installation.run("limits show acme").ok();
    assert!(
        shown.ends_with(&format!("\n\n{own}\nmemory_mib: 1024 MiB in all\n")),
        "{shown}"
    );
    assert!(
        installation
            .run("status")
            .ok()
            .contains("2000000000 units a month")
    );
    let file = "tenants: [{slug: acme, limits: {tenant: {month: 5000000}}}]";
    let apply = format!("apply -f {}", installation.file("tenants.yaml", file));
    installation.run(&apply).ok();
    let kept = "select per_minute::bigint from limits where of = 'month'";
    assert_eq!(installation.count(kept), 5_000_000);
    for level in ["key", "session"] {
        let refused = installation.run(&format!("limits set acme --level {level} month=1"));
        assert!(refused.refusal().contains("a month is limited per tenant"));
    }
    for limit in ["month=2000000001", "total=2000000"] {
        let refused = installation.run(&format!("limits set acme {limit}"));
        assert!(
            refused.code == 2 && refused.err.contains("is not a number"),
            "{limit}"
        );
    }
}
