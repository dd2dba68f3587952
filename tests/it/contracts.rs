//! Each tool against its contract: the contracts' own test cases and tables, and our decisions where two
//! contracts differ. A test's name states what a client of that contract relies on.

mod arguments;
mod basics;
mod empty;
mod files;
mod folders;
mod imports;
mod marks;
mod git_diff;
mod git_diff_sides;
mod git_diff_index;
mod git;
mod git_arguments;
mod git_help;
mod memory;
mod near_paths;
mod overview;
mod read;
mod revisions;
mod schemas;
mod search;
mod symbols;
mod symbol_totals;
mod outline;
mod references;
mod skipped;
mod submodules;
mod search_pages;
mod sizes;

use e2e::Reply;
use serde_json::Value;

/// The text block of a reply, which must equal its structured content.
fn both(reply: &Reply) -> &Value {
    let text: Value = serde_json::from_str(reply.text()).expect("the text block is JSON");
    assert_eq!(&text, reply.structured(), "text and data differ");
    reply.structured()
}

/// One field of every object in a list.
fn column<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let rows = list.as_array().expect("a list");
    rows.iter()
        .map(|row| row[field].as_str().expect("a string"))
        .collect()
}
