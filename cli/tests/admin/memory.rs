//! `archway memory erase`, and how much room a tenant's memory has.

use serde_json::json;

use crate::place::Place;

/// An entry and a discovery of `acme/site`, as workers leave them.
const REMEMBERED: &str = "
    insert into memory_logs (tenant_id, project_id, log, count, bytes, last_at)
        select tenant_id, id, log, 1, 300, now()
        from projects, unnest(array['decisions.jsonl', 'discoveries']) log;
    insert into memory_entries (tenant_id, project_id, file, number, principal, written_at, entry,
                                words)
        select tenant_id, id, 'decisions.jsonl', 1, 'key:x', now(), '{\"decision\":\"sesame\"}',
               'sesame' from projects;
    insert into discoveries (tenant_id, project_id, id, principal, kind, content, paths, created_at)
        select tenant_id, id, '8f14e45f-ceea-467f-a9d2-2b1c3d4e5f60', 'key:x', 'rule', 'sesame',
               '{}', now() from projects;
";

const DISCOVERY: &str = "discoveries/8f14e45f-ceea-467f-a9d2-2b1c3d4e5f60";

fn remembering() -> Place {
    let place = Place::new();
    place.run("tenant create acme").ok();
    place.run("project add acme site").ok();
    place.sql(REMEMBERED);
    place
}

#[test]
fn an_erased_entry_leaves_its_position_with_who_and_why() {
    let place = remembering();
    let erase = |what: &str| format!("memory erase acme site {what} --reason leaked");
    for what in ["decisions.jsonl/1", DISCOVERY] {
        let unsure = place.run(&erase(what)).refusal();
        assert!(
            unsure.contains(&format!("add --confirm {what}")),
            "{unsure}"
        );
        let done = place.json(&format!("{} --confirm {what}", erase(what)));
        assert_eq!(
            done,
            json!({ "tenant": "acme", "project": "site", "erased": what })
        );
        let again = place
            .run(&format!("{} --confirm {what}", erase(what)))
            .refusal();
        assert!(again.contains("was erased before"), "{again}");
    }
    let kept = place.texts("select concat_ws(' ', what, reason) from memory_erasures order by 1");
    assert_eq!(
        kept,
        ["decisions.jsonl/1 leaked", &format!("{DISCOVERY} leaked")]
    );
    let left = "select count(*) from (select entry from memory_entries union all \
        select content from discoveries) as said where said.entry like '%sesame%'";
    assert_eq!(place.count(left), 0);
    assert_eq!(place.count("select sum(count)::bigint from memory_logs"), 2);
}

#[test]
fn erasing_an_unknown_entry_is_refused() {
    let place = remembering();
    let missing = "memory erase acme site decisions.jsonl/2 --reason x --confirm decisions.jsonl/2";
    assert!(place.run(missing).refusal().contains("was never written"));
    let elsewhere = missing.replace("site", "shop");
    assert!(
        place
            .run(&elsewhere)
            .refusal()
            .contains("there is no project shop")
    );
    for bad in ["learner_profile.json/1", "decisions.jsonl", "discoveries/1"] {
        let refused = place.run(&format!("memory erase acme site {bad} --reason x"));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains("names nothing in memory"),
            "{}",
            refused.err
        );
    }
    assert_eq!(place.count("select count(*) from memory_erasures"), 0);
}

#[test]
fn the_bound_on_memory_is_per_tenant_in_mib() {
    let place = remembering();
    let shown = place.run("limits show acme memory_mib").ok();
    let line = shown.lines().last().unwrap().split_whitespace();
    assert_eq!(
        line.collect::<Vec<_>>(),
        ["memory_mib", "-", "-", "-", "1024"]
    );
    assert_eq!(
        place.run("limits set acme memory_mib=2048").ok(),
        "tenant acme, level tenant: memory_mib 2048 MiB in all\n"
    );
    let shown = place.json("limits show acme memory_mib");
    let row = json!({ "name": "memory_mib", "weight": null, "session": null, "key": null,
        "tenant": { "per_minute": 2048, "origin": "tenant" } });
    assert_eq!(shown["limits"], json!([row]));
    for level in ["key", "session"] {
        let refused = place.run(&format!("limits set acme --level {level} memory_mib=1"));
        assert!(refused.refusal().contains("room for memory is a tenant's"));
    }
}
