//! The git tools where an agent guessed wrong: which revision, path or cursor it is told to give.

use serde_json::json;

use super::git::project;

#[tokio::test]
async fn a_log_can_be_paged_by_its_text_alone() {
    let (_stack, client, _folder) = project().await;
    let mut arguments = json!({ "max_count": 1 });
    let mut subjects = Vec::new();
    loop {
        let page = client.call("git_log", arguments.clone()).await;
        let line = |begin: &str| {
            page.text()
                .lines()
                .find_map(|line| line.strip_prefix(begin))
        };
        subjects.push(line("**Message**: ").unwrap().to_owned());
        let cursor = line("cursor: ").map(str::to_owned);
        assert_eq!(page.structured()["cursor"].as_str(), cursor.as_deref());
        match cursor {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => break,
        }
    }
    let all = [
        "tidy up",
        "fix(auth): add token validation",
        "feat(auth): add JWT verification",
    ];
    assert_eq!(subjects, all);
}
