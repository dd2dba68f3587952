//! Names of secrets: denied by name alone, and never shown.

use e2e::{Reply, Repo};
use serde_json::{Value, json};

use super::by_every_tool;
use crate::serve;

/// Typical names of secrets, of files and of folders; each file contains `sesame`.
const BLOCKED: [&str; 28] = [
    ".git/description",
    "docs/.git/config",
    ".env",
    "docs/.env",
    "docs/.env.local",
    "docs/prod.env",
    "docs/.ENV",
    "docs/secrets.yaml",
    "docs/secrets/plan.txt",
    "docs/Secrets-of-the-deep.md",
    "docs/server.key",
    "docs/server.PEM",
    "docs/id_rsa",
    "docs/id_ed25519.pub",
    "docs/node_modules/left-pad/index.js",
    "docs/.ssh/config",
    "docs/.aws/config",
    "docs/.kube/config",
    "docs/.docker/config.json",
    "docs/.npmrc",
    "docs/.netrc",
    "docs/.git-credentials",
    "docs/.htpasswd",
    "docs/store.p12",
    "docs/terraform.tfstate.backup",
    "docs/secret.json",
    "docs/login/credentials",
    "docs/service-account-7.json",
];

/// Names that resemble secrets but are open.
const OPEN: [&str; 5] = [
    "docs/.env.example",
    "docs/credentials/store.rs",
    "docs/environment.md",
    "docs/monkey.txt",
    "docs/my-secrets.txt",
];

fn secrets() -> Repo {
    // Committed first: `.git` must exist before a file is added to it.
    let repo = Repo::new().file("docs/open.md", "open\n").commit();
    let names = BLOCKED.into_iter().chain(OPEN);
    names.fold(repo, |repo, path| repo.file(path, "sesame\n"))
}

#[tokio::test]
async fn a_blocked_name_is_denied_by_its_name_alone_whether_it_exists_or_not() {
    let (_stack, client) = serve(secrets()).await;
    for path in BLOCKED {
        // A folder without such a file, so only the name can be the reason.
        let name = path.trim_start_matches("docs/");
        let invented = format!("docs/invented/{name}");
        for ((tool, real), (_, invented_reply)) in by_every_tool(&client, path)
            .await
            .iter()
            .zip(by_every_tool(&client, &invented).await)
        {
            assert_eq!(
                real.code(),
                "access_denied",
                "{tool} {path}: {}",
                real.value()
            );
            let same = |reply: &Reply, path: &str| reply.error().to_string().replace(path, "…");
            assert_eq!(
                same(real, path),
                same(&invented_reply, &invented),
                "{tool} {path}"
            );
        }
    }
}

#[tokio::test]
async fn blocked_files_are_in_no_list_no_search_no_sum_and_no_count() {
    let (_stack, client) = serve(secrets()).await;
    let shows_none = |what: &str, data: &Value| {
        let text = data.to_string();
        for path in BLOCKED {
            assert!(
                !text.contains(&format!("\"{path}\"")),
                "{what} shows {path}"
            );
        }
    };
    let list = json!({ "include_hidden": true, "max_depth": 10, "pattern": "*" });
    let list = client.call("list_files", list).await;
    shows_none("list_files", list.structured());
    assert_eq!(
        list.structured()["total_count"],
        OPEN.len() + 1,
        "{}",
        list.value()
    );
    for pattern in [".env", "**/.git/**", "secrets*", "docs/server.key", "*.pem"] {
        let list = json!({ "include_hidden": true, "max_depth": 10, "pattern": pattern });
        assert_eq!(
            client.call("list_files", list).await.structured()["total_count"],
            0,
            "{pattern}"
        );
    }

    for (tool, glob, searched) in [
        ("search_files", "glob", "files_searched"),
        ("grep_codebase", "file_pattern", "filesSearched"),
    ] {
        let all = client.call(tool, json!({ "pattern": "sesame" })).await;
        shows_none(tool, all.structured());
        assert_eq!(
            all.structured()["matches"].as_array().unwrap().len(),
            OPEN.len(),
            "{tool}"
        );
        assert_eq!(all.structured()[searched], OPEN.len() + 1, "{tool}");
        for named in [
            "docs/.env",
            ".env",
            "**/secrets/**",
            "node_modules/**",
            "*.key",
        ] {
            let none = client
                .call(tool, json!({ "pattern": "sesame", glob: named }))
                .await;
            assert_eq!(none.structured()[searched], 0, "{tool} {named}");
        }
    }

    let overview = client
        .call("get_repo_overview", json!({ "max_depth": 5 }))
        .await;
    let tree = overview.structured()["structure"].to_string();
    for name in ["server.key", "secrets", "node_modules", ".env", "id_rsa"] {
        assert!(
            !tree.contains(&format!("\"{name}\"")),
            "the overview shows {name}"
        );
    }
    // The overview omits hidden files, so `.env.example` is not counted.
    assert_eq!(overview.structured()["stats"]["total_files"], OPEN.len());
}

#[tokio::test]
async fn names_that_only_look_like_secrets_are_readable() {
    let (_stack, client) = serve(secrets()).await;
    for path in OPEN {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.structured()["file"]["content"], "sesame\n", "{path}");
    }
    let reply = client
        .call("list_files", json!({ "directory": "docs/credentials" }))
        .await;
    assert_eq!(reply.structured()["total_count"], 1);
}

#[tokio::test]
async fn no_failure_reveals_the_host_path_of_a_repository() {
    let repo = secrets()
        .link("docs/out", "/etc")
        .link("docs/gone", "nowhere");
    let (stack, client) = serve(repo).await;
    let host = stack.repositories().display().to_string();
    let mut asked = 0;
    for path in BLOCKED
        .into_iter()
        .chain(["docs/out/x", "docs/gone", "nope", "..", "docs", "\0"])
    {
        for (tool, reply) in by_every_tool(&client, path).await {
            assert!(
                !reply.value().to_string().contains(&host),
                "{tool} {path}: {}",
                reply.value()
            );
            asked += usize::from(reply.is_error());
        }
    }
    assert!(asked > BLOCKED.len());
}
