//! What processes of `archway sync` report on their admin ports.

use serde_json::Value;

use super::gateway::GatewayRow;
use crate::admin::print::{harmless, table};

/// A table for people, if a process was named.
pub(super) fn table_of(processes: &[GatewayRow]) -> Option<String> {
    let rows: Vec<_> = processes.iter().map(cells).collect();
    let header = ["sync", "state", "version", "runs", "says"];
    (!rows.is_empty()).then(|| table(header, rows, ""))
}

fn cells(process: &GatewayRow) -> [String; 5] {
    let state = match process.ready {
        true => "ready",
        false => "not ready",
    };
    let said = |name: &str| match process.status.as_ref().and_then(|status| status.get(name)) {
        Some(Value::String(text)) => harmless(text),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    };
    [
        process.url.clone(),
        state.to_owned(),
        said("version"),
        said("running"),
        process.reason.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_process_is_shown_with_its_version_whether_or_not_it_is_ready() {
        let row = |ready: bool, reason: &str, status: Option<Value>| GatewayRow {
            url: "http://sync:9092/readyz".to_owned(),
            name: None,
            reached: status.is_some(),
            ready,
            reason: reason.to_owned(),
            status,
        };
        let shown = table_of(&[
            row(
                true,
                "ready",
                Some(json!({"version": "0.1.0", "running": 2})),
            ),
            row(false, "connection refused", None),
        ]);
        let shown = shown.unwrap();
        let lines: Vec<Vec<&str>> = (shown.lines().skip(1))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0],
            ["http://sync:9092/readyz", "ready", "0.1.0", "2", "ready"]
        );
        assert_eq!(lines[1][1..5], ["not", "ready", "-", "-"]);
        assert!(table_of(&[]).is_none());
    }
}
