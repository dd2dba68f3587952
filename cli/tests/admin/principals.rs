//! `archway principal`.

use serde_json::json;

use crate::installation::Installation;

const REVOKE: &str = "principal revoke --issuer https://a.example";

#[test]
fn revoked_principals_are_listed_newest_first() {
    let installation = Installation::new();
    assert_eq!(
        installation.run("principal list").ok(),
        "no principal's tokens were revoked within the last two hours\n"
    );
    let revoked = installation.json(&format!("{REVOKE} --subject a"));
    assert_eq!(revoked["issuer"], "https://a.example");
    assert_eq!(revoked["subject"], "a");
    let since = revoked["issued_before"].as_str().unwrap();
    assert!(since.ends_with('Z'), "{since}");
    let said = installation.run(&format!("{REVOKE} --subject b")).ok();
    assert!(
        said.starts_with("principal b of https://a.example: tokens issued before 20"),
        "{said}"
    );
    let too = "Z, or within the issuer's leeway after, are refused\n";
    assert!(said.ends_with(too), "{said}");
    // Revoked again, it comes first in the list.
    installation.run(&format!("{REVOKE} --subject a")).ok();
    let list = installation.json("principal list");
    let subjects = list["revoked"].as_array().unwrap().iter();
    let subjects: Vec<_> = subjects.map(|revoked| revoked["subject"].clone()).collect();
    assert_eq!(subjects, [json!("a"), json!("b")]);
    let list = installation.run("principal list").ok();
    assert!(
        list.starts_with("issuer             subject  issued before\n"),
        "{list}"
    );
}

#[test]
fn a_principal_that_no_token_can_name_is_refused() {
    let installation = Installation::new();
    let long = format!("{REVOKE} --subject {}", "a".repeat(256));
    let refusal = installation.run(&long).refusal();
    assert!(refusal.contains("1 to 255 bytes"), "{refusal}");
    let refusal = installation.run("principal revoke --issuer a.example --subject a");
    assert!(
        refusal.err.contains("expected the issuer's URL"),
        "{refusal:?}"
    );
    assert_eq!(installation.count("select count(*) from principals"), 0);
}
