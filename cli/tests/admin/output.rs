//! Commands whose output is not read to its end, as in `archway tenant list | head`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::dev::Home;
use crate::installation::{Installation, bare};

/// The status that a shell reports for a program ended by a closed pipe.
const CLOSED: Option<i32> = Some(141);

/// Asserts that the command ends silently, with the usual status, if its output is closed.
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
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.run("project add acme site").ok();
    let key = installation.run("key issue acme").ok();
    let key = key
        .lines()
        .find_map(|line| line.split_whitespace().find(|it| it.starts_with("awy_")));
    let key = installation.file("key", key.unwrap());
    let tenants = installation.file("tenants.yaml", "tenants: [{slug: acme}]");
    installation.sql(
        "create table audit_records_2020_01 partition of audit_records \
             for values from ('2020-01-01Z') to ('2020-02-01Z'); \
         insert into audit_records (tenant_id, chain, number, at, record, mac) \
             select id, gen_random_uuid(), 1, '2020-01-15Z', '{}', sha256('x') from tenants",
    );
    let folder = installation.folder.path().display().to_string();
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
        "usage".to_owned(),
        "usage --csv".to_owned(),
    ];
    for line in lines {
        words(&mut installation.archway(), &line);
    }
}

#[test]
fn a_command_whose_reader_leaves_early_ends_silently() {
    let installation = Installation::new();
    // More than a pipe buffers.
    installation.sql(
        "insert into tenants (slug, name) \
               select 'tenant-' || n, n from generate_series(1, 20000) n",
    );
    let mut list = installation.archway();
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
