//! Commands whose answer nobody reads to its end, as in `archway tenant list | head`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::dev::Home;
use crate::place::{Place, bare};

/// What a shell reports for a program that a closed pipe ended.
const CLOSED: Option<i32> = Some(141);

/// Asserts that the command ends silently, with the usual status, where nobody reads what it prints.
fn ends_silently(command: &mut Command) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(
        (done.status.code(), said.as_str()),
        (CLOSED, ""),
        "{command:?}"
    );
}

fn words(command: &mut Command, line: &str) {
    ends_silently(command.args(line.split_whitespace()));
}

#[test]
fn a_command_without_a_reader_ends_silently() {
    let place = Place::new();
    place.run("tenant create acme").ok();
    place.run("project add acme site").ok();
    let key = place.run("key issue acme").ok();
    let key = key
        .lines()
        .find_map(|line| line.split_whitespace().find(|it| it.starts_with("awy_")));
    let key = place.file("key", key.unwrap());
    let tenants = place.file("tenants.yaml", "tenants: [{slug: acme}]");
    place.sql(
        "create table audit_records_2020_01 partition of audit_records \
             for values from ('2020-01-01Z') to ('2020-02-01Z'); \
         insert into audit_records (tenant_id, chain, number, at, record, mac) \
             select id, gen_random_uuid(), 1, '2020-01-15Z', '{}', sha256('x') from tenants",
    );
    let folder = place.folder.path().display().to_string();
    let lines = [
        "--help".to_owned(),
        "dev --help".to_owned(),
        "--version".to_owned(),
        "apply --schema".to_owned(),
        format!("apply --dry-run -f {tenants}"),
        "migrate".to_owned(),
        "secret generate".to_owned(),
        "pass-key generate".to_owned(),
        format!("init {folder}/made"),
        format!("settings --url http://localhost/mcp --key-file {key}"),
        "tenant list".to_owned(),
        "tenant list --json".to_owned(),
        "project list acme".to_owned(),
        "key list acme".to_owned(),
        "principal list".to_owned(),
        "limits show acme".to_owned(),
        "index status".to_owned(),
        "status".to_owned(),
        "audit export --tenant acme".to_owned(),
    ];
    for line in lines {
        words(&mut place.archway(), &line);
    }
}

#[test]
fn a_command_whose_reader_leaves_early_ends_silently() {
    let place = Place::new();
    // More than any pipe holds.
    place.sql(
        "insert into tenants (slug, name) \
               select 'tenant-' || n, n from generate_series(1, 20000) n",
    );
    let mut list = place.archway();
    list.args(["tenant", "list", "--json"]);
    list.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut list = list.spawn().unwrap();
    let mut reader = BufReader::new(list.stdout.take().unwrap());
    assert!(!reader.fill_buf().unwrap().is_empty());
    drop(reader);
    let mut said = String::new();
    list.stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!((list.wait().unwrap().code(), said.as_str()), (CLOSED, ""));
}

#[test]
fn dev_and_commands_beside_it_end_silently_without_a_reader() {
    let home = Home::new();
    let dev = home.start("site");
    let (url, admin) = (dev.ready["url"].as_str(), dev.ready["admin_url"].as_str());
    let mut call = bare();
    call.env("ARCHWAY_API_KEY", dev.key());
    words(&mut call, &format!("call hello --url {}", url.unwrap()));
    words(
        &mut bare(),
        &format!("healthcheck --admin-url {}", admin.unwrap()),
    );
    dev.stop();

    let mut unread = bare();
    unread
        .args(["dev", "--port", "0", "--repo"])
        .arg(home.path("site"));
    ends_silently(unread.arg("--data").arg(home.path("data")));
    assert!(!home.path("data/postgres/postmaster.pid").exists());
}

#[test]
fn a_full_disk_is_still_reported() {
    let mut full = bare();
    full.arg("secret").arg("generate");
    let full = full.stdout(std::fs::File::create("/dev/full").unwrap());
    let done = full.stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains("writing to standard output"), "{said}");
}
