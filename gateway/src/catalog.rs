//! The catalogue: which tools there are, who may call them, and what arguments they take.
//!
//! It comes from the workers, once at the start and every half minute after, and is kept while
//! they are away: `tools/list` does not flap. While none was reached since the start it is what
//! Postgres has of them ([`CatalogCache`]). A new catalogue replaces the old one as a whole or not at all;
//! validators are compiled when it arrives, not when a call does.

use std::{collections::HashMap, sync::Arc, time::Duration};

use archway_proto::{
    catalog::{ToolEntry, ToolList},
    failure::Failure,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    absence_log::AbsenceLog, caller::Principal, error::GatewayError, terms, upstream::Upstream,
};
use arguments::ArgumentRules;
use error::CatalogError;

pub(crate) use cache::CatalogCache;

mod arguments;
mod error;
mod violation;
mod nearest;
mod cache;

const REFRESH: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// Bytes of a tool's name.
const LONGEST_NAME: usize = 64;
/// Units of the totals that a call may cost.
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=1_000;

/// One tool that callers may find.
pub(crate) struct Tool {
    /// As the worker described it.
    pub(crate) entry: ToolEntry,
    /// The tool's name, for labels that outlive the catalogue.
    pub(crate) label: Arc<str>,
    /// The input schema as it is shown.
    pub(crate) input_schema: Arc<Map<String, Value>>,
    /// The output schema as it is shown; empty where none is.
    pub(crate) output_schema: Arc<Map<String, Value>>,
    rules: ArgumentRules,
}

impl Tool {
    /// The arguments in the advertised spelling, checked; a failure that lists every violation.
    pub(crate) fn check(&self, given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        self.rules.check(given)
    }

    /// Whether the tool has an argument of this name.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        self.rules.takes(argument)
    }
}

/// A whole catalogue, as one worker gave it, now or before.
pub(crate) struct Snapshot {
    source: Bytes,
    /// Whether a worker of the default pool gave it: that pool's row is kept for the next start.
    from_default_pool: bool,
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<Arc<str>, usize>,
}

impl Snapshot {
    fn parse(source: Bytes) -> Result<Self, CatalogError> {
        let list: ToolList = serde_json::from_slice(&source)?;
        let mut snapshot = Snapshot {
            source,
            from_default_pool: false,
            tools: Vec::with_capacity(list.tools.len()),
            by_name: HashMap::new(),
        };
        for entry in list.tools {
            judge(&entry)?;
            let label: Arc<str> = Arc::from(entry.name.as_str());
            let rules = ArgumentRules::compile(&entry.input_schema).map_err(|source| {
                CatalogError::Schema {
                    tool: entry.name.clone(),
                    source,
                }
            })?;
            if snapshot
                .by_name
                .insert(label.clone(), snapshot.tools.len())
                .is_some()
            {
                return Err(CatalogError::Duplicate(entry.name));
            }
            snapshot.tools.push(Arc::new(Tool {
                input_schema: Arc::new(entry.input_schema.clone()),
                output_schema: Arc::new(entry.output_schema.clone()),
                label,
                rules,
                entry,
            }));
        }
        Ok(snapshot)
    }

    /// The tool of this name, if the caller may call it: for who asks no reason.
    pub(crate) fn callable(&self, who: &Principal, name: &str) -> Option<&Arc<Tool>> {
        let tool = self.tools.get(*self.by_name.get(name)?)?;
        (who.covers_family(&tool.entry.family) && who.holds(tool.entry.scope)).then_some(tool)
    }

    /// The tool of this name, if the caller may call it. A tool outside the caller's families is
    /// as unknown as one that does not exist.
    pub(crate) fn find(&self, who: &Principal, name: &str) -> Result<Arc<Tool>, GatewayError> {
        let tool = self
            .by_name
            .get(name)
            .and_then(|index| self.tools.get(*index));
        let tool = tool.filter(|tool| who.covers_family(&tool.entry.family));
        let tool = tool.ok_or_else(|| self.unknown(who, name))?;
        if !who.holds(tool.entry.scope) {
            return Err(who.lacks(tool.entry.scope));
        }
        Ok(tool.clone())
    }

    /// Suggests only what the caller may call: nobody learns a name by guessing near it.
    fn unknown(&self, who: &Principal, name: &str) -> GatewayError {
        let known = self.visible(who).map(|tool| tool.entry.name.as_str());
        GatewayError::UnknownTool {
            name: name.to_owned(),
            nearest: archway_proto::nearest::to(name, known).map(str::to_owned),
        }
    }

    /// All tools, in the workers' order: for the operator.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// The tools the caller may call, in the workers' order.
    pub(crate) fn visible<'a>(&'a self, who: &'a Principal) -> impl Iterator<Item = &'a Arc<Tool>> {
        self.tools
            .iter()
            .filter(|tool| who.covers_family(&tool.entry.family) && who.holds(tool.entry.scope))
    }
}

/// Whether a tool can be told from everything else and paid for. Its name stands in headers and
/// metrics, and beside [`terms::TOTAL`] and [`terms::PROMPTS`] among the limits.
fn judge(entry: &ToolEntry) -> Result<(), CatalogError> {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase();
    let fits = |byte: u8| is_letter(&byte) || byte.is_ascii_digit() || byte == b'_';
    let (name, tool) = (&entry.name, || entry.name.clone());
    let is_name = name.as_bytes().first().is_some_and(is_letter) && name.bytes().all(fits);
    let is_taken = [terms::TOTAL, terms::MEMORY].contains(&name.as_str());
    if !is_name || name.len() > LONGEST_NAME || is_taken {
        return Err(CatalogError::HostName(tool()));
    }
    let weight = entry.weight;
    if !WEIGHTS.contains(&weight) {
        return Err(CatalogError::Weight {
            tool: tool(),
            weight,
        });
    }
    match entry.per_minute {
        Some(per_minute) if per_minute > terms::MOST => Err(CatalogError::PerMinute {
            tool: tool(),
            per_minute,
        }),
        _ => Ok(()),
    }
}

/// The catalogue in force, if any worker was ever seen.
pub(crate) struct Catalog {
    current: watch::Sender<Option<Arc<Snapshot>>>,
    /// Whether a worker gave one since the start.
    fetched: watch::Sender<bool>,
}

impl Catalog {
    pub(crate) fn new() -> Self {
        Catalog {
            current: watch::Sender::new(None),
            fetched: watch::Sender::new(false),
        }
    }

    /// The catalogue in force; `None` if no worker was ever seen, by this gateway or by another
    /// that kept what it gave.
    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.current.borrow().clone()
    }

    /// Waits until a worker gave its catalogue.
    pub(crate) async fn fetched(&self) {
        // An error would mean that the sender is gone, and `self` holds it.
        let mut fetched = self.fetched.subscribe();
        let _fetched = fetched.wait_for(|fetched| *fetched).await;
    }

    /// Waits until a catalogue of the default pool other than this one is in force; its bytes.
    async fn other_than(&self, known: Option<&Bytes>) -> Bytes {
        let mut current = self.current.subscribe();
        loop {
            let now = current.borrow_and_update().clone();
            let now = now.filter(|now| now.from_default_pool);
            let source = now.map(|now| now.source.clone());
            if let Some(other) = source.filter(|source| Some(source) != known) {
                return other;
            }
            // No error, as above.
            let _changed = current.changed().await;
        }
    }

    /// Puts a catalogue in force while there is none; whether it did.
    fn take_if_none(&self, snapshot: Snapshot) -> bool {
        self.current.send_if_modified(|current| {
            let is_none = current.is_none();
            current.get_or_insert_with(|| Arc::new(snapshot));
            is_none
        })
    }

    /// Fetches the catalogue until `shutdown`: soon while there is none or a worker was lost,
    /// else every half minute.
    pub(crate) async fn keep(&self, upstream: &Upstream, shutdown: &CancellationToken) {
        let mut wait = FIRST_RETRY;
        let mut absence = AbsenceLog::new();
        loop {
            let refreshed = tokio::select! {
                () = shutdown.cancelled() => return,
                refreshed = self.refresh(upstream) => refreshed,
            };
            let pause = match refreshed {
                Ok(()) => {
                    absence.present();
                    wait = FIRST_RETRY;
                    REFRESH
                }
                Err(error) => {
                    error.tell(absence.missing());
                    wait = (wait * 2).min(LONGEST_RETRY);
                    wait
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                // A pause here too: calls that fail in a row must not ask in a row.
                () = upstream.lost(), if pause == REFRESH => tokio::time::sleep(FIRST_RETRY).await,
            }
        }
    }

    async fn refresh(&self, upstream: &Upstream) -> Result<(), CatalogError> {
        let given = upstream.catalog().await?;
        let is_known = |current: &Arc<Snapshot>| {
            current.source == given.tools && current.from_default_pool >= given.from_default_pool
        };
        if !self.snapshot().as_ref().is_some_and(is_known) {
            let mut snapshot = Snapshot::parse(given.tools)?;
            snapshot.from_default_pool = given.from_default_pool;
            tracing::info!(tools = snapshot.tools.len(), "catalogue taken");
            self.current.send_replace(Some(Arc::new(snapshot)));
        }
        self.fetched.send_replace(true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;
    use serde_json::json;

    use super::*;

    fn entry(name: &str, family: &str, scope: Scope) -> Value {
        json!({
            "name": name, "title": name, "description": name, "readOnly": true,
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "outputSchema": { "type": "object" }, "idempotent": true,
            "family": family, "scope": scope,
        })
    }

    impl Snapshot {
        /// A catalogue of `hello`, and of `plain`, which has no output schema.
        pub(crate) fn for_tests() -> Self {
            let hello = entry("hello", "basics", Scope::ToolsRead);
            let mut plain = entry("plain", "basics", Scope::ToolsRead);
            plain.as_object_mut().unwrap().remove("outputSchema");
            snapshot(&[hello, plain]).unwrap()
        }
    }

    impl Catalog {
        /// A catalogue that came from no worker.
        pub(crate) fn for_tests(entries: &[Value]) -> Self {
            let catalog = Catalog::new();
            catalog
                .current
                .send_replace(Some(Arc::new(snapshot(entries).unwrap())));
            catalog
        }
    }

    fn snapshot(entries: &[Value]) -> Result<Snapshot, CatalogError> {
        Snapshot::parse(Bytes::from(json!({ "tools": entries }).to_string()))
    }

    #[test]
    fn a_caller_sees_and_calls_what_its_scopes_and_families_cover() {
        let catalog = snapshot(&[
            entry("hello", "basics", Scope::ToolsRead),
            entry("grep", "search", Scope::ToolsRead),
            entry("write", "memory", Scope::MemoryWrite),
        ])
        .unwrap();
        let who = Principal::for_tests(&[Scope::ToolsRead], Some(&["basics", "memory"]));
        let seen: Vec<_> = catalog
            .visible(&who)
            .map(|tool| tool.entry.name.as_str())
            .collect();
        assert_eq!(seen, ["hello"]);
        assert!(catalog.find(&who, "hello").is_ok());
        let refused = |name| catalog.find(&who, name).err().unwrap();
        for name in ["grep", "nothing"] {
            assert!(matches!(refused(name), GatewayError::UnknownTool { .. }));
        }
        let GatewayError::ScopeMissing(missing) = refused("write") else {
            panic!("{}", refused("write"));
        };
        assert_eq!(missing.lacked, Scope::MemoryWrite);
        assert_eq!(missing.needed, [Scope::ToolsRead, Scope::MemoryWrite]);
    }

    #[test]
    fn an_unknown_tool_suggests_the_nearest_that_the_caller_may_call_and_no_other() {
        let catalog = snapshot(&[
            entry("read_file", "files", Scope::ToolsRead),
            entry("read_memory", "memory", Scope::ToolsRead),
            entry("write_memory", "files", Scope::MemoryWrite),
        ])
        .unwrap();
        let who = Principal::for_tests(&[Scope::ToolsRead], Some(&["files"]));
        let told = |name: &str| catalog.find(&who, name).err().unwrap().to_string();
        assert!(told("readFile").ends_with("did you mean read_file?"));
        // Nearer than `read_file`, and not for this caller: by its family, by its scope.
        for name in ["read_memory", "read_memori", "writememory"] {
            assert!(!told(name).contains("mean read_memory"), "{name}");
            assert!(!told(name).contains("mean write_memory"), "{name}");
        }
        for name in ["", "zzzzzzzzzzzz", &"read_file".repeat(100)] {
            assert!(told(name).contains("call tools/list"), "{name}");
        }
    }

    #[test]
    fn a_catalogue_with_a_name_that_is_none_is_not_taken_and_the_name_is_told_escaped() {
        let named = |name: &str| snapshot(&[entry(name, "basics", Scope::ToolsRead)]);
        let longest = "a".repeat(LONGEST_NAME);
        for name in ["a", "read_file2", longest.as_str()] {
            assert!(named(name).is_ok(), "{name}");
        }
        let longer = "a".repeat(LONGEST_NAME + 1);
        for name in [
            "",
            "total",
            "prompts/get",
            "2a",
            "_a",
            "Read",
            "a-b",
            "a\";q=9",
            "a\r\nx: y",
            "\u{e9}t",
            &longer,
        ] {
            let refused = named(name).err();
            assert!(
                matches!(refused, Some(CatalogError::HostName(_))),
                "{name:?}"
            );
            assert!(!refused.unwrap().to_string().contains(['\r', '\n']));
        }
    }

    #[test]
    fn a_catalogue_with_a_price_beyond_reason_is_not_taken() {
        let priced = |weight: u32, per_minute: u32| {
            let mut tool = entry("hello", "basics", Scope::ToolsRead);
            tool["weight"] = json!(weight);
            tool["perMinute"] = json!(per_minute);
            snapshot(&[tool])
        };
        for (weight, per_minute) in [(1, 0), (1_000, terms::MOST)] {
            assert!(priced(weight, per_minute).is_ok());
        }
        for weight in [0, 1_001, u32::MAX] {
            let refused = priced(weight, 1);
            assert!(matches!(refused, Err(CatalogError::Weight { .. })));
        }
        for per_minute in [terms::MOST + 1, u32::MAX] {
            let refused = priced(1, per_minute);
            assert!(matches!(refused, Err(CatalogError::PerMinute { .. })));
        }
    }

    #[test]
    fn a_catalogue_with_a_name_twice_or_a_bad_schema_is_not_taken() {
        let hello = entry("hello", "basics", Scope::ToolsRead);
        let twice = snapshot(&[hello.clone(), hello.clone()]);
        assert!(matches!(twice, Err(CatalogError::Duplicate(_))));
        let mut bad = hello;
        bad["inputSchema"] = json!({ "type": "nonsense" });
        assert!(matches!(snapshot(&[bad]), Err(CatalogError::Schema { .. })));
    }
}
