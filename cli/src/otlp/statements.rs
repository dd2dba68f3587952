//! SQL statements as spans, made from what sqlx logs when a statement ends.
//!
//! So each statement has a span, whichever code sends it, and the stores need no instrumentation.
//! What a reader would get wrong: the log's filter does not matter here, since each subscriber layer has
//! its own, and sqlx logs nothing while no layer listens. sqlx does not report failures; the enclosing span
//! does. Only the first word and the first name of a statement are recorded. Statements are Archway's own
//! text, but this makes that obvious.

use std::time::{Duration, SystemTime};

use archway_proto::trace::{self, Span};
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanBuilder, SpanKind};
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// The target of sqlx's events about statements.
const TARGET: &str = "sqlx::query";
/// The words after which a statement names a table.
const BEFORE_NAMES: [&str; 4] = ["from", "into", "update", "join"];

/// Listens to sqlx while a span is recorded.
pub(crate) fn layer<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let recorded = dynamic_filter_fn(|about, _cx| is_statement(about) && trace::is_recorded())
        .with_callsite_filter(|about| match is_statement(about) {
            true => Interest::sometimes(),
            false => Interest::never(),
        })
        .with_max_level_hint(LevelFilter::DEBUG);
    Statements.with_filter(recorded)
}

fn is_statement(about: &Metadata<'_>) -> bool {
    about.target() == TARGET
}

struct Statements;

impl<S: Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &Event<'_>, _cx: Context<'_, S>) {
        let mut statement = LoggedStatement::default();
        event.record(&mut statement);
        statement.record();
    }
}

/// The fields of sqlx's event.
#[derive(Debug, Default)]
struct LoggedStatement {
    /// Its first words.
    summary: String,
    /// The whole statement, if it is longer.
    statement: String,
    seconds: f64,
    rows: Option<i64>,
}

impl Visit for LoggedStatement {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.clone_into(&mut self.statement),
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.seconds = value;
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "rows_returned" {
            self.rows = i64::try_from(value).ok();
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}

impl LoggedStatement {
    /// Records a span that ends now.
    fn record(self) {
        let took = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        let now = SystemTime::now();
        let text = match self.statement.trim() {
            "" => self.summary.as_str(),
            text => text,
        };
        let Statement { operation, name } = Statement::of(text);
        let summary = match &name {
            Some(name) => format!("{operation} {name}"),
            None => operation.clone(),
        };
        let span = Span::child(|| {
            let mut attributes = vec![
                KeyValue::new("db.system.name", "postgresql"),
                KeyValue::new("db.operation.name", operation),
                KeyValue::new("db.query.summary", summary.clone()),
            ];
            let rows = self.rows;
            attributes.extend(rows.map(|it| KeyValue::new("db.response.returned_rows", it)));
            SpanBuilder::from_name(summary)
                .with_kind(SpanKind::Client)
                .with_start_time(now.checked_sub(took).unwrap_or(now))
                .with_attributes(attributes)
        });
        span.end_at(now);
    }
}

/// What a statement does, and to what.
struct Statement {
    operation: String,
    name: Option<String>,
}

impl Statement {
    fn of(text: &str) -> Statement {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let operation = first.to_ascii_uppercase();
        // A statement without a table calls a function.
        let called = || identifier(words.next()?);
        Statement {
            name: named(text).or_else(called),
            operation,
        }
    }
}

/// The first name of a table or its substitute, outside of parentheses if possible.
fn named(text: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut before = "";
    let mut found: Option<(usize, String)> = None;
    for word in text.split_whitespace() {
        let is_behind = BEFORE_NAMES
            .iter()
            .any(|it| before.eq_ignore_ascii_case(it));
        let name = identifier(word).filter(|_| is_behind);
        let is_outer = found.as_ref().is_none_or(|(inner, _)| depth < *inner);
        if let Some(name) = name.filter(|_| is_outer) {
            found = Some((depth, name));
        }
        let count = |c| word.matches(c).count();
        depth = (depth + count('(')).saturating_sub(count(')'));
        before = word;
    }
    found.map(|(_, name)| name)
}

/// The name at the beginning of a word.
fn identifier(word: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = word.chars().take_while(|c| is_part(*c)).collect();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_its_first_word_and_target() {
        for (text, operation, name) in [
            (
                "select id, body from memories where a = $1",
                "SELECT",
                Some("memories"),
            ),
            (
                "insert into file_reads (a, b) values ($1, $2)",
                "INSERT",
                Some("file_reads"),
            ),
            ("update\n  indexes set a = $1", "UPDATE", Some("indexes")),
            ("delete from sessions", "DELETE", Some("sessions")),
            (
                "select set_config('archway.tenant_id', $1, true)",
                "SELECT",
                Some("set_config"),
            ),
            (
                "select * from find_api_key($1)",
                "SELECT",
                Some("find_api_key"),
            ),
            (
                "select a from (select b from pieces) x",
                "SELECT",
                Some("pieces"),
            ),
            (
                "select extract(epoch from indexed_at) as at from indexes",
                "SELECT",
                Some("indexes"),
            ),
            (
                "with n as (select 1) insert into notes values ($1)",
                "WITH",
                Some("notes"),
            ),
            ("select 1", "SELECT", None),
            ("listen changes", "LISTEN", Some("changes")),
            ("", "", None),
        ] {
            let found = Statement::of(text);
            assert_eq!(found.operation, operation, "{text}");
            assert_eq!(found.name.as_deref(), name, "{text}");
        }
    }
}
