//! `search_architecture` by its contract: scores, kinds, limits, words and refusals.

use e2e::Repo;
use serde_json::{Value, json};

use super::{ask, documented, results, search, uris};
use crate::serve;

#[tokio::test]
async fn documents_are_found_by_their_words_with_score_and_excerpt() {
    let (_stack, client) = serve(documented().commit()).await;
    let reply = search(&client, "orders database").await;
    let text: Value = serde_json::from_str(reply.text()).unwrap();
    assert_eq!(&text, reply.structured(), "the text is the same JSON");
    assert_eq!(reply.meta("untrusted"), true);
    assert!(reply.meta("commit")["id"].is_string());
    assert!(reply.meta("warnings").is_null());
    let first = &results(&reply)[0];
    assert_eq!(first["uri"], "architecture://adr/0001-orders");
    assert_eq!(first["title"], "1. Store orders in Postgres");
    assert_eq!(first["resource_type"], "adr");
    let excerpt = "We will keep orders in a relational database. It is PostgreSQL, since the team \
                   knows it.";
    assert_eq!(first["excerpt"], excerpt);
    assert_eq!(reply.structured()["total_matches"], 3);
    let scores = results(&reply).iter();
    let scores: Vec<f64> = scores
        .map(|result| result["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(
        scores.iter().all(|score| *score > 0.0 && *score <= 1.0),
        "{scores:?}"
    );
}

#[tokio::test]
async fn a_word_in_the_title_counts_more_than_one_in_the_text() {
    let (_stack, client) = serve(documented().commit()).await;
    for (query, first) in [
        ("kafka", "architecture://adr/0002-events"),
        ("repository", "architecture://pattern/repository"),
        ("LOGGING", "architecture://guideline/logging"),
        ("0001", "architecture://adr/0001-orders"),
        ("trace_id", "architecture://guideline/logging"),
        ("events, or: 'nonesuch'?", "architecture://adr/0002-events"),
    ] {
        assert_eq!(
            uris(&search(&client, query).await).first(),
            Some(&first),
            "{query}"
        );
    }
}

#[tokio::test]
async fn only_documents_of_the_requested_kind_are_found() {
    let (_stack, client) = serve(documented().commit()).await;
    for (kind, expected) in [
        ("adr", vec!["adr", "adr"]),
        ("patterns", vec!["patterns"]),
        ("guidelines", vec!["guidelines"]),
        ("all", vec!["adr", "adr", "guidelines", "patterns"]),
    ] {
        let arguments = json!({ "query": "orders log interface", "resource_type": kind });
        let reply = ask(&client, arguments).await;
        let mut kinds: Vec<&str> = results(&reply)
            .iter()
            .map(|result| result["resource_type"].as_str().unwrap())
            .collect();
        kinds.sort_unstable();
        assert_eq!(kinds, expected, "{kind}");
        assert_eq!(
            reply.structured()["total_matches"],
            expected.len(),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_superseded_decision_says_so_and_names_its_successor() {
    let superseded = "# 1. Use MySQL as the database\n\n## Status\n\nSuperseded by \
        [2. Use PostgreSQL](0002-postgresql.md)\n\n## Decision\n\nOrders are kept in MySQL.\n";
    let successor = "# 2. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\n\
        Our database is PostgreSQL. The one database for all that we keep.\n";
    let repo = Repo::new()
        .file("docs/adr/0001-mysql.md", superseded)
        .file("docs/adr/0002-postgresql.md", successor)
        .file("docs/architecture/patterns/database.md", "# Databases\n");
    let (_stack, client) = serve(repo.commit()).await;
    let reply = ask(
        &client,
        json!({ "query": "database", "resource_type": "adr" }),
    )
    .await;
    let told: Vec<_> = results(&reply)
        .iter()
        .map(|it| (&it["uri"], &it["status"], &it["superseded_by"]))
        .collect();
    let (old, new) = (
        "architecture://adr/0001-mysql",
        "architecture://adr/0002-postgresql",
    );
    let expected = [
        (&json!(new), &json!("accepted"), &Value::Null),
        (&json!(old), &json!("superseded"), &json!([new])),
    ];
    assert_eq!(told, expected);
    let reply = search(&client, "postgresql").await;
    let excerpts: Vec<_> = results(&reply).iter().map(|it| &it["excerpt"]).collect();
    assert!(
        !excerpts.contains(&&json!("Use PostgreSQL")),
        "{excerpts:?}"
    );
    let pattern = ask(
        &client,
        json!({ "query": "database", "resource_type": "patterns" }),
    )
    .await;
    assert!(results(&pattern)[0].get("status").is_none());
}

#[tokio::test]
async fn a_limit_bounds_the_results_but_not_their_count() {
    let repo = (0..25).fold(Repo::new(), |repo, number| {
        repo.file(
            &format!("adr/{number:04}-same.md"),
            "# Same\n\nThe same words.\n",
        )
    });
    let (_stack, client) = serve(repo.commit()).await;
    for (most, shown) in [(json!(1), 1), (json!(20), 20), (Value::Null, 10)] {
        let reply = ask(&client, json!({ "query": "same", "max_results": most })).await;
        let expected: Vec<String> = (0..shown)
            .map(|number| format!("architecture://adr/{number:04}-same"))
            .collect();
        assert_eq!(
            uris(&reply),
            expected,
            "equals stand in the order of their paths"
        );
        assert_eq!(reply.structured()["total_matches"], 25);
    }
}

#[tokio::test]
async fn an_absent_subject_is_not_found() {
    let (_stack, client) = serve(documented().commit()).await;
    for query in ["zzyzzx", "the of and", "?!", "   "] {
        let reply = search(&client, query).await;
        let note = "no document is about it: use other words, or leave out query and resource_type \
            for a list of all";
        assert_eq!(
            reply.structured(),
            &json!({ "results": [], "total_matches": 0, "note": note }),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_project_without_documents_names_the_folders_for_them() {
    let (_stack, client) = serve(Repo::new().file("a.md", "# Orders\n").commit()).await;
    let reply = search(&client, "orders").await;
    assert_eq!(results(&reply), [Value::Null; 0]);
    let note = reply.structured()["note"].as_str().unwrap();
    assert!(
        note.contains("docs/adr") && note.contains(".archway.toml"),
        "{note}"
    );
}

#[tokio::test]
async fn invalid_arguments_are_refused_with_valid_ones() {
    let (_stack, client) = serve(documented().commit()).await;
    for (arguments, named) in [
        (json!({ "query": "" }), "query"),
        (json!({ "query": "x".repeat(501) }), "500"),
        (
            json!({ "query": "a", "resource_type": "code" }),
            "guidelines",
        ),
        (json!({ "query": "a", "max_results": 0 }), "max_results"),
        (json!({ "query": "a", "max_results": 21 }), "20"),
        (json!({ "query": "a", "maxResult": 2 }), "max_results"),
        (
            json!({ "query": "a", "maxResults": 2, "max_results": 2 }),
            "max_results",
        ),
    ] {
        let reply = client.call("search_architecture", arguments.clone()).await;
        assert_eq!(reply.code(), "invalid_arguments", "{arguments}");
        let error = reply.error().to_string();
        assert!(error.contains(named), "{arguments}: {error}");
    }
    let camel = json!({ "query": "orders", "maxResults": 1, "resourceType": "adr" });
    assert_eq!(
        uris(&ask(&client, camel).await),
        ["architecture://adr/0001-orders"]
    );
    let longest = format!("orders {}", "x".repeat(493));
    assert_eq!(uris(&search(&client, &longest).await).len(), 2);
}

#[tokio::test]
async fn misleading_characters_are_escaped_and_counted() {
    let repo = Repo::new().file(
        "docs/adr/0001-\u{202e}x.md",
        "# Or\u{200b}ders \u{202e}sredro\n\nSee the\u{2066} orders.\n",
    );
    let (_stack, client) = serve(repo.commit()).await;
    let reply = search(&client, "orders").await;
    let result = &results(&reply)[0];
    assert_eq!(result["title"], r"Or\u{200b}ders \u{202e}sredro");
    assert_eq!(result["excerpt"], r"See the\u{2066} orders.");
    assert_eq!(result["uri"], "architecture://adr/0001-%E2%80%AEx");
    assert_eq!(result["path"], r"docs/adr/0001-\u{202e}x.md");
    assert_eq!(reply.meta("escaped"), 4);
}

#[tokio::test]
async fn an_answer_stays_within_its_size_whatever_documents_hold() {
    let title = "Orders ".repeat(20_000);
    let repo = (0..20).fold(Repo::new(), |repo, number| {
        repo.file(
            &format!("adr/{number}.md"),
            format!("# {title}\n\n{title}\n"),
        )
    });
    let (_stack, client) = serve(repo.commit()).await;
    let reply = ask(&client, json!({ "query": "orders", "max_results": 20 })).await;
    assert_eq!(results(&reply).len(), 20);
    assert!(reply.text().len() < 64 << 10, "{}", reply.text().len());
}

#[tokio::test]
async fn without_a_query_all_documents_of_a_type_are_listed_page_by_page() {
    let records = (1..=25).fold(documented(), |repo, number| {
        let text = format!(
            "# Record {number}\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do {number}.\n"
        );
        repo.file(&format!("docs/adr/{:04}-record.md", number + 2), text)
    });
    let (_stack, client) = serve(records.commit()).await;
    let (mut arguments, mut seen, mut pages) = (json!({ "resource_type": "adr" }), Vec::new(), 0);
    loop {
        let reply = ask(&client, arguments.clone()).await;
        assert_eq!(reply.structured()["total_matches"], 27);
        seen.extend(uris(&reply).into_iter().map(str::to_owned));
        pages += 1;
        let Some(cursor) = reply.structured().get("cursor") else {
            break;
        };
        assert_eq!(reply.structured()["truncated"], true);
        arguments["cursor"] = cursor.clone();
    }
    assert_eq!((pages, seen.len()), (3, 27));
    assert_eq!(seen[0], "architecture://adr/0001-orders");
    assert_eq!(seen[26], "architecture://adr/0027-record");
    assert!(seen.is_sorted(), "{seen:?}");
    let all = ask(&client, json!({ "max_results": 20 })).await;
    assert_eq!(all.structured()["total_matches"], 29);
    assert!(
        results(&all)[0]["excerpt"]
            .as_str()
            .unwrap()
            .contains("Orders")
    );
}
