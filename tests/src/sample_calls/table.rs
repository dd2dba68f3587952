//! The sample calls of each tool.

use serde_json::json;

use super::{PathArgument, SampleCalls};

/// Every tool's entry, by family.
pub fn table() -> Vec<SampleCalls> {
    [
        basics(),
        files(),
        search(),
        symbols(),
        git(),
        memory(),
        architecture(),
    ]
    .concat()
}

fn basics() -> Vec<SampleCalls> {
    vec![
        SampleCalls::of("hello").call(json!({})),
        SampleCalls::of("list_projects").call(json!({})),
    ]
}

fn files() -> Vec<SampleCalls> {
    let (lines, encoded) = (
        json!({ "path": "treasure.txt", "start_line": 2, "end_line": 3 }),
        json!({ "path": "docs/latin.txt", "encoding": "base64" }),
    );
    vec![
        SampleCalls::of("list_files")
            .names_commit()
            .path(PathArgument::Opened("directory"))
            .call(json!({}))
            .call(json!({ "pattern": "nothing" })),
        SampleCalls::of("read_file")
            .names_commit()
            .path(PathArgument::Opened("path"))
            .call(json!({ "path": "docs/treasure.md" }))
            .call(json!({ "path": "docs/treasure.md", "max_bytes": 10 }))
            .call(lines)
            .call(json!({ "path": "docs/latin.txt" }))
            .call(encoded)
            .call(json!({ "path": "src/broken.js", "include_deps": true }))
            .call(json!({ "path": "treasure.txt", "ref": "HEAD~1", "include_deps": true })),
        SampleCalls::of("read_repo_file")
            .names_commit()
            .path(PathArgument::Opened("path"))
            .call(json!({ "path": "docs/treasure.md" })),
        SampleCalls::of("get_repo_overview")
            .names_commit()
            .call(json!({}))
            .call(json!({ "max_depth": 1, "include_stats": false })),
    ]
}

fn search() -> Vec<SampleCalls> {
    vec![
        SampleCalls::of("search_files")
            .names_commit()
            .call(json!({ "pattern": "lantern", "max_results": 1000 }))
            .call(json!({ "pattern": "tern", "project": "*" }))
            .call(json!({ "pattern": "nothing" })),
        SampleCalls::of("grep_codebase")
            .names_commit()
            .call(json!({ "pattern": "lantern" }))
            .call(json!({ "pattern": "tern" }))
            .call(json!({ "pattern": "nothing", "project": "*" })),
        SampleCalls::of("context_search")
            .names_commit()
            .call(json!({ "query": "lantern" }))
            .call(json!({ "query": "nothing like it", "type": "issue" })),
    ]
}

fn symbols() -> Vec<SampleCalls> {
    vec![
        SampleCalls::of("find_symbol")
            .names_commit()
            .call(json!({ "name": "lantern" }))
            .call(json!({ "name": "*", "project": "*" })),
        SampleCalls::of("find_references")
            .names_commit()
            .call(json!({ "symbol": "lantern" }))
            .call(json!({ "symbol": "imported", "confidence": "certain" })),
        SampleCalls::of("outline")
            .names_commit()
            .path(PathArgument::Opened("path"))
            .call(json!({ "path": "src/imported.js" }))
            .call(json!({ "path": "." })),
    ]
}

fn git() -> Vec<SampleCalls> {
    let narrow = json!({ "file_path": "treasure.txt", "since": "HEAD~1", "author": "Ada" });
    vec![
        SampleCalls::of("git_log")
            .names_commit()
            .path(PathArgument::InHistory("file_path"))
            .call(json!({}))
            .call(json!({ "author": "nobody" }))
            .call(narrow),
        SampleCalls::of("git_blame")
            .names_commit()
            .path(PathArgument::InHistory("file_path"))
            .call(json!({ "file_path": "treasure.txt" }))
            .call(json!({ "file_path": "treasure.txt", "ref": "HEAD~1" })),
        SampleCalls::of("git_diff")
            .names_commit()
            .path(PathArgument::InHistory("file_path"))
            .call(json!({}))
            .call(json!({ "ref1": "HEAD~1" }))
            .call(json!({ "ref1": "HEAD~1", "ref2": "HEAD" })),
    ]
}

fn memory() -> Vec<SampleCalls> {
    let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "decision": "x" });
    vec![
        SampleCalls::of("write_memory_entry")
            .writes()
            .call(json!({ "file": "decisions.jsonl", "entry": entry })),
        SampleCalls::of("record_discovery")
            .writes()
            .call(json!({ "type": "pattern", "content": "x" })),
        SampleCalls::of("search_memory")
            .call(json!({}))
            .call(json!({ "query": "nothing" })),
    ]
}

fn architecture() -> Vec<SampleCalls> {
    let check = |code: &str, language: &str| json!({ "code": code, "pattern_name": "lantern", "language": language });
    vec![
        SampleCalls::of("search_architecture")
            .names_commit()
            .call(json!({ "query": "lantern" }))
            .call(json!({ "resource_type": "adr" }))
            .call(json!({ "query": "lantern", "resource_type": "patterns" })),
        SampleCalls::of("check_adr_alignment")
            .names_commit()
            .call(json!({ "decision_description": "lantern", "decision_context": "somewhere" })),
        SampleCalls::of("validate_pattern")
            .names_commit()
            .call(check("eval(x);", "js"))
            .call(check("x", "cobol")),
    ]
}
