//! Lists over many projects, and unusual forms of URIs.

use e2e::{Harness, Repo, Tenant};
use serde_json::{Value, json};

use super::site;
use crate::{refused, result, serve};

/// More projects than are scanned for a page.
const PROJECTS: usize = 130;

#[tokio::test]
async fn a_list_over_many_projects_ends_page_by_page_and_reaches_the_last() {
    let doc = "docs/architecture/patterns/last.md";
    let prompt = json!({
        "name": "last", "description": "d",
        "messages": [{ "role": "user", "content": { "type": "text", "text": "t" } }],
    });
    let last = Repo::new()
        .file(doc, "# Last\n")
        .file(".archway/prompts/last.json", prompt.to_string());
    let slug = |nth: usize| format!("p{nth:04}");
    let empty = |acme: Tenant, nth| acme.project(&slug(nth), Repo::new().file("a.txt", "a\n"));
    let acme = (0..PROJECTS).fold(Tenant::new("acme"), empty);
    let stack = Harness::new()
        .tenant(acme.project("zz", last))
        .start()
        .await;
    let client = stack.client("acme");
    for (method, list, key, found) in [
        (
            "resources/list",
            "resources",
            "uri",
            "architecture://zz/pattern/last",
        ),
        ("prompts/list", "prompts", "name", "zz/last"),
    ] {
        let (mut names, mut pages) = (Vec::<Value>::new(), 0);
        let mut params = json!({});
        loop {
            let page = result(&client, method, params).await;
            let items = page[list].as_array().unwrap();
            names.extend(items.iter().map(|item| item[key].clone()));
            pages += 1;
            match &page["nextCursor"] {
                Value::Null => break,
                cursor => params = json!({ "cursor": cursor }),
            }
            assert!(pages <= PROJECTS, "{method} does not end");
        }
        assert!(pages > 1, "{method} looked at all for one page");
        assert_eq!(names.last().unwrap(), found);
        let distinct: std::collections::HashSet<String> =
            names.iter().map(Value::to_string).collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
}

#[tokio::test]
async fn a_uri_of_another_form_is_refused_with_the_right_one() {
    let (_stack, client) = serve(site()).await;
    for (uri, meant) in [
        (
            "architecture://patterns/repository",
            "architecture://pattern/repository",
        ),
        (
            "architecture://site/adrs/0001-use-postgres",
            "architecture://site/adr/0001-use-postgres",
        ),
        (
            "architecture://adr/0001-use-postgres.md",
            "architecture://adr/0001-use-postgres",
        ),
        ("repo://site", "repo://site/{path}"),
    ] {
        let error = refused(&client, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(error["code"], -32602);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("did you mean {meant}?")),
            "{message}"
        );
    }
}
