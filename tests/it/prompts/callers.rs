//! Prompts and completion by caller: projects, tools, tenants, limits.

use archway_gateway::terms::Level;
use archway_proto::catalog::Scope;
use e2e::{Harness, Key, Tenant};
use serde_json::{Value, json};

use super::{FILE, names, site, text};
use crate::{refused, result};

#[tokio::test]
async fn a_tool_that_the_caller_may_not_call_is_as_unknown() {
    let repo = site(&[
        (FILE, "greet", "{{tool:git_log}}"),
        (
            ".archway/prompts/w.json",
            "write",
            "{{tool:write_memory_entry}}",
        ),
        (".archway/prompts/p.json", "plain", "Text."),
    ]);
    let acme = Tenant::new("acme")
        .project("site", repo)
        .key(Key::new("files").families(["files"]))
        .key(Key::new("reader").scopes(&[Scope::ToolsRead]))
        .key(Key::new("writer").scopes(&[Scope::MemoryWrite]));
    let stack = Harness::new().tenant(acme).start().await;
    assert_eq!(
        names(&stack.client("acme")).await,
        ["greet", "plain", "write"]
    );
    assert_eq!(names(&stack.keyed("acme", "files")).await, ["plain"]);
    assert_eq!(
        names(&stack.keyed("acme", "reader")).await,
        ["greet", "plain"]
    );
    assert_eq!(names(&stack.keyed("acme", "writer")).await, [""; 0]);
    let get = json!({ "name": "plain", "arguments": { "who": "a" } });
    assert_eq!(
        stack
            .keyed("acme", "writer")
            .rpc("prompts/get", get)
            .await
            .status,
        403
    );
    let unknown = json!({ "name": "greet", "arguments": { "who": "a" } });
    let error = refused(&stack.keyed("acme", "files"), "prompts/get", unknown).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no tool \"git_log\""),
        "{error}"
    );
}

#[tokio::test]
async fn prompts_of_other_projects_are_named_by_slug_within_the_tenant() {
    let of = |text: &str| site(&[(FILE, "greet", text)]);
    let acme = Tenant::new("acme")
        .project(
            "api",
            of("api {{resource:architecture://adr/0001-use-postgres}}"),
        )
        .project("web", of("web"))
        .key(Key::new("web").default_project("web"))
        .key(Key::new("narrow").projects(["web"]));
    let zeta = Tenant::new("zeta").project("vault", of("secret"));
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let client = stack.keyed("acme", "web");
    assert_eq!(names(&client).await, ["greet", "api/greet"]);
    let who = json!({ "who": "a" });
    assert_eq!(text(&client, "greet", who.clone()).await, "web");
    // A reference without a project means the prompt's own project.
    let api = text(&client, "api/greet", who.clone()).await;
    assert!(api.starts_with("api # Use Postgres"), "{api}");
    assert_eq!(
        names(&stack.client("acme")).await,
        ["api/greet", "web/greet"]
    );
    let narrow = stack.keyed("acme", "narrow");
    assert_eq!(names(&narrow).await, ["greet"]);
    for name in ["api/greet", "vault/greet", "nowhere/greet"] {
        let error = refused(
            &narrow,
            "prompts/get",
            json!({ "name": name, "arguments": who }),
        )
        .await;
        let message = error["message"].as_str().unwrap().replace(name, "X");
        assert_eq!(
            message,
            "there is no prompt \"X\"; call prompts/list for the prompts there are"
        );
    }
}

#[tokio::test]
async fn completion_offers_only_what_the_caller_may_read() {
    let pattern = "docs/architecture/patterns/repository.md";
    let with = |name: &str| {
        site(&[(FILE, name, "Text.")])
            .file(pattern, "# R\n")
            .commit()
    };
    let acme = Tenant::new("acme")
        .project("api", with("greet"))
        .project("apart", with("other"))
        .key(Key::new("narrow").projects(["api"]));
    let stack = Harness::new().tenant(acme).start().await;
    let complete = async |label: &str, reference: Value, name: &str, value: &str, known: Value| {
        let params = json!({
            "ref": reference, "argument": { "name": name, "value": value },
            "context": { "arguments": known },
        });
        let client = stack.keyed("acme", label).modern();
        let found = result(&client, "completion/complete", params).await;
        assert!(found["completion"]["total"].is_u64() && found["completion"]["hasMore"] == false);
        serde_json::from_value::<Vec<String>>(found["completion"]["values"].clone()).unwrap()
    };
    let uri = json!({ "type": "ref/resource", "uri": "architecture://{project}/{kind}/{slug}" });
    let none = json!({});
    assert_eq!(
        complete("", uri.clone(), "project", "ap", none.clone()).await,
        ["apart", "api"]
    );
    assert_eq!(
        complete("narrow", uri.clone(), "project", "ap", none.clone()).await,
        ["api"]
    );
    assert_eq!(
        complete("", uri.clone(), "kind", "g", none.clone()).await,
        ["guideline"]
    );
    let known = json!({ "project": "api", "kind": "adr" });
    assert_eq!(
        complete("", uri.clone(), "slug", "postgres", known).await,
        ["0001-use-postgres"]
    );
    let hidden = json!({ "project": "apart" });
    assert_eq!(
        complete("narrow", uri.clone(), "slug", "", hidden).await,
        [""; 0]
    );
    let file = json!({ "type": "ref/resource", "uri": "repo://{project}/{path}" });
    assert_eq!(
        complete("", file, "path", "no", none.clone()).await,
        [""; 0]
    );
    let guided = json!({ "type": "ref/prompt", "name": "guided-pattern-validation" });
    assert_eq!(
        complete("narrow", guided, "pattern_name", "r", none.clone()).await,
        ["repository"]
    );
    let greet = json!({ "type": "ref/prompt", "name": "greet" });
    assert_eq!(
        complete("narrow", greet.clone(), "who", "a", none).await,
        [""; 0]
    );
    for (reference, name) in [
        (greet, "whom"),
        (
            json!({ "type": "ref/prompt", "name": "apart/other" }),
            "who",
        ),
        (json!({ "type": "ref/resource", "uri": "repo://{x}" }), "x"),
        (uri, "path"),
        (json!({ "type": "ref/else" }), "x"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": name, "value": "" } });
        let error = refused(
            &stack.keyed("acme", "narrow"),
            "completion/complete",
            params,
        )
        .await;
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[tokio::test]
async fn a_prompt_that_the_caller_cannot_get_has_no_completion() {
    let acme = Tenant::new("acme")
        .project("site", site(&[(FILE, "greet", "{{tool:git_log}}")]))
        .key(Key::new("files").families(["files"]));
    let stack = Harness::new().tenant(acme).start().await;
    let files = stack.keyed("acme", "files");
    for (prompt, argument, why) in [
        ("review-a-decision", "decision", "there is no prompt"),
        ("greet", "who", "is skipped: there is no tool"),
    ] {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": prompt },
            "argument": { "name": argument, "value": "" },
        });
        result(&stack.client("acme"), "completion/complete", params.clone()).await;
        let error = refused(&files, "completion/complete", params).await;
        assert!(error["message"].to_string().contains(why), "{error}");
    }
    // The arguments of a project's prompt are checked before what it names.
    let error = refused(&files, "prompts/get", json!({ "name": "greet" })).await;
    assert!(
        error["message"].to_string().contains("is missing"),
        "{error}"
    );
}

#[tokio::test]
async fn a_misspelt_prompt_gets_near_names_that_the_caller_may_get() {
    let acme = Tenant::new("acme")
        .project("api", site(&[(FILE, "greet", "Text.")]))
        .project("web", site(&[(FILE, "farewell", "{{tool:git_log}}")]))
        .key(Key::new("api").projects(["api"]))
        .key(Key::new("files").families(["files"]));
    let stack = Harness::new().tenant(acme).start().await;
    let message = async |label: &str, name: &str| {
        let client = stack.keyed("acme", label);
        let error = refused(&client, "prompts/get", json!({ "name": name })).await;
        assert_eq!(error["code"], -32602, "{error}");
        error["message"].as_str().unwrap().to_owned()
    };
    let form = "name its project, as api/greet; the projects are api, web";
    for (label, name, said) in [
        ("", "greet", form),
        ("", "review-a-decison", "did you mean review-a-decision? Or"),
        (
            "",
            "api/gret",
            "did you mean api/greet? Or call prompts/list",
        ),
        (
            "",
            "apj/greet",
            "did you mean api/greet? Or call prompts/list",
        ),
        ("", "web/farewel", "did you mean web/farewell? Or"),
        ("api", "gret", "did you mean greet? Or"),
        ("api", "onboard", "did you mean onboard-to-this-repo? Or"),
    ] {
        let message = message(label, name).await;
        assert!(message.contains(said), "{label} {name}: {message}");
    }
    let absent = message("files", "review-a-decision").await;
    let unknown =
        "there is no prompt \"review-a-decision\"; call prompts/list for the prompts there are";
    assert_eq!(absent, unknown);
    // These name tools that the caller may not call.
    for name in ["web/farewel", "review-a-decison"] {
        let message = message("files", name).await;
        assert!(!message.contains("did you mean"), "{message}");
    }
}

#[tokio::test]
async fn prompts_and_completion_have_limits_of_their_own() {
    let acme = Tenant::new("acme")
        .project("site", site(&[(FILE, "greet", "Text.")]))
        .limited()
        .limit(Level::Key, "prompts/get", 1)
        .limit(Level::Key, "list_files", 1);
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let get = json!({ "name": "greet", "arguments": { "who": "a" } });
    let greet = json!({ "type": "ref/prompt", "name": "greet" });
    let complete = json!({ "ref": greet, "argument": { "name": "who", "value": "" } });
    for (method, params) in [("prompts/get", get), ("completion/complete", complete)] {
        result(&client, method, params.clone()).await;
        assert_eq!(client.rpc(method, params).await.status, 429, "{method}");
    }
}
