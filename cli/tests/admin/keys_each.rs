//! `archway key issue --each`: keys for many tenants at once.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::installation::Installation;

fn with_tenants() -> Installation {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("tenant create zeta").ok();
    installation
}

#[test]
fn each_tenant_of_a_list_gets_a_key_in_a_file_of_its_own() {
    let installation = with_tenants();
    let list = installation.file("tenants.txt", "# all\nacme\n\n  zeta\n");
    let out = list.replace("tenants.txt", "keys");
    let command = format!("key issue --each {list} --out {out} --label agents --agents 9");
    let issued = installation.json(&command);
    assert!(!issued.to_string().contains("awy_"), "{issued}");
    for (row, tenant) in issued["keys"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["acme", "zeta"])
    {
        let file = row["file"].as_str().unwrap();
        assert_eq!(
            (row["tenant"].as_str(), file),
            (Some(tenant), &*format!("{out}/{tenant}"))
        );
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let api_key = std::fs::read_to_string(file).unwrap();
        assert!(installation.takes(api_key.trim_end()));
        let stored = &installation.json(&format!("key list {tenant}"))["keys"][0];
        assert_eq!((&stored["id"], &stored["agents"]), (&row["id"], &json!(9)));
    }
    let again = installation.run(&command).refusal();
    assert!(again.contains("keys/acme"), "{again}");
    assert_eq!(installation.count("select count(*) from api_keys"), 2);
}

#[test]
fn a_list_with_an_unknown_tenant_issues_no_key() {
    let installation = with_tenants();
    for (text, why) in [
        ("acme\nnobody\n", "nobody"),
        ("acme\nacme\n", "twice"),
        ("# none\n", "at least one"),
        ("../acme\n", "acme"),
    ] {
        let list = installation.file("tenants.txt", text);
        let out = list.replace("tenants.txt", "keys");
        let command = format!("key issue --each {list} --out {out}");
        let refusal = installation.run(&command).refusal();
        assert!(refusal.contains(why), "{refusal}");
        let files = std::fs::read_dir(&out).map_or(0, Iterator::count);
        assert_eq!(files, 0, "{text}");
    }
    assert_eq!(installation.count("select count(*) from api_keys"), 0);
    let usage = installation.run("key issue --each tenants.txt");
    assert!(
        usage.code == 2 && usage.err.contains("--out"),
        "{}",
        usage.err
    );
}
