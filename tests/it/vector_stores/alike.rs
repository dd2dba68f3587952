//! Both vector stores weigh words alike, whatever was added to them first.

use std::collections::BTreeMap;
use std::fs;

use e2e::{Harness, Qdrant, Repo, Tenant, git};
use serde_json::json;

/// A text with this many irrelevant words, and this many times `gate`.
fn text(others: usize, gates: usize) -> String {
    let others = (0..others).map(|number| format!("word{number} "));
    let gates = (0..gates).map(|_| "gate ".to_owned());
    others.chain(gates).collect::<String>() + "\n"
}

/// The lexical score of each file, after short files were indexed and long ones added.
async fn lexical(harness: Harness) -> BTreeMap<String, f64> {
    let repo = Repo::new().file("short.txt", text(3, 1)).commit();
    let tenant = Tenant::new("acme").project("site", repo);
    let stack = harness.tenant(tenant).start().await;
    let client = stack.client("acme");
    let query = json!({ "query": "gate", "limit": 20 });
    let found = async |files: usize| {
        let reply = client.call("context_search", query.clone()).await;
        if reply.is_error() {
            return None;
        }
        let results = reply.structured()["results"].as_array().unwrap().iter();
        let fits = results.map(|result| {
            let path = result["path"].as_str().unwrap().to_owned();
            (path, result["ranking"]["lexical"].as_f64().unwrap())
        });
        let fits: BTreeMap<String, f64> = fits.collect();
        (fits.len() == files).then_some(fits)
    };
    stack.eventually(async || found(1).await).await;
    let folder = stack.folder("acme", "site");
    for (name, others, gates) in [
        ("long.txt", 120, 2),
        ("middle.txt", 40, 1),
        ("many.txt", 90, 4),
    ] {
        fs::write(folder.join(name), text(others, gates)).unwrap();
    }
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "long ones"]);
    stack.eventually(async || found(4).await).await
}

#[tokio::test]
async fn words_weigh_the_same_in_both_stores_though_the_first_texts_were_short() {
    let rows = lexical(Harness::new().indexing()).await;
    let qdrant = Qdrant::start().await;
    let points = lexical(Harness::new().qdrant(&qdrant)).await;
    for ((path, row), point) in rows.iter().zip(points.values()) {
        assert!((row - point).abs() < 0.001, "{path}: {rows:?} {points:?}");
    }
    assert_eq!(rows.len(), points.len());
}
