//! Revoked access of tokens: a revoked principal or disabled tenant is refused by every gateway within a
//! second. Also what holds while gateways miss the notification.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2e::{Client, Harness, Issuer, Stack, http::Request};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::timeout;

use super::{list, tenant};

const REPLICAS: usize = 3;
/// How long a gateway may take to act on a notification: a second is promised, and this machine may be
/// busy. Without the notification it keeps what it knew for 30 s.
const TOLD: Duration = Duration::from_secs(10);
/// The default leeway of an issuer.
const LEEWAY: Duration = Duration::from_secs(60);

async fn replicas(issuer: &Issuer) -> Stack {
    let harness = Harness::new().replicas(REPLICAS).tenant(tenant("acme"));
    let stack = harness.issuer(issuer.entry("tenant: acme")).start().await;
    let hears = "archway_gateway_listening_for_changes 1\n";
    for admin in stack.admins() {
        let hearing = async || {
            let metrics = Request::new("GET", "/metrics").send(admin).await.text();
            metrics.contains(hears).then_some(())
        };
        stack.eventually(hearing).await;
    }
    stack
}

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// Waits until every gateway gives this status to the token.
async fn everywhere(stack: &Stack, token: &str, expected: u16, within: Duration) {
    let waiting = async {
        for gateway in stack.gateways() {
            while list(&Client::new(gateway, token)).await.status != expected {}
        }
    };
    let waited = timeout(within, waiting).await;
    assert!(
        waited.is_ok(),
        "not everywhere {expected} within {within:?}"
    );
}

/// A token of this subject that states to be issued this long after now, to the microsecond.
fn ahead(issuer: &Issuer, subject: &str, by: Duration) -> String {
    let mut claims = issuer.claims(subject);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    claims["iat"] = json!((now + by).as_secs_f64());
    issuer.sign(&claims)
}

#[tokio::test]
async fn a_revoked_principals_tokens_are_refused_everywhere_and_no_others() {
    let (issuer, bystander) = (Issuer::start().await, Issuer::start().await);
    let stack = replicas(&issuer).await;
    let (taken, kept) = (issuer.token("a"), issuer.token("b"));
    // As from an issuer whose clock is ahead.
    let early = ahead(&issuer, "a", LEEWAY / 2);
    for token in [&taken, &kept, &early] {
        everywhere(&stack, token, 200, Duration::from_secs(5)).await;
    }
    // The same subject of another issuer is another principal.
    stack.revoke_principal(&bystander.url(), "a").await;
    everywhere(&stack, &taken, 200, TOLD).await;

    stack.revoke_principal(&issuer.url(), "a").await;
    let waited = everywhere(&stack, &taken, 401, TOLD).await;
    println!("a revoked principal was refused by {REPLICAS} gateways after {waited:?}");
    everywhere(&stack, &early, 401, TOLD).await;
    everywhere(&stack, &kept, 200, TOLD).await;
    // Another token of that time, which no gateway has seen.
    let mut claims = issuer.claims("a");
    claims["iat"] = json!(e2e::issuer::now() - 10);
    everywhere(&stack, &issuer.sign(&claims), 401, TOLD).await;
    // One that no clock within the leeway can have issued before.
    let later = ahead(&issuer, "a", LEEWAY);
    everywhere(&stack, &later, 200, TOLD).await;
}

#[tokio::test]
async fn a_tenants_tokens_follow_its_being_disabled_and_enabled() {
    let issuer = Issuer::start().await;
    let stack = replicas(&issuer).await;
    let owner = owner(&stack).await;
    let token = issuer.token("a");
    everywhere(&stack, &token, 200, Duration::from_secs(5)).await;
    for (statement, expected) in [
        ("update tenants set disabled_at = now()", 401),
        ("update tenants set disabled_at = null", 200),
    ] {
        sqlx::query(statement).execute(&owner).await.unwrap();
        everywhere(&stack, &token, expected, TOLD).await;
    }
}

#[tokio::test]
async fn a_missed_revocation_takes_effect_once_gateways_reconnect() {
    let issuer = Issuer::start().await;
    let stack = replicas(&issuer).await;
    let (known, unseen) = (issuer.token("a"), issuer.token("b"));
    everywhere(&stack, &known, 200, Duration::from_secs(5)).await;
    stack.database().close().await;
    // As with keys: a known principal is good for the grace period, any other is undecided.
    everywhere(&stack, &known, 200, TOLD).await;
    everywhere(&stack, &unseen, 503, Duration::from_secs(5)).await;
    stack.database().open().await;
    stack.revoke_principal(&issuer.url(), "a").await;
    everywhere(&stack, &known, 401, Duration::from_secs(10)).await;
    everywhere(&stack, &unseen, 200, Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_confirmed_principal_is_good_for_the_grace_and_then_undecided() {
    let issuer = Issuer::start().await;
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(issuer.entry("tenant: acme"))
        .configure(|config| config.auth.key_grace = Duration::from_secs(7))
        .start()
        .await;
    let client = Client::new(stack.gateways()[0], &issuer.token("a"));
    assert_eq!(list(&client).await.status, 200);
    stack.database().close().await;
    assert_eq!(list(&client).await.status, 200);
    let undecided = stack.eventually(async || {
        let answer = list(&client).await;
        assert_ne!(answer.status, 401);
        (answer.status != 200).then_some(answer)
    });
    let undecided = undecided.await;
    assert_eq!(undecided.status, 503);
    assert!(undecided.header("retry-after").is_some());
    stack.database().open().await;
    let good = async || (list(&client).await.status == 200).then_some(());
    stack.eventually(good).await;
}

#[tokio::test]
async fn a_revocation_is_stored_until_all_its_tokens_have_expired() {
    let issuer = Issuer::start().await;
    let stack = replicas(&issuer).await;
    stack.revoke_principal(&issuer.url(), "a").await;
    stack.revoke_principal(&issuer.url(), "b").await;
    let owner = owner(&stack).await;
    let age = "update principals set revoked_before = now() - interval '121 minutes' \
               where subject = 'a'";
    sqlx::query(age).execute(&owner).await.unwrap();
    sqlx::query("select forget_old_revocations()")
        .execute(&owner)
        .await
        .unwrap();
    let left: Vec<String> = sqlx::query_scalar("select subject from principals")
        .fetch_all(&owner)
        .await
        .unwrap();
    assert_eq!(left, ["b"]);
}
