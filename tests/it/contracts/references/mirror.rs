//! References in a repository without a work tree, whose blobs are parsed once.

use e2e::{Repo, git};
use serde_json::json;

use super::references;
use crate::serve;

#[tokio::test]
async fn known_blobs_of_a_mirror_answer_as_new_ones_and_as_a_work_tree() {
    let repo = Repo::new()
        .file("gate.py", "class Gate:\n    pass\n")
        .file("app.py", "from gate import Gate\n\nGate()\n");
    let (stack, client) = serve(repo.commit()).await;
    let ask = json!({ "symbol": "gate.py:1" });
    let in_work_tree = references(&client, ask.clone()).await;
    assert_eq!(in_work_tree["references"][1]["text"], "Gate()");
    let (mirrors, mirror) = serve(Repo::new()).await;
    let from = stack.folder("acme", "site");
    let from = from.to_str().unwrap();
    let folder = mirrors.folder("acme", "site");
    git(&folder, &["clone", "-q", "--bare", from, "."]);
    for _ in 0..2 {
        assert_eq!(references(&mirror, ask.clone()).await, in_work_tree);
    }
}
