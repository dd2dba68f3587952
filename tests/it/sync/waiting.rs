//! What an agent is told of a repository that was never cloned.

use serde_json::json;

use super::Mirrored;

#[tokio::test]
async fn an_agent_hears_how_far_a_first_clone_is() {
    let mut mirrored = Mirrored::start().await;
    // This test says how far the clone is.
    mirrored.stop_sync().await;
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    let client = mirrored.stack.client("acme");
    for (percent, message) in [
        ("null", "the repository is being cloned"),
        ("43", "the repository is being cloned: 43 %"),
    ] {
        let sql = format!(
            "insert into mirrors (project_id, tenant_id, place, state, percent, leased_until) \
             select id, tenant_id, '', 'cloning', {percent}::smallint, now() + interval '1 hour' \
             from projects where slug = 'site' \
             on conflict (project_id, place) do update set percent = excluded.percent returning state"
        );
        let state: String = mirrored.ask(&sql).await;
        // Workers read the projects every 5 s.
        let is_told = async || {
            let read = json!({ "project": "site", "path": "a.txt" });
            let reply = client.call("read_file", read).await;
            let error = reply.error();
            (error["message"] == message).then(|| error.clone())
        };
        let error = mirrored.stack.eventually(is_told).await;
        assert_eq!(error["code"], "unavailable");
        assert_eq!(error["details"]["state"], state);
        assert!(error["details"]["retry_after_seconds"].is_number());
    }
}
