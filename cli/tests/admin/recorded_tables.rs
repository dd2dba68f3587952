//! Each table that a command writes has a trigger that records the change, also where the database's own functions write
//! it.

use std::collections::BTreeSet;

use serde_json::json;

use crate::installation::Installation;
use crate::memory::remembering;

/// Tables that commands write and no trigger records: where pruning cut, which is a record of its own, and what an
/// erasure of memory empties, which `memory_erasures` records.
const UNRECORDED: [&str; 7] = [
    "audit_anchors",
    "administration_cuts",
    "administration_records",
    "memory_entries",
    "discoveries",
    "memory_logs",
    "memory_writes",
];

/// The tables that statements in these texts write, and other words in their places.
fn written(texts: &[String]) -> BTreeSet<String> {
    let mut written = BTreeSet::new();
    for text in texts {
        let words: Vec<&str> = text
            .split(|of: char| !of.is_ascii_lowercase() && of != '_')
            .filter(|word| !word.is_empty())
            .collect();
        for three in words.windows(3) {
            match three {
                ["insert", "into", table] | ["delete", "from", table] => {
                    written.insert((*table).to_owned())
                }
                ["update", table, _] => written.insert((*table).to_owned()),
                _ => false,
            };
        }
    }
    written
}

#[test]
fn every_table_that_commands_write_is_recorded() {
    let installation = Installation::new();
    let recorded = installation.texts(
        "select distinct event_object_table::text from information_schema.triggers \
         where trigger_name = 'administration_recorded'",
    );
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tenants");
    let sources = std::fs::read_dir(sources).unwrap();
    let text = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(file.unwrap().path()).unwrap()
    };
    let mut texts: Vec<String> = sources.map(text).collect();
    // Commands also have functions of the database write, such as those that erase memory.
    let functions = "from pg_proc where pronamespace = 'public'::regnamespace";
    let mut called = installation.texts(&format!("select proname::text {functions}"));
    called.retain(|name| texts.iter().any(|text| text.contains(&format!("{name}("))));
    assert!(called.contains(&"erase_discovery".to_owned()), "{called:?}");
    let called = called.join("', '");
    texts.extend(installation.texts(&format!(
        "select prosrc {functions} and proname in ('{called}')"
    )));
    let mut written = written(&texts);
    let tables =
        installation.texts("select relname::text from pg_class where relkind in ('r', 'p')");
    written.retain(|word| tables.contains(word));
    assert!(written.len() >= 15, "{written:?}");
    written.retain(|table| !recorded.contains(table) && !UNRECORDED.contains(&table.as_str()));
    assert!(written.is_empty(), "no trigger records {written:?}");
}

#[test]
fn an_erasure_of_memory_is_recorded_without_what_it_erased() {
    let installation = remembering();
    let what = "decisions.jsonl/1";
    let erase = format!("memory erase acme site {what} --reason leaked --confirm {what}");
    installation.run(&erase).ok();
    let changes = installation.json("audit changes acme --limit 1");
    let record = &changes["changes"][0]["record"];
    assert_eq!(
        (&record["what"], &record["action"], &record["project"]),
        (&json!("memory_erasures"), &json!("added"), &json!("site"))
    );
    let after = &record["after"];
    assert_eq!(
        (&after["what"], &after["reason"]),
        (&json!(what), &json!("leaked"))
    );
    let exported = installation.run("audit export --administration").ok();
    assert!(!exported.contains("sesame"), "{exported}");
}
