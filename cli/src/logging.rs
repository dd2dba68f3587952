//! The log: on standard error, because standard output holds a command's answer.
//!
//! A line may repeat what others wrote. Misleading characters are escaped here, for all callers: in text
//! as `\u{202e}`, with one event per line; in JSON as JSON's own escapes.

use std::io::{self, IsTerminal, Write};

use archway_proto::misleading::{on_one_line, visible_json};
use tracing::Dispatch;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

use crate::otlp;

/// Libraries whose own events are not logged, at any level. OpenTelemetry's repeat what a collector answered, which may
/// echo a key; the others repeat the patterns of calls.
const REPEATING: [&str; 3] = ["opentelemetry", "grep_regex", "globset"];

/// What is logged, and in which format.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// The log filter: error, warn, info, debug, trace, or a list such as
    /// `warn,archway_gateway=debug` [default: `warn,rmcp=error`; for gateway and worker
    /// `info,rmcp=error`; for dev `warn,archway::dev=info,archway_sync=info,rmcp=error`].
    #[arg(
        long, env = "ARCHWAY_LOG", value_name = "FILTER", value_parser = filter, global = true
    )]
    pub log: Option<String>,
    /// The format of log lines.
    #[arg(
        long,
        env = "ARCHWAY_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        global = true
    )]
    pub log_format: LogFormat,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people; coloured on a terminal.
    Text,
    /// One object per line, for programs.
    Json,
}

/// Starts logging with the filter of `args`, else `default`, and with `traces` also the recording of
/// statements. Does nothing if the process logs already.
pub fn start(args: &LogArgs, default: &str, traces: bool) {
    let filter = EnvFilter::new(args.log.as_deref().unwrap_or(default));
    let coloured = io::stderr().is_terminal();
    let lines = lines(io::stderr, args.log_format, coloured, filter);
    // Only a second start fails, and the first one stays in effect.
    dispatch(lines, traces).try_init().ok();
}

/// Passes events to the log and, with `traces`, to their recorders. An absent recorder is no layer:
/// a `None` layer has no filter, so libraries would create all their spans for it.
fn dispatch(lines: Box<dyn Layer<Registry> + Send + Sync>, traces: bool) -> Dispatch {
    let subscriber = tracing_subscriber::registry().with(lines);
    match traces {
        true => subscriber
            .with(otlp::statements())
            .with(otlp::rejections())
            .into(),
        false => subscriber.into(),
    }
}

/// The log layer. It has its own filter, so that the log's filter does not affect traces.
fn lines<W: Write + 'static>(
    out: impl Fn() -> W + Send + Sync + 'static,
    format: LogFormat,
    coloured: bool,
    filter: EnvFilter,
) -> Box<dyn Layer<Registry> + Send + Sync> {
    let others = filter_fn(|about| !REPEATING.iter().any(|it| about.target().starts_with(it)));
    // Without a hint from both, the log's level would not keep out the spans of libraries.
    let filter = filter.and(others.with_max_level_hint(LevelFilter::TRACE));
    // A write error would be reported on standard error too, and that panics after its reader is gone.
    let lines = tracing_subscriber::fmt::layer().log_internal_errors(false);
    match format {
        LogFormat::Text => {
            let lines = lines.fmt_fields(format::debug_fn(field).delimited(" "));
            let lines = lines.with_writer(out).with_ansi(coloured);
            lines.with_filter(filter).boxed()
        }
        LogFormat::Json => {
            let lines = lines.json().with_writer(move || EscapingWriter(out()));
            lines.with_filter(filter).boxed()
        }
    }
}

/// Formats a field of an event or span as text, escaped. All text from others passes here.
fn field(out: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    let value = format!("{value:?}");
    let value = on_one_line(&value);
    match field.name() {
        "message" => out.write_str(&value),
        name => write!(out, "{}={value}", name.trim_start_matches("r#")),
    }
}

/// Escapes misleading characters in JSON. Each event is a single write.
struct EscapingWriter<W>(W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        self.0.write_all(visible_json(&text).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn filter(text: &str) -> Result<String, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(text).map(|_valid| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use archway_proto::misleading::misleads;
    use parking_lot::Mutex;

    use super::*;

    /// One character of each kind: reverses text, is invisible, hides bytes, moves a cursor, ends a line.
    const NAME: &str = "p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2Jt\u{9b}1Au\nv";

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The log of events that contain the name in every possible way.
    fn logged(format: LogFormat, coloured: bool) -> String {
        let captured = CapturedLog::default();
        let out = captured.clone();
        let layer = lines(
            move || out.clone(),
            format,
            coloured,
            EnvFilter::new("trace"),
        );
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _span = tracing::info_span!("call", project = %NAME).entered();
            tracing::warn!(project = %NAME, error = ?io::Error::other(NAME), "{NAME}");
            let error = io::Error::other(NAME);
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, raw = NAME, "second");
        });
        let bytes = captured.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn text_lines_are_escaped_and_an_event_is_one_line() {
        let text = logged(LogFormat::Text, false);
        assert!(!misleads(&text), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
        let shown = r"p\u{202e}q\u{200b}r\u{e0041}s\u{1b}[2Jt\u{9b}1Au\nv";
        // The span, the field, the message; Rust's own Debug escapes are as good.
        assert!(text.matches(shown).count() >= 6, "{text}");
    }

    #[test]
    fn spans_below_the_logs_level_are_never_created() {
        let everything = tracing_subscriber::registry();
        let [library, own] = tracing::subscriber::with_default(everything, || {
            let library = tracing::debug_span!(target: "h2", "poll");
            let own = tracing::info_span!("call");
            [library, own].map(|span| span.metadata().expect("a span"))
        });
        for traces in [false, true] {
            let filter = EnvFilter::new("info,rmcp=error");
            let lines = lines(io::sink, LogFormat::Text, false, filter);
            let dispatch = dispatch(lines, traces);
            assert!(dispatch.register_callsite(library).is_never(), "{traces}");
            assert!(!dispatch.register_callsite(own).is_never(), "{traces}");
        }
    }

    #[test]
    fn colours_are_the_only_escape_sequences_on_a_terminal() {
        let text = logged(LogFormat::Text, true);
        assert!(text.contains("\u{1b}[33m WARN"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
        let parts = text.split('\u{1b}').skip(1);
        for part in parts {
            let digits = part
                .trim_start_matches('[')
                .trim_start_matches(char::is_numeric);
            assert!(digits.starts_with('m'), "{part:?}");
        }
        let rest = text.replace('\u{1b}', "");
        assert!(!misleads(&rest), "{rest}");
    }

    #[test]
    fn json_is_escaped_and_keeps_its_values() {
        let text = logged(LogFormat::Json, false);
        assert!(!misleads(&text), "{text}");
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["fields"]["message"], NAME);
        assert_eq!(first["fields"]["project"], NAME);
        assert_eq!(first["span"]["project"], NAME);
    }
}
