//! The names in a query of Prometheus: metrics with the labels that select them, and the labels of the
//! grouping. This is no parser of the language: an expression that Prometheus would refuse may pass.

use std::collections::{BTreeMap, BTreeSet};

const GROUPINGS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];
const WORDS: [&str; 6] = ["and", "or", "unless", "bool", "offset", "inf"];
const AGGREGATIONS: [&str; 5] = ["sum", "min", "max", "avg", "count"];

/// The names in a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// By metric, the labels that select its series.
    pub(super) metrics: BTreeMap<String, BTreeSet<String>>,
    /// The labels by which results are grouped.
    pub(super) grouped: BTreeSet<String>,
}

impl Query {
    pub(super) fn parse(text: &str) -> Query {
        let tokens = tokens(text);
        let mut query = Query::default();
        let mut rest = tokens.as_slice();
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            let next = rest.first().map(String::as_str);
            if GROUPINGS.contains(&token.as_str()) {
                let (labels, after) = names_until(rest, ")");
                query.grouped.extend(labels);
                rest = after;
            } else if token == "label_values" {
                // `label_values(metric, label)` belongs to Grafana, not to Prometheus.
                let (mut names, after) = names_until(rest, ")");
                let label = names.pop().expect("a label");
                let metric = names.pop().expect("a metric");
                query.metrics.entry(metric).or_default().insert(label);
                rest = after;
            } else if is_name(token) && next != Some("(") && !is_word(token) {
                let labels = query.metrics.entry(token.clone()).or_default();
                if next == Some("{") {
                    let (names, after) = names_until(rest, "}");
                    labels.extend(names);
                    rest = after;
                }
            }
        }
        query
    }

    /// Whether results keep all labels of their metrics.
    pub(super) fn is_ungrouped(&self) -> bool {
        self.grouped.is_empty()
    }
}

/// The names of Archway's metrics in a page.
pub(super) fn names_of_ours(page: &str) -> BTreeSet<String> {
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let ours = ["archway_gateway_", "archway_worker_"];
    words
        .filter(|word| ours.iter().any(|prefix| word.starts_with(prefix)))
        .map(str::to_owned)
        .collect()
}

fn is_word(token: &str) -> bool {
    WORDS.contains(&token) || AGGREGATIONS.contains(&token)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The names up to a closing sign, and the rest.
fn names_until<'a>(tokens: &'a [String], end: &str) -> (Vec<String>, &'a [String]) {
    let place = tokens.iter().position(|token| token == end);
    let place = place.unwrap_or_else(|| panic!("no {end} in {tokens:?}"));
    let names = tokens[..place].iter().filter(|token| is_name(token));
    (names.cloned().collect(), &tokens[place + 1..])
}

/// Names and single signs, without strings, numbers and anything in `[]`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let inside = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        match first {
            '"' | '\'' => while rest.next().expect("an end of the string") != first {},
            '[' => while rest.next().expect("an end of the range") != ']' {},
            '0'..='9' | '$' => {
                while rest.next_if(inside).is_some() || rest.next_if_eq(&'.').is_some() {}
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::from(c);
                while let Some(next) = rest.next_if(inside) {
                    name.push(next);
                }
                tokens.push(name);
            }
            c if c.is_whitespace() => {}
            c => tokens.push(c.to_string()),
        }
    }
    tokens
}

#[test]
fn names_in_a_query_are_distinguished_from_keywords() {
    let query = Query::parse(
        r#"sum by (tool) (rate(a_total{tool=~"$tool", outcome!="b, c}"}[$__rate_interval]))
           / on (tool) group_left () max(b:c5m) > 14.4 and time() - d_seconds > 2e3 or e"#,
    );
    let labels = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let metrics = [
        ("a_total", labels(&["tool", "outcome"])),
        ("b:c5m", labels(&[])),
        ("d_seconds", labels(&[])),
        ("e", labels(&[])),
    ];
    let metrics = metrics.map(|(name, labels)| (name.to_owned(), labels));
    let grouped = labels(&["tool"]);
    let metrics = BTreeMap::from(metrics);
    assert_eq!(query, Query { metrics, grouped });
    let variable = Query::parse("label_values(a_total, pool)");
    let metrics = BTreeMap::from([("a_total".to_owned(), labels(&["pool"]))]);
    assert_eq!(variable.metrics, metrics);
}
