//! Which settings are accepted, and what is said of the others.

use serde_json::{Value, json};

use super::super::testing::{checked, loopback, settings};
use super::super::{
    AppCredential, ClientError, ConnectionSettings, CredentialSetting, HostClient, HostKind,
};
use crate::remote::AllowedProtocols;

fn github() -> Value {
    json!({ "github": { "org": "acme" } })
}

#[test]
fn the_settings_of_the_issue_are_read_with_their_defaults() {
    let read = settings(github(), json!({ "credential": "github" }));
    assert_eq!(read.include, ["*"]);
    assert!(read.exclude.is_empty() && read.topics.is_empty());
    assert!(!read.archived && !read.forks);
    assert_eq!(read.max, 5000);
    assert_eq!(
        read.credential,
        Some(CredentialSetting::Name("github".to_owned()))
    );
    let app = json!({ "credential": { "app": { "id": 1, "installation": 2 } } });
    let app = checked(github(), app).app;
    let (id, installation) = (1, 2);
    assert_eq!(app, Some(AppCredential { id, installation }));
    let again: ConnectionSettings = serde_json::from_value(json!(read)).unwrap();
    assert_eq!(again, read);
}

#[test]
fn unknown_fields_are_refused() {
    for wrong in [
        json!({ "name": "a", "github": { "org": "acme" }, "includes": [] }),
        json!({ "name": "a", "github": { "org": "acme", "group": "x" } }),
        json!({ "name": "a", "github": { "org": "acme" }, "credential": { "app": { "id": 1 } } }),
        json!({ "github": { "org": "acme" } }),
    ] {
        assert!(serde_json::from_value::<ConnectionSettings>(wrong).is_err());
    }
}

fn refused(cases: impl IntoIterator<Item = (Value, Value, &'static str)>) {
    for (source, more, says) in cases {
        let shown = format!("{source} {more}");
        let error = settings(source, more).check(&loopback());
        let text = error.expect_err(&shown).to_string();
        assert!(text.contains(says), "{shown}: {text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn permissions_are_the_hosts_only_if_there_is_one_to_ask() {
    let host = |more: Value| {
        let mut settings = json!({ "permissions": "host", "credential": "github" });
        let fields = settings.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        settings
    };
    let list = json!({ "urls": { "list": ["https://one.example/a/x.git"] } });
    refused([
        (list, host(json!({})), "a list of URLs"),
        (
            github(),
            json!({ "permissions": "host" }),
            "needs `credential`",
        ),
        (
            github(),
            json!({ "permissions_grace": 5 }),
            "`permissions_grace`",
        ),
        (
            github(),
            host(json!({ "permissions_grace": 0 })),
            "1 to 720",
        ),
        (
            github(),
            host(json!({ "permissions_grace": 721 })),
            "1 to 720",
        ),
    ]);
    checked(github(), host(json!({})));
    checked(
        json!({ "gitlab": { "group": "acme" } }),
        host(json!({ "permissions_grace": 48 })),
    );
    let wrong = json!({ "name": "a", "github": { "org": "acme" }, "permissions": "everybody" });
    assert!(serde_json::from_value::<ConnectionSettings>(wrong).is_err());
}

#[test]
fn wrong_names_are_refused_with_what_to_write() {
    let org = |org: &str| json!({ "github": { "org": org } });
    let group = |group: &str| json!({ "gitlab": { "group": group } });
    let app = |id| json!({ "credential": { "app": { "id": id, "installation": 1 } } });
    let none = || json!({});
    refused([
        (json!({}), none(), "exactly one"),
        (github(), group("acme"), "2 sources"),
        (github(), json!({ "name": "A" }), "`name`"),
        (
            github(),
            json!({ "credential": "../etc/passwd" }),
            "`credential`",
        ),
        (github(), app(0), "id of 0"),
        (group("acme"), app(1), "`github` alone"),
        (group("42"), none(), "not as a number"),
        (group("a//b"), none(), "`group`"),
        (group("a/../b"), none(), "`group`"),
    ]);
    for bad in ["", "a/b", "a?b", "a%2Fb", "..", "-a", "a b", "ä", "a#b"] {
        refused([(org(bad), none(), "`org`")]);
    }
}

#[test]
fn wrong_addresses_are_refused_with_what_to_write() {
    let at = |url: &str| json!({ "gitea": { "org": "acme", "url": url } });
    let list = |list: &[&str]| json!({ "urls": { "list": list } });
    let proxy = |url: &str| json!({ "https_proxy": url });
    for bad in [
        "git.example.com",
        "https://user:secret@git.example.com",
        "http://git.example.com",
        "https://git.example.com/?a",
        "https://git.example.com/../a",
        "https://",
        "",
    ] {
        refused([(at(bad), json!({}), "`url`")]);
    }
    refused([
        (at("ssh://git.example.com"), json!({}), "https://"),
        (list(&[]), json!({}), "empty"),
        (list(&["https://a/b", "https://A/b"]), json!({}), "twice"),
        (list(&["https://a/b", "ext::sh"]), json!({}), "number 2"),
        (github(), proxy("proxy:3128"), "`https_proxy`"),
        (
            github(),
            proxy("http://user:secret@proxy:3128"),
            "`https_proxy`",
        ),
        (github(), json!({ "ca_file": "ca.pem" }), "absolute"),
    ]);
}

#[test]
fn wrong_filters_are_refused_with_what_to_write() {
    refused([
        (github(), json!({ "include": [] }), "`include`"),
        (
            github(),
            json!({ "include": ["a["] }),
            "number 1 of `include`",
        ),
        (
            github(),
            json!({ "exclude": ["a", ""] }),
            "number 2 of `exclude`",
        ),
        (github(), json!({ "exclude": vec!["a"; 101] }), "`exclude`"),
        (
            github(),
            json!({ "topics": ["a\nb"] }),
            "number 1 of `topics`",
        ),
        (github(), json!({ "topics": vec!["a"; 101] }), "`topics`"),
        (github(), json!({ "max": 0 }), "`max` is 0"),
        (github(), json!({ "max": 100_001 }), "100000"),
    ]);
}

#[test]
fn http_is_for_loopback_unless_it_is_allowed() {
    let source = json!({ "gitea": { "org": "acme", "url": "http://127.0.0.1:3000" } });
    let settings = settings(source, json!({}));
    assert!(settings.check(&loopback()).is_ok());
    assert!(settings.check(&AllowedProtocols::default()).is_err());
}

#[test]
fn each_host_has_its_api_where_it_documents_it() {
    for (source, kind, api) in [
        (
            github(),
            HostKind::Github,
            "https://api.github.com/orgs/acme/",
        ),
        (
            json!({ "github": { "org": "acme", "url": "https://acme.ghe.com/" } }),
            HostKind::Github,
            "https://api.acme.ghe.com/orgs/acme/",
        ),
        (
            json!({ "github": { "org": "acme", "url": "https://git.example:8443" } }),
            HostKind::Github,
            "https://git.example:8443/api/v3/orgs/acme/",
        ),
        (
            json!({ "gitlab": { "group": "acme" } }),
            HostKind::Gitlab,
            "https://gitlab.com/api/v4/groups/acme/",
        ),
        (
            json!({ "gitea": { "org": "acme", "url": "https://forge.example/git/" } }),
            HostKind::Gitea,
            "https://forge.example/git/api/v1/orgs/acme/",
        ),
    ] {
        let connection = checked(source, json!({}));
        assert_eq!(
            (connection.kind(), connection.below()),
            (Some(kind), "acme")
        );
        assert!(
            connection.first_page().starts_with(api),
            "{}",
            connection.first_page()
        );
    }
}

#[test]
fn files_of_authorities_are_read_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    let client = || HostClient::new(checked(github(), json!({ "ca_file": path })));
    assert!(matches!(client(), Err(ClientError::File { .. })));
    std::fs::write(&path, "nothing").unwrap();
    assert!(matches!(client(), Err(ClientError::Authorities(_))));
}
