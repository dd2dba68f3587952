//! Listings of several pages, which change while they are read.

use serde_json::{Value, json};

use super::{Mirrored, connections::add};

/// `site`, and so many repositories besides that two pages list them.
fn listed(mirrored: &Mirrored, with_site: bool) -> Vec<Value> {
    let archived = (2..=150).map(|id| {
        let mut entry = mirrored.host.entry(id, &format!("acme/old-{id}"), 1);
        entry["archived"] = json!(true);
        entry
    });
    let site = with_site.then(|| mirrored.host.entry(1, "acme/site", 2));
    site.into_iter().chain(archived).collect()
}

/// The pages of listings that were asked for since `from`.
fn pages(mirrored: &Mirrored, from: usize) -> usize {
    let requests = mirrored.host.requests().into_iter().skip(from);
    requests
        .filter(|it| it.contains("/orgs/acme/repos"))
        .count()
}

#[tokio::test]
async fn a_repository_that_moves_while_pages_are_read_stays_in_use() {
    let mirrored = Mirrored::start().await;
    add(&mirrored, 1, "acme/site");
    mirrored.host.list(listed(&mirrored, true));
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    // As if it had been on the second page, and then on the first.
    let before = mirrored.host.requests().len();
    mirrored.host.list(listed(&mirrored, false));
    mirrored.host.list_after(2, listed(&mirrored, true));
    let row = mirrored.list_now(false).await;
    assert_eq!((row.served, row.message), (1, None));
    assert_eq!(pages(&mirrored, before), 4);
    assert!(mirrored.out_of_use().await.is_empty());
    // What a second listing lacks, too, is gone.
    let before = mirrored.host.requests().len();
    mirrored.host.list(listed(&mirrored, false));
    mirrored.list_now(true).await;
    let gone = [("site".to_owned(), "gone".to_owned())];
    assert_eq!(mirrored.out_of_use().await, gone);
    assert_eq!(pages(&mirrored, before), 4);
}
