//! `archway memory erase`, and the bound on a tenant's memory.

use serde_json::json;

use crate::installation::Installation;

/// An entry and a discovery of `acme/site`, as workers write them.
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

/// `acme/site` with an entry and a discovery, both with the word `sesame`.
pub(crate) fn remembering() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("project add acme site").ok();
    installation.sql(REMEMBERED);
    installation
}

#[test]
fn an_erased_entry_leaves_its_position_with_who_and_why() {
    let installation = remembering();
    let erase = |what: &str| format!("memory erase acme site {what} --reason leaked");
    for what in ["decisions.jsonl/1", DISCOVERY] {
        let unsure = installation.run(&erase(what)).refusal();
        assert!(
            unsure.contains(&format!("add --confirm {what}")),
            "{unsure}"
        );
        let done = installation.json(&format!("{} --confirm {what}", erase(what)));
        assert_eq!(
            done,
            json!({ "tenant": "acme", "project": "site", "erased": what })
        );
        let again = installation
            .run(&format!("{} --confirm {what}", erase(what)))
            .refusal();
        assert!(again.contains("was erased before"), "{again}");
    }
    let kept =
        installation.texts("select concat_ws(' ', what, reason) from memory_erasures order by 1");
    assert_eq!(
        kept,
        ["decisions.jsonl/1 leaked", &format!("{DISCOVERY} leaked")]
    );
    let left = "select count(*) from (select entry from memory_entries union all \
        select content from discoveries) as said where said.entry like '%sesame%'";
    assert_eq!(installation.count(left), 0);
    assert_eq!(
        installation.count("select sum(count)::bigint from memory_logs"),
        2
    );
}

#[test]
fn erasing_an_unknown_entry_is_refused() {
    let installation = remembering();
    let missing = "memory erase acme site decisions.jsonl/2 --reason x --confirm decisions.jsonl/2";
    assert!(
        installation
            .run(missing)
            .refusal()
            .contains("was never written")
    );
    let elsewhere = missing.replace("site", "shop");
    assert!(
        installation
            .run(&elsewhere)
            .refusal()
            .contains("there is no project shop")
    );
    for bad in ["learner_profile.json/1", "decisions.jsonl", "discoveries/1"] {
        let refused = installation.run(&format!("memory erase acme site {bad} --reason x"));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains("is not an item of memory"),
            "{}",
            refused.err
        );
    }
    assert_eq!(
        installation.count("select count(*) from memory_erasures"),
        0
    );
}

#[test]
fn the_bound_on_memory_is_per_tenant_in_mib() {
    let installation = remembering();
    let shown = installation.run("limits show acme memory_mib").ok();
    assert!(
        shown.ends_with("\n\nmemory_mib: 1024 MiB in all\n"),
        "{shown}"
    );
    assert_eq!(
        installation.run("limits set acme memory_mib=2048").ok(),
        "tenant acme, level tenant: memory_mib 2048 MiB in all\n"
    );
    let shown = installation.json("limits show acme memory_mib");
    let row = json!({ "name": "memory_mib", "per": null, "weight": null, "session": null, "key": null,
        "tenant": { "per_minute": 2048, "origin": "tenant" } });
    assert_eq!(shown["limits"], json!([row]));
    for level in ["key", "session"] {
        let refused = installation.run(&format!("limits set acme --level {level} memory_mib=1"));
        assert!(refused.refusal().contains("memory is limited per tenant"));
    }
}
