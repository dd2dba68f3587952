//! `archway apply`: limits and pools.

use serde_json::json;

use crate::apply::{apply, generated};
use crate::installation::Installation;

const FILE: &str = "
tenants:
  - slug: acme
    pool: own
    limits:
      tenant: {total: 20000}
      key: {grep_codebase: 120, total: 0}
    keys:
      - label: ci
        from_env: ACME_CI
        limits:
          session: {hello: 5}
";

/// Every row, in order.
fn rows(installation: &Installation) -> Vec<String> {
    installation.texts(
        "select concat_ws(' ', lineage is not null, level, of, per_minute) from limits order by 1",
    )
}

#[test]
fn limits_and_pool_are_made_true_and_a_second_run_changes_nothing() {
    let (installation, key) = (Installation::new(), generated());
    let id = key.split('_').nth(1).unwrap();
    let first = apply(&installation, FILE, &key, &[]).ok();
    assert_eq!(
        first,
        format!(
            "created tenant acme\ncreated limit acme key grep_codebase\n\
             created limit acme key total\ncreated limit acme tenant total\n\
             created key acme/ci {id}\ncreated limit acme/ci session hello\nunchanged 0\n"
        )
    );
    let all = [
        "f key grep_codebase 120",
        "f key total 0",
        "f tenant total 20000",
        "t session hello 5",
    ];
    assert_eq!(rows(&installation), all);
    assert_eq!(installation.texts("select pool from tenants"), ["own"]);
    assert_eq!(apply(&installation, FILE, &key, &[]).ok(), "unchanged 6\n");
    assert_eq!(
        apply(&installation, FILE, &key, &["--prune"]).ok(),
        "unchanged 6\n"
    );
    assert_eq!(rows(&installation), all);
}

#[test]
fn limits_that_differ_change_and_unlisted_ones_go_by_pruning_only() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let changed = FILE
        .replace("pool: own", "pool: shared")
        .replace(
            "key: {grep_codebase: 120, total: 0}",
            "key: {grep_codebase: 60}",
        )
        .replace("session: {hello: 5}", "key: {hello: 6}");
    let report = apply(&installation, &changed, &key, &["--json"]).json();
    let changes = json!([
        {
            "action": "changed", "kind": "tenant", "name": "acme", "fields": ["pool"],
            "values": [{ "field": "pool", "before": "own", "after": "shared", "left_out": false }],
        },
        {
            "action": "changed", "kind": "limit", "name": "acme key grep_codebase",
            "fields": ["per_minute"], "before": 120, "after": 60,
        },
        { "action": "created", "kind": "limit", "name": "acme/ci key hello" },
    ]);
    assert_eq!(
        (&report["changes"], &report["unchanged"]),
        (&changes, &json!(2))
    );
    let dry = apply(&installation, &changed, &key, &["--prune", "--dry-run"]).ok();
    let pruned = apply(&installation, &changed, &key, &["--prune"]).ok();
    assert_eq!(
        pruned,
        "removed limit acme key total\nremoved limit acme/ci session hello\nunchanged 5\n"
    );
    assert_eq!(dry, format!("{pruned}dry run: nothing was changed\n"));
    let left = [
        "f key grep_codebase 60",
        "f tenant total 20000",
        "t key hello 6",
    ];
    assert_eq!(rows(&installation), left);
    // Without `limits` and `pool`, they stay.
    let silent = "tenants: [{slug: acme, keys: [{label: ci, from_env: ACME_CI}]}]";
    assert_eq!(
        apply(&installation, silent, &key, &["--prune"]).ok(),
        "unchanged 2\n"
    );
    let none = "tenants: [{slug: acme, limits: {}}]";
    let pruned = apply(&installation, none, &key, &["--prune"]).ok();
    assert_eq!(
        pruned,
        "removed limit acme key grep_codebase\nremoved limit acme tenant total\nunchanged 1\n"
    );
    assert_eq!(rows(&installation), ["t key hello 6"]);
}

#[test]
fn a_changed_limit_is_reported_with_old_and_new_number() {
    let (installation, key) = (Installation::new(), generated());
    apply(&installation, FILE, &key, &[]).ok();
    let changed = FILE.replace("total: 20000", "total: 5");
    assert_eq!(
        apply(&installation, &changed, &key, &[]).ok(),
        "changed limit acme tenant total: 20000 to 5 a minute\nunchanged 5\n"
    );
}

#[test]
fn an_invalid_limit_is_refused_with_its_location_and_undoes_the_rest() {
    let (installation, key) = (Installation::new(), generated());
    let refusal = |from: &str, to: &str| {
        let text = FILE.replace(from, to);
        assert_ne!(text, FILE);
        apply(&installation, &text, &key, &[]).refusal()
    };
    let unknown = refusal("grep_codebase", "grep_code_base");
    assert!(
        unknown.contains("tenant acme: ") && unknown.contains("did you mean grep_codebase?"),
        "{unknown}"
    );
    let of_key = refusal("session: {hello", "session: {helo");
    assert!(of_key.contains("key acme/ci: "), "{of_key}");
    let total = refusal("{hello: 5}", "{total: 5}");
    assert!(
        total.contains("limit acme/ci session total") && total.contains("no total of its own"),
        "{total}"
    );
    let level = refusal("session: {hello", "tenant: {hello");
    assert!(level.contains("line 12"), "{level}");
    for number in ["-1", "1.5", "lots", "1000001", "99999999999"] {
        let told = refusal("hello: 5", &format!("hello: {number}"));
        assert!(told.contains("from 0 (no limit) to 1000000"), "{told}");
        assert!(told.contains("line 12"), "{told}");
    }
    assert!(refusal("pool: own", "pool: 'Not one'").contains("is not a slug"));
    // A secret that was pasted for a number or a name is not repeated.
    for (from, to) in [
        ("hello: 5", format!("hello: {key}")),
        ("hello: 5", format!("{key}: 5")),
        ("session: {hello: 5}", key.clone()),
        ("{total: 20000}", key.clone()),
    ] {
        let told = refusal(from, &to);
        assert!(!told.contains(&key), "{told}");
    }
    assert_eq!(installation.count("select count(*) from tenants"), 0);
}
