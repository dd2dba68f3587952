//! A project whose links lead into another tenant's folder: nothing from there is shown, whether the link
//! is a file, part of `.git` or the project itself.

use std::{fs, os::unix::fs::symlink, path::Path};

use e2e::{
    Client, Harness, Repo, Stack, Tenant, git,
    sample_calls::{self, SampleCalls},
};
use serde_json::{Value, json};

/// In acme's file, its name, a commit message and a branch.
const WORD: &str = "sesame";

fn vault() -> Repo {
    Repo::new()
        .file(&format!("{WORD}.txt"), format!("{WORD} one, a lantern\n"))
        .commit()
}

/// A way to make a project's folder lead into acme's.
type Trick = (&'static str, fn(shop: &Path, vault: &Path));

/// Each is applied to a folder with a repository that contains `own.txt`.
const TRICKS: [Trick; 16] = [
    ("a file, absolute", |shop, vault| {
        symlink(vault.join("sesame.txt"), shop.join("door.txt")).unwrap();
    }),
    ("a folder, absolute", |shop, vault| {
        symlink(vault, shop.join("hall")).unwrap()
    }),
    ("a folder, relative", |shop, _| {
        symlink("../../acme/vault", shop.join("hall")).unwrap();
    }),
    ("a link to a link", |shop, _| {
        symlink("../../acme", shop.join("hall")).unwrap();
        symlink("hall/vault/sesame.txt", shop.join("door.txt")).unwrap();
    }),
    (".git, a link", |shop, vault| {
        fs::remove_dir_all(shop.join(".git")).unwrap();
        symlink(vault.join(".git"), shop.join(".git")).unwrap();
    }),
    (".git, gitdir absolute", |shop, vault| {
        fs::remove_dir_all(shop.join(".git")).unwrap();
        let text = format!("gitdir: {}\n", vault.join(".git").display());
        fs::write(shop.join(".git"), text).unwrap();
    }),
    (".git, gitdir relative", |shop, _| {
        fs::remove_dir_all(shop.join(".git")).unwrap();
        fs::write(shop.join(".git"), "gitdir: ../../acme/vault/.git\n").unwrap();
    }),
    ("objects, a link", |shop, vault| {
        fs::remove_dir_all(shop.join(".git/objects")).unwrap();
        symlink(vault.join(".git/objects"), shop.join(".git/objects")).unwrap();
        take_head(shop, vault);
    }),
    ("alternates, absolute", |shop, vault| {
        let text = format!("{}\n", vault.join(".git/objects").display());
        fs::write(shop.join(".git/objects/info/alternates"), text).unwrap();
        take_head(shop, vault);
    }),
    ("alternates, relative", |shop, vault| {
        let text = "../../../../acme/vault/.git/objects\n";
        fs::write(shop.join(".git/objects/info/alternates"), text).unwrap();
        take_head(shop, vault);
    }),
    ("commondir", |shop, _| {
        fs::write(shop.join(".git/commondir"), "../../../acme/vault/.git\n").unwrap();
    }),
    ("a worktree of it", |shop, vault| {
        fs::remove_dir_all(shop.join(".git")).unwrap();
        let place = vault.join(".git/worktrees/shop");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(place.join("commondir"), "../..\n").unwrap();
        let back = format!("{}\n", shop.join(".git").display());
        fs::write(place.join("gitdir"), back).unwrap();
        fs::write(shop.join(".git"), format!("gitdir: {}\n", place.display())).unwrap();
    }),
    ("refs, a link", |shop, vault| {
        fs::remove_dir_all(shop.join(".git/refs")).unwrap();
        symlink(vault.join(".git/refs"), shop.join(".git/refs")).unwrap();
    }),
    ("core.worktree", |shop, vault| {
        git(shop, &["config", "core.worktree", vault.to_str().unwrap()]);
    }),
    ("current", |shop, _| {
        symlink("../../acme/vault", shop.join("current")).unwrap()
    }),
    ("the project itself", |shop, vault| {
        fs::remove_dir_all(shop).unwrap();
        symlink(vault, shop).unwrap();
    }),
];

/// Points the branch at acme's commit.
fn take_head(shop: &Path, vault: &Path) {
    let head = fs::read_to_string(vault.join(".git/refs/heads/main")).unwrap();
    fs::write(shop.join(".git/refs/heads/main"), head).unwrap();
}

/// Adds the word to a commit message and a branch of `vault`.
fn fill(vault: &Path) {
    git(
        vault,
        &["commit", "--quiet", "--allow-empty", "--message", WORD],
    );
    git(vault, &["branch", WORD]);
}

/// The project of zeta that a trick is applied to.
fn slug(number: usize) -> String {
    format!("shop-{number}")
}

async fn tricked() -> Stack {
    let shops = (0..TRICKS.len()).fold(Tenant::new("zeta"), |zeta, number| {
        zeta.project(&slug(number), Repo::new().file("own.txt", "own\n").commit())
    });
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("vault", vault()))
        .tenant(shops)
        .start()
        .await;
    let vault = stack.folder("acme", "vault");
    fill(&vault);
    for (number, (_, trick)) in TRICKS.iter().enumerate() {
        trick(&stack.folder("zeta", &slug(number)), &vault);
    }
    stack
}

/// A call of a tool about this project.
fn call(tool: &str, project: &str, mut arguments: Value) -> (&'static str, Value) {
    arguments["project"] = json!(project);
    let params = json!({ "name": tool, "arguments": arguments });
    ("tools/call", params)
}

/// Requests that would show the word. None contains it, so no answer may repeat it.
fn requests(project: &str, head: &str, samples: &[SampleCalls]) -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments| call(tool, project, arguments);
    let uri = format!("repo://{project}/door.txt");
    let mut requests = vec![
        call(
            "list_files",
            json!({ "max_depth": 5, "include_hidden": true }),
        ),
        call("get_repo_overview", json!({ "max_depth": 5 })),
        call("grep_codebase", json!({ "pattern": PATTERN })),
        call("search_files", json!({ "pattern": "one" })),
        call("git_log", json!({ "ref": head })),
        call(
            "git_diff",
            json!({ "ref1": format!("{head}~1"), "ref2": head }),
        ),
        call("search_architecture", json!({ "query": "one" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": uri })),
    ];
    for samples in samples {
        let at_paths = ["door.txt", "hall", "current"];
        let at_paths = at_paths.iter().filter_map(|path| samples.at_path(path));
        let arguments = samples.arguments.iter().cloned().chain(at_paths);
        requests.extend(arguments.map(|arguments| call(samples.tool, arguments)));
    }
    requests
}

/// What an answer may repeat of a request.
const PATTERN: &str = "sesam. one";

/// Paths whose last part is the word: an answer may repeat it, but not what the file says.
const NAMED: [&str; 4] = [
    "sesame.txt",
    "hall/sesame.txt",
    "hall/vault/sesame.txt",
    "current/sesame.txt",
];

async fn leaks(client: &Client, project: &str, head: &str) -> Vec<String> {
    let samples = sample_calls::of_listed(client).await;
    let mut leaks = Vec::new();
    for (method, params) in requests(project, head, &samples) {
        let text = client.rpc(method, params.clone()).await.text();
        if text.replace(PATTERN, "").contains(WORD) {
            leaks.push(format!("{params} → {text}"));
        }
    }
    for path in NAMED {
        let by_path = samples
            .iter()
            .filter_map(|it| Some((it.tool, it.at_path(path)?)));
        let in_past = ("read_file", json!({ "path": path, "ref": head }));
        for (tool, arguments) in by_path.chain([in_past]) {
            let (method, params) = call(tool, project, arguments);
            let text = client.rpc(method, params).await.text();
            if text.contains("sesame one") {
                leaks.push(format!("{tool} {path} → {text}"));
            }
        }
    }
    leaks
}

#[tokio::test]
async fn links_into_another_mount_lead_nowhere_even_through_git_files() {
    let stack = tricked().await;
    let head = git(&stack.folder("acme", "vault"), &["rev-parse", "HEAD"]);
    let client = stack.client("zeta");
    for (number, (trick, _)) in TRICKS.iter().enumerate() {
        let leaks = leaks(&client, &slug(number), &head).await;
        assert!(leaks.is_empty(), "{trick}: {leaks:#?}");
    }
    // The owner sees all of it, so there was something to leak.
    let own = leaks(&stack.client("acme"), "vault", &head).await;
    assert!(own.len() >= 8, "{own:#?}");
}
