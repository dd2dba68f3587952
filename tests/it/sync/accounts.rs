//! Whose account it is, by the host's own number and by an address, as a token names it.

use e2e::{Client, Issuer};
use serde_json::{Value, json};

use super::Mirrored;
use super::permissions::{GITEA, GITLAB, ask_again, elsewhere};

/// The holder of a token of this subject with more claims.
fn holder(mirrored: &Mirrored, issuer: &Issuer, subject: &str, more: Value) -> Client {
    let mut claims = issuer.claims(subject);
    let fields = claims.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    Client::new(mirrored.stack.gateways()[0], &issuer.sign(&claims))
}

#[tokio::test]
async fn an_account_by_number_sees_what_the_host_says_whatever_its_name() {
    let issuer = Issuer::start().await;
    let mirrored = elsewhere(&issuer, GITLAB, "id: [identities, org]").await;
    let by_number = |subject: &str, id: Value| {
        let claims = json!({ "identities": { "org": id } });
        holder(&mirrored, &issuer, subject, claims)
    };
    let ada = by_number("ada", json!(7));
    let bob = by_number("bob", json!("8"));
    for reader in [&ada, &bob] {
        mirrored.until_served(reader, &["site"]).await;
    }
    // Nobody's number, that of a guest, and what is no number of a host.
    for (subject, id) in [
        ("carol", json!(11)),
        ("guest", json!(9)),
        ("zero", json!("07")),
        ("half", json!(7.5)),
        ("below", json!(-7)),
        ("named", json!("ada")),
        ("list", json!([7])),
    ] {
        let stranger = by_number(subject, id);
        mirrored.until_served(&stranger, &[]).await;
    }
    let of_other = json!({ "identities": { "other": 7 }, "preferred_username": "ada" });
    let named = holder(&mirrored, &issuer, "eve", of_other);
    mirrored.until_served(&named, &[]).await;

    // Somebody else has the name now.
    mirrored
        .host
        .let_read("acme/site", &[(7, "Countess"), (12, "Ada")]);
    ask_again(&mirrored).await;
    mirrored.until_served(&bob, &[]).await;
    mirrored.until_served(&ada, &["site"]).await;
    mirrored.host.let_read("acme/site", &[(12, "Ada")]);
    ask_again(&mirrored).await;
    mirrored.until_served(&ada, &[]).await;
}

#[tokio::test]
async fn an_account_by_address_sees_nothing_unless_both_sides_verified_it() {
    let address = "ada@acme.example";
    for (host, is_verified_there) in [(GITLAB, true), (GITEA, false)] {
        let issuer = Issuer::start().await;
        let mirrored = elsewhere(&issuer, host, "email: email").await;
        let by_address = |subject: &str, claims: Value| holder(&mirrored, &issuer, subject, claims);
        let verified = |address: &str| json!({ "email": address, "email_verified": true });
        let is_known = async || {
            let known = mirrored.ask::<i64>("select count(*) from host_accounts");
            (known.await > 0).then_some(())
        };
        mirrored.stack.eventually(is_known).await;
        let seen: &[&str] = if is_verified_there { &["site"] } else { &[] };
        for (subject, address) in [("ada", address), ("loud", "ADA@Acme.Example")] {
            let ada = by_address(subject, verified(address));
            mirrored.until_served(&ada, seen).await;
        }
        let addresses = "select count(email) from host_accounts where login = 'ada'";
        let addresses = mirrored.ask::<i64>(addresses).await;
        assert_eq!(addresses, i64::from(is_verified_there));
        for (subject, claims) in [
            ("absent", json!({ "email": address })),
            (
                "denied",
                json!({ "email": address, "email_verified": false }),
            ),
            (
                "text",
                json!({ "email": address, "email_verified": "true" }),
            ),
            ("number", json!({ "email": address, "email_verified": 1 })),
            ("other", verified("eve@acme.example")),
            ("guest", verified("guest@acme.example")),
            ("login", json!({ "preferred_username": "ada" })),
        ] {
            let stranger = by_address(subject, claims);
            mirrored.until_served(&stranger, &[]).await;
        }
    }
}
