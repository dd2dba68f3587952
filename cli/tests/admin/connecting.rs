//! How commands find their database, and which databases they refuse.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::installation::{CommandResult, Installation, bare};

#[test]
fn without_a_database_both_ways_to_one_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let refusal = CommandResult::of(bare().args(["tenant", "list", "--data", data])).refusal();
    for way in [
        "--database-url",
        "ARCHWAY_MIGRATE_DATABASE_URL",
        "`archway dev`",
        "--data",
        data,
    ] {
        assert!(refusal.contains(way), "{way}: {refusal}");
    }
}

#[test]
fn a_database_that_does_not_answer_is_refused_without_its_password() {
    let url = "postgres://me:hush@127.0.0.1:1/archway";
    let refusal =
        CommandResult::of(bare().args(["tenant", "list", "--database-url", url])).refusal();
    assert!(refusal.contains("connecting to the database"), "{refusal}");
    assert!(!refusal.contains("hush"), "{refusal}");
}

/// A PostgreSQL that recovers from a crash, and where it is.
fn recovering() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
            stream.read_exact(&mut startup).unwrap();
            let fields = "SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\
                          Fpostmaster.c\0L2415\0Rx\0\0";
            let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
            stream
                .write_all(&[b"E", &length[..], fields.as_bytes()].concat())
                .unwrap();
        }
    });
    format!("postgres://me@{address}/archway?sslmode=disable")
}

#[test]
fn a_database_that_recovers_is_said_to_once_with_what_to_do() {
    let url = recovering();
    let refusal = CommandResult::of(bare().args(["status", "--database-url", &url])).refusal();
    let recovers = refusal
        .matches("the database system is starting up")
        .count();
    assert_eq!(recovers, 1, "{refusal}");
    assert!(refusal.contains("try again in a few seconds"), "{refusal}");
    assert!(!refusal.contains("2415"), "{refusal}");
}

#[test]
fn a_database_of_another_schema_is_refused_with_advice() {
    let installation = Installation::unmigrated();
    let refusal = installation.run("tenant list").refusal();
    assert!(refusal.contains("run `archway migrate`"), "{refusal}");

    let made = installation.run("migrate").ok();
    assert!(
        made.starts_with("schema ") && made.ends_with(", new\n"),
        "{made}"
    );
    installation.run("tenant list").ok();
    installation.sql(
        "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)",
    );
    let refusal = installation.run("tenant list").refusal();
    assert!(refusal.contains("run `archway migrate`"), "{refusal}");

    let installation = Installation::new();
    installation.sql(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'later', true, '\\x00', 0)",
    );
    let refusal = installation.run("tenant create acme").refusal();
    assert!(
        refusal.contains("schema 9999") && refusal.contains("a newer build"),
        "{refusal}"
    );
    assert_eq!(installation.count("select count(*) from tenants"), 0);

    // After a rollback, `--unless-newer` succeeds and changes nothing.
    let left = installation.run("migrate");
    assert_eq!(
        (left.code, left.out.trim()),
        (0, "schema 9999, unchanged: it is a newer build's")
    );
    assert!(
        left.err.contains("a newer build of archway made"),
        "{}",
        left.err
    );
    let file = installation.file("tenants.yaml", "tenants: [{slug: acme}]");
    let refusal = installation.run(&format!("apply -f {file}")).refusal();
    assert!(refusal.contains("a newer build"), "{refusal}");
    let left = installation.run(&format!("apply -f {file} --unless-newer"));
    assert_eq!((left.code, left.out.as_str()), (0, ""), "{}", left.err);
    assert_eq!(installation.count("select count(*) from tenants"), 0);
    installation.sql("update _sqlx_migrations set checksum = '\\x00' where version = 1");
    let refusal = installation.run("migrate").refusal();
    assert!(refusal.contains("another build"), "{refusal}");
}

#[test]
fn keys_need_the_root_secret_of_the_gateways() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let mut command = installation.archway();
    command
        .env_remove("ARCHWAY_SECRET_FILE")
        .args(["key", "issue", "acme"]);
    let refusal = CommandResult::of(&mut command).refusal();
    assert!(refusal.contains("--secret-file"), "{refusal}");
    let weak = installation.file("weak", "a:c2hvcnQ=");
    let refusal = installation
        .run(&format!("key issue acme --secret-file {weak}"))
        .refusal();
    assert!(refusal.contains("archway secret generate"), "{refusal}");
}

#[test]
fn a_root_secret_that_issued_no_valid_key_is_refused() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    let old = installation.json("key issue acme");
    let id = old["id"].as_str().unwrap();
    let line = CommandResult::of(bare().args(["secret", "generate"])).ok();
    let other = installation.file("other", &line);
    let (issue, rotate) = ("key issue acme".to_owned(), format!("key rotate {id}"));
    for command in [&issue, &rotate] {
        let refusal = installation
            .run(&format!("{command} --secret-file {other}"))
            .refusal();
        assert!(
            refusal.contains("not the gateways'") && refusal.contains("--replace-secret"),
            "{refusal}"
        );
    }
    assert_eq!(installation.count("select count(*) from api_keys"), 1);

    // A line that made one live key is enough, even if a newer line makes the next.
    let secret = std::fs::read_to_string(installation.folder.path().join("secret")).unwrap();
    installation.file("other", &format!("{line}{secret}\n"));
    installation
        .run(&format!("{issue} --secret-file {other}"))
        .ok();
    // Keys that are no longer live don't count.
    installation.sql("update api_keys set revoked_at = now()");
    let line = CommandResult::of(bare().args(["secret", "generate"])).ok();
    installation.file("other", &line);
    installation
        .run(&format!("{issue} --secret-file {other}"))
        .ok();
    assert!(
        installation
            .run(&issue)
            .refusal()
            .contains("none of the 1 live keys")
    );
    installation.run(&format!("{issue} --replace-secret")).ok();
}

#[test]
fn a_data_folder_that_was_typed_wins_over_a_database_of_the_environment() {
    let installation = Installation::new();
    let data = installation.folder.path().join("data");
    let data = data.to_str().unwrap();
    for line in [
        format!("tenant list --data {data}"),
        format!("tenant --data {data} list"),
        format!("key issue acme --data {data}"),
    ] {
        let refusal = installation.run(&line).refusal();
        assert!(refusal.contains("there is no database"), "{refusal}");
        assert!(refusal.contains(data), "{refusal}");
    }
    let mut command = bare();
    command.args([
        "tenant",
        "list",
        "--database-url",
        &installation.url(),
        "--data",
        data,
    ]);
    CommandResult::of(&mut command).ok();
}
