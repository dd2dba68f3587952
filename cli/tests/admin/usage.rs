//! `archway usage` of a running `archway dev`: equal to the audit trail, also if it was killed meanwhile.

use serde_json::Value;

use crate::audit::{call, lines};
use crate::dev::Home;
use crate::installation::Installation;

/// The sum of a member over the rows of an answer.
fn sum(usage: &Value, member: &str) -> i64 {
    let rows = usage["rows"].as_array().unwrap().iter();
    rows.map(|row| row[member].as_i64().unwrap()).sum()
}

#[test]
fn usage_equals_the_trail_of_a_dev_that_was_killed_between_calls() {
    let home = Home::new();
    let dev = home.start("site");
    for _ in 0..20 {
        call(&dev);
    }
    dev.kill();
    let dev = home.start("site");
    for _ in 0..3 {
        call(&dev);
    }
    dev.stop();
    let dev = home.start("site");
    let exported = lines(&home.run("audit export --tenant dev").ok());
    let records: Vec<&Value> = exported.iter().map(|line| &line["record"]).collect();
    let of_calls = || records.iter().filter(|record| record["kind"] == "call");
    let calls = i64::try_from(of_calls().count()).unwrap();
    assert!(calls >= 3, "those of the second dev: {calls}");
    for by in ["tool", "key", "project", "agent", "day", "month", "tenant"] {
        let usage = home.run(&format!("usage --by {by} --json")).json();
        assert_eq!(usage["calls"], calls, "{by}");
        assert_eq!(sum(&usage, "ok"), calls, "{by}");
        for (kept, recorded) in [("units", "units"), ("bytes_out", "bytes")] {
            let recorded = of_calls().map(|record| record[recorded].as_i64().unwrap());
            assert_eq!(sum(&usage, kept), recorded.sum::<i64>(), "{by}: {kept}");
        }
    }
    let keys = home.run("usage dev --by key --json").json();
    assert_eq!(keys["rows"][0]["of"], dev.key().split('_').nth(1).unwrap());
    assert_eq!(keys["rows"][0]["label"], "archway dev");
    let shown = home.run("usage dev").ok();
    assert!(shown.starts_with("tool   calls"), "{shown}");
    assert!(shown.contains(&format!("hello  {calls}")), "{shown}");
    let csv = home.run("usage --by tool --csv").ok();
    assert!(csv.starts_with("tenant,tool,label,calls,"), "{csv}");
    assert!(
        csv.contains(&format!("\n,hello,,{calls},{calls},")),
        "{csv}"
    );
    dev.stop();
}

#[test]
fn usage_is_of_one_tenant_and_of_the_hours_since_a_moment() {
    let installation = Installation::new();
    for tenant in ["acme", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
    }
    installation.sql(
        "insert into usage_hours (tenant_id, hour, tool, outcome, calls) \
         select id, date_trunc('hour', now()) - age, 'hello', 'ok', length(slug) + days \
         from tenants, (values (interval '0', 0), (interval '9 days', 100)) as old (age, days)",
    );
    let calls = |line: &str| installation.json(line)["calls"].as_i64();
    assert_eq!(calls("usage"), Some(8));
    assert_eq!(calls("usage acme --since 1h"), Some(4));
    assert_eq!(calls("usage --tenant acme --since 30d"), Some(108));
    let by_day = installation.json("usage --by day --since 30d");
    let days: Vec<&Value> = by_day["rows"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&days[0]["calls"], &days[1]["calls"]),
        (&208.into(), &8.into())
    );
    installation.sql(
        "insert into usage_hours (tenant_id, hour, calls) \
         select id, date_trunc('month', now(), 'UTC') - interval '11 months', 1000 from tenants",
    );
    let by_month = installation.json("usage acme --by month");
    let months: Vec<&Value> = by_month["rows"].as_array().unwrap().iter().collect();
    let first = (&months[0]["calls"], months[0]["of"].as_str().unwrap().len());
    assert_eq!(first, (&1000.into(), "2026-11".len()));
    assert_eq!(by_month["calls"], 1108);
    assert!(
        installation
            .run("usage nobody")
            .refusal()
            .contains("nobody")
    );
    let both = installation.run("usage --csv --json");
    assert!(
        both.code == 2 && both.err.contains("--json"),
        "{}",
        both.err
    );
    let none = installation.run("usage zeta --since 2999-01-01").ok();
    assert_eq!(none, "no calls since 2999-01-01T00:00:00Z\n");
}
