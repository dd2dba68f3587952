//! Topics of a host, which access rules name.

use serde_json::{Value, json};

use super::{Mirrored, connections::add};

#[tokio::test]
async fn a_rule_about_any_topic_of_a_repository_holds() {
    let mirrored = Mirrored::start().await;
    let mut site = add(&mirrored, 1, "acme/site");
    let topics = (0..19).map(|number| Value::from(format!("t{number}")));
    site["topics"] = topics.chain([Value::from("restricted")]).collect();
    let other = add(&mirrored, 2, "acme/other");
    mirrored.host.list(vec![site, other]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    mirrored.until("other", "ok").await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["other", "site"]).await;
    let listed = client.call("list_projects", json!({})).await;
    let projects = listed.structured()["projects"].as_array().unwrap();
    let most = projects
        .iter()
        .map(|it| it["topics"].as_array().unwrap().len());
    assert_eq!(most.max(), Some(10), "an answer names ten");
    mirrored.stack.allow("acme", "everyone", &["*"]).await;
    mirrored
        .stack
        .deny("acme", "everyone", &["topic:restricted"])
        .await;
    mirrored.until_served(&client, &["other"]).await;
}
