//! Starts that are refused: each error says what to do.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use crate::role::{LOOK, PATIENCE};
use crate::stage::Stage;

/// The error of a command that must fail soon.
pub(crate) fn refusal(mut command: Command) -> String {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = SystemTime::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && SystemTime::now() < deadline {
        std::thread::sleep(LOOK);
    }
    child.kill().ok();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

impl Stage {
    /// The error of a gateway with this variable.
    fn gateway_with(&self, variable: &str, value: impl AsRef<Path>) -> String {
        let mut command = self.gateway("127.0.0.1:1");
        command.env(variable, value.as_ref());
        refusal(command)
    }

    /// The error of a worker with this variable.
    fn worker_with(&self, variable: &str, value: impl AsRef<Path>) -> String {
        let mut command = self.worker("127.0.0.1:0");
        command.env(variable, value.as_ref());
        refusal(command)
    }
}

#[test]
fn a_missing_weak_or_wrong_file_is_refused_with_the_fixing_command() {
    const SECRET: &str = "archway secret generate";
    const PASS_KEY: &str = "archway pass-key generate";
    let stage = Stage::set();
    let (weak, missing) = (stage.path("weak"), stage.path("missing"));
    std::fs::write(&weak, format!("a:{}=\n", "A".repeat(43))).unwrap();
    let (private, public) = (stage.path("pass"), stage.path("pass.pub"));
    for (refusal, told) in [
        (stage.gateway_with("ARCHWAY_SECRET_FILE", &weak), SECRET),
        (stage.gateway_with("ARCHWAY_SECRET_FILE", &missing), SECRET),
        (
            stage.gateway_with("ARCHWAY_PASS_KEY_FILE", &public),
            PASS_KEY,
        ),
        (
            stage.gateway_with("ARCHWAY_PASS_KEY_FILE", &missing),
            PASS_KEY,
        ),
        (
            stage.worker_with("ARCHWAY_PASS_PUBLIC_FILE", &private),
            PASS_KEY,
        ),
        (
            stage.worker_with("ARCHWAY_PASS_PUBLIC_FILE", &missing),
            PASS_KEY,
        ),
        (
            stage.worker_with("ARCHWAY_REPOS", &missing),
            "ARCHWAY_REPOS",
        ),
    ] {
        assert!(refusal.contains(told), "{told} in {refusal}");
        assert!(!refusal.contains("AAAAAAAA"), "{refusal}");
    }
}

#[test]
fn an_invalid_or_owner_database_url_is_refused_and_not_repeated() {
    const URL: &str = "ARCHWAY_DATABASE_URL";
    let stage = Stage::set();
    let nonsense = "hunter2";
    for refusal in [
        stage.gateway_with(URL, nonsense),
        stage.worker_with(URL, nonsense),
    ] {
        assert!(
            refusal.contains(URL) && !refusal.contains("hunter2"),
            "{refusal}"
        );
    }
    // Detected once Postgres answers: the owner would see every tenant's rows.
    let owner = stage.url(stage.database().get_username());
    for refusal in [
        stage.gateway_with(URL, &owner),
        stage.worker_with(URL, &owner),
    ] {
        let told = "row-level security does not bind it";
        assert!(refusal.contains(told), "{refusal}");
    }
}

#[test]
fn limits_the_store_cannot_count_are_refused_without_the_password() {
    let stage = Stage::set();
    let closed = stage.gateway_with("ARCHWAY_LIMITS_WHEN_DOWN", "closed");
    assert!(closed.contains("ARCHWAY_LIMITS_URL"), "{closed}");
    let url = stage.gateway_with("ARCHWAY_LIMITS_URL", "redis://:hunter2#7@limits");
    assert!(
        url.contains("# as %23") && !url.contains("hunter2"),
        "{url}"
    );
}

#[test]
fn untrustworthy_issuers_are_refused_with_the_reason() {
    const ISSUERS: &str = "ARCHWAY_ISSUERS_FILE";
    let stage = Stage::set();
    let (missing, file) = (stage.path("missing"), stage.path("issuers.yaml"));
    let refused = stage.gateway_with(ISSUERS, &missing);
    assert!(
        refused.contains(ISSUERS) && refused.contains("missing"),
        "{refused}"
    );
    for (more, told) in [
        ("tenant: acme", "ARCHWAY_RESOURCE"),
        ("tenant: acme, algorithms: [HS256]", "HS256"),
        ("tenants: [acme]", "which tenants it speaks for"),
        ("tenant: acme, key: hunter2", "unknown field"),
    ] {
        let entry = format!("{{issuer: 'https://a.example', audience: us, {more}}}");
        std::fs::write(&file, format!("issuers: [{entry}]")).unwrap();
        let refused = stage.gateway_with(ISSUERS, &file);
        assert!(
            refused.contains(told) && !refused.contains("hunter2"),
            "{refused}"
        );
    }
}

#[test]
fn an_embedding_service_that_is_half_set_up_is_refused_without_its_key() {
    let stage = Stage::set();
    let url = stage.worker_with("ARCHWAY_EMBEDDER_URL", "https://hunter2@host/v1");
    let missing = stage.worker_with("ARCHWAY_EMBEDDER_URL", "https://host/v1");
    let kind = stage.worker_with("ARCHWAY_EMBEDDER", "service");
    assert!(missing.contains("ARCHWAY_EMBEDDER_MODEL"), "{missing}");
    assert!(kind.contains("ARCHWAY_EMBEDDER_URL"), "{kind}");
    let told = url.contains("ARCHWAY_EMBEDDER_URL") && !url.contains("hunter2");
    assert!(told, "{url}");
}

#[test]
fn a_port_in_use_is_refused_naming_it_and_its_option() {
    let stage = Stage::set();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refusal = stage.worker_with("ARCHWAY_WORKER_ADMIN_LISTEN", &address);
    let told = refusal.contains(&address) && refusal.contains("--admin-listen");
    assert!(told, "{refusal}");
}

#[test]
fn a_boolean_variable_takes_the_usual_words_only() {
    let stage = Stage::set();
    let switched = |word: &str| {
        let mut command = stage.worker("127.0.0.1:0");
        command.env("ARCHWAY_REQUIRE_CONFINEMENT", word);
        // A later error shows that the option was accepted.
        command.env("ARCHWAY_REPOS", stage.path("missing"));
        let Output { status, stderr, .. } = command.output().unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    };
    for word in ["1", "0", "true", "no", "ON"] {
        let (code, said) = switched(word);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("ARCHWAY_REPOS"), "{said}");
    }
    let (code, said) = switched("perhaps");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--require-confinement"), "{said}");
}

#[test]
fn a_cache_folder_of_another_user_is_refused_by_its_name() {
    let stage = Stage::set();
    for name in ["history", "search"] {
        let cache = stage.path(&format!("cache-of-{name}"));
        std::fs::create_dir(&cache).unwrap();
        let folder = cache.join(name);
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir(&folder).unwrap();
            std::os::unix::fs::chown(&folder, Some(54_321), None).unwrap();
        } else {
            // A folder of root's.
            std::os::unix::fs::symlink("/usr", &folder).unwrap();
        }
        let said = stage.worker_with("ARCHWAY_CACHE_DIR", &cache);
        for told in ["--cache", "belongs to another user"] {
            assert!(said.contains(told), "{said}");
        }
    }
}
