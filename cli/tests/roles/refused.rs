//! Starts that can not be: each says what to do.

use crate::role::refusal;
use crate::stage::Stage;

#[test]
fn a_start_that_can_not_be_is_refused_with_what_to_do() {
    let stage = Stage::set();
    let nobody = "127.0.0.1:1";
    let gateway = |variable: &str, value: &std::ffi::OsStr| {
        let mut command = stage.gateway(nobody);
        command.env(variable, value);
        refusal(command)
    };
    let worker = |variable: &str, value: &std::ffi::OsStr| {
        let mut command = stage.worker("127.0.0.1:0");
        command.env(variable, value);
        refusal(command)
    };
    let weak = stage.path("weak");
    std::fs::write(&weak, "a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n").unwrap();
    let missing = stage.path("missing");
    let (private, public) = (stage.path("pass"), stage.path("pass.pub"));
    for (refusal, told) in [
        (
            gateway("ARCHWAY_SECRET_FILE", weak.as_ref()),
            "archway secret generate",
        ),
        (
            gateway("ARCHWAY_SECRET_FILE", missing.as_ref()),
            "archway secret generate",
        ),
        (
            gateway("ARCHWAY_PASS_KEY_FILE", public.as_ref()),
            "archway pass-key generate",
        ),
        (
            worker("ARCHWAY_PASS_PUBLIC_FILE", private.as_ref()),
            "archway pass-key generate",
        ),
        (
            worker("ARCHWAY_PASS_PUBLIC_FILE", missing.as_ref()),
            "ARCHWAY_PASS_PUBLIC_FILE",
        ),
        (worker("ARCHWAY_REPOS", missing.as_ref()), "ARCHWAY_REPOS"),
        (
            gateway("ARCHWAY_DATABASE_URL", "nonsense".as_ref()),
            "ARCHWAY_DATABASE_URL",
        ),
        (
            worker("ARCHWAY_DATABASE_URL", "nonsense".as_ref()),
            "ARCHWAY_DATABASE_URL",
        ),
    ] {
        assert!(refusal.contains(told), "{told} in {refusal}");
        assert!(
            !refusal.contains("AAAAAAAA") && !refusal.contains("nonsense"),
            "{refusal}"
        );
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken
        .local_addr()
        .map(|address| (taken, address.to_string()));
    let (_taken, address) = taken.unwrap();
    let in_use = worker("ARCHWAY_WORKER_LISTEN", address.as_ref());
    assert!(
        in_use.contains(&address) && in_use.contains("--listen"),
        "{in_use}"
    );
    // Found out once Postgres answers: the owner would see every tenant's rows.
    let owner = stage.url(stage.place().get_username());
    for refusal in [
        gateway("ARCHWAY_DATABASE_URL", owner.as_ref()),
        worker("ARCHWAY_DATABASE_URL", owner.as_ref()),
    ] {
        assert!(
            refusal.contains("row-level security does not bind it"),
            "{refusal}"
        );
    }
}
