//! How long `archway dev` takes until it is ready, and how much memory a large tree needs.
//!
//! Targets: a second start in at most 3 s; under 150 MiB with 20,000 files after list, overview and search.
//! Run: `cargo build --release && cargo bench -p archway-benches --bench start`.

use tokio::time::Instant;

use archway_benches::{Client, Dev, median};
use serde_json::json;

const FILES: usize = 20_000;
const STARTS: usize = 5;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let (repo, data) = (folder.path().join("repo"), folder.path().join("data"));
    archway_benches::generate(&repo, FILES);

    let started = Instant::now();
    let dev = Dev::start(&repo, &data);
    println!(
        "first start, which makes the database: {:.2} s",
        started.elapsed().as_secs_f64()
    );
    dev.stop();
    let mut again = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        let dev = Dev::start(&repo, &data);
        again.push(started.elapsed().as_secs_f64());
        dev.stop();
    }
    println!(
        "second start: {:.2} s, median of {STARTS} (target ≤ 3)",
        median(&mut again)
    );

    let dev = Dev::start(&repo, &data);
    for (tool, arguments) in [
        ("list_files", json!({ "max_depth": 10 })),
        ("get_repo_overview", json!({})),
        ("grep_codebase", json!({ "pattern": "tenant" })),
        (
            "search_files",
            json!({ "pattern": "needle", "max_results": 1000 }),
        ),
    ] {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let mut client = Client::connect(&dev.url, &dev.key, &call.to_string()).await;
        println!("{tool:18} {:7.1} ms", median(&mut client.time(5).await));
    }
    println!(
        "peak memory, {FILES} files: {:.0} MiB (target < 150)",
        dev.usage().peak_mib
    );
    dev.stop();
}
