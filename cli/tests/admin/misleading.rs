//! Names that hide text, reverse it or move a cursor, in everything that commands print.

use std::collections::BTreeSet;

use archway_proto::misleading::misleads;
use serde_json::{Value, json};

use crate::installation::{CommandResult, Installation, bare};
use crate::status::telling_port;

/// Reverses text, is invisible, hides bytes, clears a terminal.
const NAME: &str = "p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2J";
/// The same as people see it.
const SHOWN: &str = r"p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2J";
/// Commands that show something. Each is tested below.
const SHOWING: [&str; 5] = ["list", "show", "status", "usage", "changes"];

/// An installation in which everything without a fixed format has that name.
fn named() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("project add acme site").ok();
    installation.run("project add acme old").ok();
    installation.run("key issue acme").ok();
    installation.sql(&format!(
        "update tenants set name = '{NAME}'; \
         update projects set name = '{NAME}', close_globs = array['{NAME}']; \
         update api_keys set label = '{NAME}'; \
         insert into principals values (repeat('a', 43), '{NAME}', '{NAME}', now()); \
         insert into worker_mounts (worker, pool, tenant_id, project_id) \
         select '{NAME}', '{NAME}', tenant_id, id from projects; \
         insert into sources (tenant_id, project_id, url, host) \
         select tenant_id, id, 'https://host/a', '{NAME}' from projects; \
         insert into mirrors (tenant_id, project_id, place, message) \
         select tenant_id, project_id, '{NAME}', '{NAME}' from sources; \
         insert into sync_processes (id, place, version, name, host, admin) \
         values (gen_random_uuid(), '{NAME}', '{NAME}', '{NAME}', '{NAME}', '127.0.0.1:1'); \
         insert into connections (tenant_id, name, settings) \
         select id, 'org', jsonb_build_object('github', jsonb_build_object('org', '{NAME}'), 'permissions', 'host') \
         from tenants; \
         update host_permissions set message = '{NAME}'; \
         insert into access_rules (tenant_id, who, projects, families) \
         select id, array['everyone'], array['*'], array['{NAME}'] from tenants; \
         update listings set message = '{NAME}'; \
         update sources set out_of_use = 'gone' from projects p where p.id = project_id and p.slug = 'old'; \
         update projects set removed_at = now() where slug = 'old'; \
         insert into indexes (tenant_id, project_id, made_by, failure) \
         select tenant_id, id, 'x', '{NAME}' from projects; \
         insert into usage_hours (tenant_id, hour, agent, credential, calls) \
         select tenant_id, date_trunc('hour', now()), '{NAME}', id, 1 from api_keys"
    ));
    installation
}

/// A gateway's status, with names that its workers and callers chose.
fn gateway() -> String {
    let sums = json!({ "invocations": 1, "failures": 0, "timeouts": 0, "total_ms": 1 });
    let worker = json!({ "pool": NAME, "address": NAME, "state": NAME, "in_flight": 0 });
    let circuit = json!({ "pool": NAME, "family": NAME, "tenant": NAME, "state": NAME });
    let told = json!({
        "limits_store": NAME, "workers": [worker], "circuits": [circuit],
        "refusals": [{ "reason": NAME, "detail": NAME, "count": 1 }], "tools": { NAME: sums },
    });
    telling_port(told.to_string())
}

/// All commands that show something, as `--help` lists them.
fn showing() -> BTreeSet<String> {
    let commands = |words: &[&str]| {
        let help = CommandResult::of(bare().args(words).arg("--help")).ok();
        let listed = help
            .split_once("Commands:\n")
            .map(|(_, rest)| rest.to_owned());
        let listed = listed.unwrap_or_default();
        let lines = listed.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut showing = BTreeSet::new();
    for noun in commands(&[]).into_iter().filter(|noun| noun != "help") {
        if SHOWING.contains(&noun.as_str()) {
            showing.insert(noun.clone());
        }
        let of = commands(&[&noun]);
        let of = of.iter().filter(|it| SHOWING.contains(&it.as_str()));
        showing.extend(of.map(|it| format!("{noun} {it}")));
    }
    showing
}

#[test]
fn every_command_escapes_misleading_characters_in_names() {
    let installation = named();
    // The command, and how often the name must appear at least.
    let table = [
        ("tenant list", "tenant list", 1),
        ("project list", "project list acme", 3),
        ("sync status", "sync status acme", 3),
        ("sync status", "sync status", 3),
        ("connection list", "connection list acme", 1),
        ("access list", "access list acme", 1),
        ("connection show", "connection show acme org", 2),
        ("project list", "project list", 3),
        ("key list", "key list acme", 1),
        ("key list", "key list", 1),
        ("principal list", "principal list", 2),
        ("limits show", "limits show acme", 0),
        ("index status", "index status", 1),
        ("audit changes", "audit changes", 1),
        ("usage", "usage --by key", 1),
        ("usage", "usage acme --by agent", 1),
        ("status", "status", 3),
    ];
    let tried: BTreeSet<String> = table.iter().map(|(it, ..)| (*it).to_owned()).collect();
    assert_eq!(tried, showing(), "each is in this table");
    for (_, line, times) in table {
        let shown = installation.run(line).ok();
        assert!(!misleads(&shown), "{line}: {shown}");
        assert!(shown.matches(SHOWN).count() >= times, "{line}: {shown}");

        let answer = installation.run(&format!("{line} --json")).ok();
        assert!(!misleads(&answer), "{line}: {answer}");
        let exact: Value = serde_json::from_str(&answer).unwrap();
        let read = exact.to_string();
        let name = json!(NAME).to_string();
        assert!(read.matches(&name).count() >= times, "{line}: {answer}");
    }
    let list = installation.json("tenant list");
    assert_eq!(list["tenants"][0]["name"], NAME);
}

#[test]
fn misleading_characters_from_gateways_are_escaped() {
    let installation = Installation::new();
    let shown = installation
        .run(&format!("status --admin-url {}", gateway()))
        .ok();
    assert!(!misleads(&shown), "{shown}");
    assert!(shown.matches(SHOWN).count() >= 10, "{shown}");
    let status = installation.json(&format!("status --admin-url {}", gateway()));
    assert_eq!(status["breakers"][0]["pool"], NAME);
}

#[test]
fn misleading_characters_in_refusals_are_escaped() {
    let installation = named();
    for refused in [
        installation
            .archway()
            .args(["project", "add", NAME, "site"])
            .output(),
        installation
            .archway()
            .args(["project", "add", "acme", NAME])
            .output(),
        installation
            .archway()
            .args(["apply", "-f", &installation.file("a.yaml", NAME)])
            .output(),
    ] {
        let refused = refused.unwrap();
        assert!(!refused.status.success());
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(!misleads(&told) && told.len() > 20, "{told:?}");
    }
}
