//! Totals of `find_symbol` and `find_references`: exact up to 10,000.

use e2e::Repo;
use serde_json::{Value, json};

use super::both;
use crate::serve;

/// In each of three files: together more than are counted.
const IN_A_FILE: usize = 3_400;

#[tokio::test]
async fn totals_are_exact_up_to_ten_thousand_and_end_there() {
    let repo = ["a", "b", "c"].into_iter().fold(Repo::new(), |repo, name| {
        let definitions = "def gate(): pass\n".repeat(IN_A_FILE);
        let uses = "admit();\n".repeat(IN_A_FILE);
        repo.file(&format!("code/{name}.py"), definitions)
            .file(&format!("code/{name}.js"), uses)
    });
    let repo = repo.file("admit.js", "export function admit() {}\n");
    let (_stack, client) = serve(repo.commit()).await;
    for (tool, argument, name) in [
        ("find_symbol", "name", "gate"),
        ("find_references", "symbol", "admit"),
    ] {
        for (glob, total) in [("code/[ab].*", 2 * IN_A_FILE), ("code/*", 10_000)] {
            let mut arguments = json!({ "path_glob": glob });
            arguments[argument] = Value::from(name);
            let found = client.call(tool, arguments).await;
            let found = both(&found);
            assert_eq!(found["total"], total, "{tool} {glob}");
            assert_eq!(found["truncated"], true, "{tool} {glob}");
        }
    }
}
