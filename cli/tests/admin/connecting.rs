//! Where commands find their database, and which they refuse.

use crate::place::{Done, Place, bare};

#[test]
fn without_a_database_both_ways_to_one_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let refusal = Done::of(bare().args(["tenant", "list", "--data", data])).refusal();
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
    let refusal = Done::of(bare().args(["tenant", "list", "--database-url", url])).refusal();
    assert!(refusal.contains("connecting to the database"), "{refusal}");
    assert!(!refusal.contains("hush"), "{refusal}");
}

#[test]
fn a_database_of_another_schema_is_refused_with_what_to_do() {
    let place = Place::unmigrated();
    let refusal = place.run("tenant list").refusal();
    assert!(refusal.contains("run `archway migrate`"), "{refusal}");

    place.run("migrate").ok();
    place.run("tenant list").ok();
    place.sql(
        "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)",
    );
    let refusal = place.run("tenant list").refusal();
    assert!(refusal.contains("run `archway migrate`"), "{refusal}");

    let place = Place::new();
    place.sql(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'later', true, '\\x00', 0)",
    );
    let refusal = place.run("tenant create acme").refusal();
    assert!(
        refusal.contains("schema 9999") && refusal.contains("another build"),
        "{refusal}"
    );
    assert_eq!(place.count("select count(*) from tenants"), 0);
}

#[test]
fn keys_need_the_root_secret_of_the_gateways() {
    let place = Place::new();
    place.run("tenant create acme").ok();
    let mut command = place.archway();
    command
        .env_remove("ARCHWAY_SECRET_FILE")
        .args(["key", "issue", "acme"]);
    let refusal = Done::of(&mut command).refusal();
    assert!(refusal.contains("--secret-file"), "{refusal}");
    let weak = place.file("weak", "a:c2hvcnQ=");
    let refusal = place
        .run(&format!("key issue acme --secret-file {weak}"))
        .refusal();
    assert!(refusal.contains("archway secret generate"), "{refusal}");
}
