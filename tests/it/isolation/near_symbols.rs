//! Hints of symbol tools: near names, other kinds and other containers come from files that the caller may read alone.
//!
//! Nobody is told of a definition in a project that rules hide, in a closed file, or of another tenant.

use archway::tenants::ProjectSettings;
use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::access::until_sees;

const ALL: [&str; 3] = ["site", "vault", "wiki"];
const OPEN: [&str; 2] = ["site", "wiki"];

/// A method that a caller must not hear of.
struct HiddenSymbol {
    name: &'static str,
    misspelt: &'static str,
    class: &'static str,
    path: &'static str,
}

const IN_VAULT: HiddenSymbol = HiddenSymbol {
    name: "open_portcullis",
    misspelt: "open_portculis",
    class: "Castellan",
    path: "moat.py",
};
const IN_CLOSED_FILE: HiddenSymbol = HiddenSymbol {
    name: "raise_drawbridge",
    misspelt: "raise_drawbrige",
    class: "Warden",
    path: "closed/turret.py",
};
const OF_ANOTHER_TENANT: HiddenSymbol = HiddenSymbol {
    name: "light_beacon",
    misspelt: "light_becon",
    class: "Keeper",
    path: "pier.py",
};

impl HiddenSymbol {
    fn write(&self, repo: Repo) -> Repo {
        let (class, name) = (self.class, self.name);
        let code = format!("class {class}:\n    def {name}(self): pass\n");
        repo.file(self.path, code)
    }
}

/// Questions that hints answer: names that nothing has, or nothing of that kind or in that container.
fn asked(name: &str, misspelt: &str) -> Vec<(&'static str, Value)> {
    let contained = format!("Nobody::{name}");
    let mut asked = Vec::new();
    for project in ["site", "*"] {
        for (name, kind) in [
            (misspelt, Value::Null),
            (name, json!("class")),
            (contained.as_str(), Value::Null),
        ] {
            let arguments = json!({ "name": name, "kind": kind, "project": project });
            asked.push(("find_symbol", arguments));
        }
    }
    for symbol in [misspelt, name] {
        let arguments = json!({ "symbol": symbol, "project": "site" });
        asked.push(("find_references", arguments));
    }
    asked
}

/// Panics unless the caller is told of a misspelt name's nearest.
async fn assert_told(client: &Client, project: &str, symbol: &HiddenSymbol) {
    let arguments = json!({ "name": symbol.misspelt, "project": project });
    let found = client.call("find_symbol", arguments).await;
    let message = found.structured()["message"].as_str().unwrap();
    let HiddenSymbol {
        class, name, path, ..
    } = symbol;
    let near = format!("did you mean `{class}.{name}` ({path}:2)?");
    assert!(message.contains(&near), "{message}");
}

/// Panics unless the caller gets the answers that it gets about a name that nobody has.
async fn assert_unheard_of(client: &Client, symbol: &HiddenSymbol) {
    let names = [symbol.name, symbol.misspelt];
    let nobodys = ["sound_of_tuba", "sound_of_tuub"];
    let about = asked(names[0], names[1]).into_iter();
    for ((tool, hidden), (_, unknown)) in about.zip(asked(nobodys[0], nobodys[1])) {
        let answer = async |arguments: &Value, names: [&str; 2]| {
            let reply = client.call(tool, arguments.clone()).await;
            let said = reply.structured().to_string();
            let whole = reply.value().to_string();
            for word in [symbol.class, symbol.path, "vault"] {
                assert!(!whole.contains(word), "{tool} {arguments}: {whole}");
            }
            said.replace(names[0], "…").replace(names[1], "…")
        };
        let answers = (
            answer(&hidden, names).await,
            answer(&unknown, nobodys).await,
        );
        assert_eq!(answers.0, answers.1, "{tool} {hidden}");
    }
}

/// Closes the folder `closed` of `site`, and waits until nothing in it is found.
async fn close(stack: &Stack, client: &Client) {
    let tenant = stack.tenant_id("acme");
    let settings = ProjectSettings {
        close: vec!["closed/".to_owned()],
        ..ProjectSettings::default()
    };
    let closing = stack.tenants().change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.set_project(project.id, &settings).await
    });
    closing.await.unwrap();
    let name = json!({ "name": IN_CLOSED_FILE.name, "project": "site" });
    let is_closed = async || {
        let found = client.call("find_symbol", name.clone()).await;
        (found.structured()["total"] == 0).then_some(())
    };
    stack.eventually(is_closed).await;
}

/// `acme` has a hidden project and a file to close, and `zeta` a project of the same name as one of `acme`.
async fn two_tenants() -> Stack {
    let window = || Repo::new().file("window.py", "def close_window(): pass\n");
    let acme = Tenant::new("acme")
        .project("vault", IN_VAULT.write(Repo::new()).commit())
        .project("site", IN_CLOSED_FILE.write(window()).commit())
        .project("wiki", window().commit())
        .key(Key::new("dev"))
        .key(Key::new("guest"));
    let zeta = OF_ANOTHER_TENANT.write(window()).commit();
    let zeta = Tenant::new("zeta").project("site", zeta);
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    stack.until_listening().await;
    stack
}

#[tokio::test]
async fn no_hint_names_a_symbol_that_the_caller_may_not_read() {
    let stack = two_tenants().await;
    stack.allow("acme", "everyone", &OPEN).await;
    let given = stack.allow("acme", "key:dev", &["vault"]).await;
    let (dev, guest) = (stack.keyed("acme", "dev"), stack.keyed("acme", "guest"));
    until_sees(&stack, &dev, &ALL).await;
    until_sees(&stack, &guest, &OPEN).await;
    assert_told(&dev, "vault", &IN_VAULT).await;
    assert_told(&dev, "site", &IN_CLOSED_FILE).await;
    assert_told(&stack.client("zeta"), "site", &OF_ANOTHER_TENANT).await;

    stack.remove_rule("acme", given).await;
    until_sees(&stack, &dev, &OPEN).await;
    close(&stack, &dev).await;
    for client in [&dev, &guest] {
        for symbol in [&IN_VAULT, &IN_CLOSED_FILE, &OF_ANOTHER_TENANT] {
            assert_unheard_of(client, symbol).await;
        }
    }
    for symbol in [&IN_VAULT, &IN_CLOSED_FILE] {
        assert_unheard_of(&stack.client("zeta"), symbol).await;
    }
}
