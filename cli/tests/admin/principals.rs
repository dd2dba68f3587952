//! `archway principal`.

use serde_json::json;

use crate::place::Place;

const REVOKE: &str = "principal revoke --issuer https://a.example";

#[test]
fn revoked_principals_are_listed_newest_first() {
    let place = Place::new();
    assert_eq!(
        place.run("principal list").ok(),
        "no principal's tokens were taken back of late\n"
    );
    let revoked = place.json(&format!("{REVOKE} --subject a"));
    assert_eq!(revoked["issuer"], "https://a.example");
    assert_eq!(revoked["subject"], "a");
    let since = revoked["issued_before"].as_str().unwrap();
    assert!(since.ends_with('Z'), "{since}");
    let said = place.run(&format!("{REVOKE} --subject b")).ok();
    assert!(
        said.starts_with("principal b of https://a.example: tokens issued before 20"),
        "{said}"
    );
    let too = "Z, or within the issuer's leeway after, are refused\n";
    assert!(said.ends_with(too), "{said}");
    // Once more, and it goes before the other.
    place.run(&format!("{REVOKE} --subject a")).ok();
    let list = place.json("principal list");
    let subjects = list["revoked"].as_array().unwrap().iter();
    let subjects: Vec<_> = subjects.map(|revoked| revoked["subject"].clone()).collect();
    assert_eq!(subjects, [json!("a"), json!("b")]);
    let list = place.run("principal list").ok();
    assert!(
        list.starts_with("issuer             subject  issued before\n"),
        "{list}"
    );
}

#[test]
fn a_principal_that_no_token_can_name_is_refused() {
    let place = Place::new();
    let long = format!("{REVOKE} --subject {}", "a".repeat(256));
    let refusal = place.run(&long).refusal();
    assert!(refusal.contains("1 to 255 bytes"), "{refusal}");
    let refusal = place.run("principal revoke --issuer a.example --subject a");
    assert!(
        refusal.err.contains("expected the issuer's URL"),
        "{refusal:?}"
    );
    assert_eq!(place.count("select count(*) from principals"), 0);
}
