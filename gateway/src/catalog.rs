//! The catalogue: which tools exist, who may call them, and which arguments they take.
//!
//! It is fetched from a worker at the start and every half minute, and stays in use while no worker
//! is reachable, so that `tools/list` does not flap. Until the first worker is reached, the copy in
//! Postgres is used ([`CatalogCache`]). A new catalogue replaces the old one as a whole or not at
//! all. Validators are compiled when it arrives rather than per call.

use std::{collections::HashMap, sync::Arc, time::Duration};

use archway_proto::{
    catalog::{ToolEntry, ToolList},
    failure::Failure,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{absence_log::AbsenceLog, terms, upstream::Upstream};
use arguments::ArgumentRules;
use error::CatalogError;

pub(crate) use cache::CatalogCache;
pub(crate) use callable::RefusedTool;

mod callable;
mod arguments;
mod spellings;
mod error;
mod violation;
mod nearest;
mod cache;

const REFRESH: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// Maximum bytes of a tool's name.
const LONGEST_NAME: usize = 64;
/// Units of the total budget that a call may cost.
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=1_000;

/// A tool of the catalogue.
pub(crate) struct Tool {
    /// As the worker described it.
    pub(crate) entry: ToolEntry,
    /// The tool's name, for labels that outlive the catalogue.
    pub(crate) label: Arc<str>,
    /// The input schema as clients see it.
    pub(crate) input_schema: Arc<Map<String, Value>>,
    /// The output schema as clients see it; empty if the tool has none.
    pub(crate) output_schema: Arc<Map<String, Value>>,
    rules: ArgumentRules,
}

impl Tool {
    /// Checks the arguments and returns them in the advertised spelling. The failure lists every
    /// violation.
    pub(crate) fn check(&self, given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        self.rules.check(given)
    }

    /// Whether the tool has an argument of this name.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        self.rules.takes(argument)
    }
}

/// A whole catalogue, as one worker sent it.
pub(crate) struct ToolSet {
    source: Bytes,
    /// Whether a worker of the default pool sent it: only that pool's catalogue is stored for the
    /// next start.
    from_default_pool: bool,
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<Arc<str>, usize>,
}

impl ToolSet {
    fn parse(source: Bytes) -> Result<Self, CatalogError> {
        let list: ToolList = serde_json::from_slice(&source)?;
        let mut tool_set = ToolSet {
            source,
            from_default_pool: false,
            tools: Vec::with_capacity(list.tools.len()),
            by_name: HashMap::new(),
        };
        for entry in list.tools {
            check_entry(&entry)?;
            let label: Arc<str> = Arc::from(entry.name.as_str());
            let rules = ArgumentRules::compile(&entry.input_schema).map_err(|source| {
                CatalogError::Schema {
                    tool: entry.name.clone(),
                    source,
                }
            })?;
            if tool_set
                .by_name
                .insert(label.clone(), tool_set.tools.len())
                .is_some()
            {
                return Err(CatalogError::Duplicate(entry.name));
            }
            tool_set.tools.push(Arc::new(Tool {
                input_schema: Arc::new(entry.input_schema.clone()),
                output_schema: Arc::new(entry.output_schema.clone()),
                label,
                rules,
                entry,
            }));
        }
        Ok(tool_set)
    }

    /// All tools in the workers' order, for operators.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }
}

/// Checks a tool's name and price. The name appears in headers and metrics, and among the limits
/// next to [`terms::TOTAL`] and [`terms::PROMPTS`].
fn check_entry(entry: &ToolEntry) -> Result<(), CatalogError> {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase();
    let fits = |byte: u8| is_letter(&byte) || byte.is_ascii_digit() || byte == b'_';
    let (name, tool) = (&entry.name, || entry.name.clone());
    let is_name = name.as_bytes().first().is_some_and(is_letter) && name.bytes().all(fits);
    let is_taken = [terms::TOTAL, terms::MEMORY, terms::MONTH].contains(&name.as_str());
    if !is_name || name.len() > LONGEST_NAME || is_taken {
        return Err(CatalogError::Name(tool()));
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

/// The current catalogue, if any worker was ever seen.
pub(crate) struct Catalog {
    current: watch::Sender<Option<Arc<ToolSet>>>,
    /// Whether a worker has sent one since the start.
    fetched: watch::Sender<bool>,
}

impl Catalog {
    pub(crate) fn new() -> Self {
        Catalog {
            current: watch::Sender::new(None),
            fetched: watch::Sender::new(false),
        }
    }

    /// The current catalogue; `None` if no worker was ever seen, by this gateway or by another that
    /// stored its catalogue.
    pub(crate) fn tools(&self) -> Option<Arc<ToolSet>> {
        self.current.borrow().clone()
    }

    /// Waits until a worker has sent its catalogue.
    pub(crate) async fn fetched(&self) {
        // An error would mean that the sender is gone, but `self` owns it.
        let mut fetched = self.fetched.subscribe();
        let _fetched = fetched.wait_for(|fetched| *fetched).await;
    }

    /// Waits until a catalogue of the default pool other than this one is current. Returns its
    /// bytes.
    async fn other_than(&self, known: Option<&Bytes>) -> Bytes {
        let mut current = self.current.subscribe();
        loop {
            let now = current.borrow_and_update().clone();
            let now = now.filter(|now| now.from_default_pool);
            let source = now.map(|now| now.source.clone());
            if let Some(other) = source.filter(|source| Some(source) != known) {
                return other;
            }
            // Cannot fail, as above.
            let _changed = current.changed().await;
        }
    }

    /// Sets the catalogue if there is none. Returns whether it did.
    fn set_if_none(&self, tool_set: ToolSet) -> bool {
        self.current.send_if_modified(|current| {
            let is_none = current.is_none();
            current.get_or_insert_with(|| Arc::new(tool_set));
            is_none
        })
    }

    /// Fetches the catalogue until `shutdown`: soon while there is none or after a worker was lost,
    /// else every half minute.
    pub(crate) async fn run(&self, upstream: &Upstream, shutdown: &CancellationToken) {
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
                    // Without a ready worker the log of workers says why.
                    let is_absence = upstream.has_ready_worker();
                    error.log(is_absence.then(|| absence.missing()).flatten());
                    wait = (wait * 2).min(LONGEST_RETRY);
                    wait
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                // Pauses here too, so that failing calls in a row do not cause fetches in a row.
                () = upstream.lost(), if pause == REFRESH => tokio::time::sleep(FIRST_RETRY).await,
            }
        }
    }

    async fn refresh(&self, upstream: &Upstream) -> Result<(), CatalogError> {
        let fetched = upstream.catalog().await?;
        let is_known = |current: &Arc<ToolSet>| {
            current.source == fetched.tools
                && current.from_default_pool >= fetched.from_default_pool
        };
        if !self.tools().as_ref().is_some_and(is_known) {
            let mut tool_set = ToolSet::parse(fetched.tools)?;
            tool_set.from_default_pool = fetched.from_default_pool;
            tracing::info!(tools = tool_set.tools.len(), "catalogue updated");
            self.current.send_replace(Some(Arc::new(tool_set)));
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
    use crate::{caller::Principal, error::GatewayError};

    fn entry(name: &str, family: &str, scope: Scope) -> Value {
        json!({
            "name": name, "title": name, "description": name, "readOnly": true,
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "outputSchema": { "type": "object" }, "idempotent": true,
            "family": family, "scope": scope,
        })
    }

    impl ToolSet {
        /// A catalogue of `hello`, and of `plain`, which has no output schema.
        pub(crate) fn for_tests() -> Self {
            let hello = entry("hello", "basics", Scope::ToolsRead);
            let mut plain = entry("plain", "basics", Scope::ToolsRead);
            plain.as_object_mut().unwrap().remove("outputSchema");
            tool_set(&[hello, plain]).unwrap()
        }
    }

    impl Catalog {
        /// A catalogue that came from no worker.
        pub(crate) fn for_tests(entries: &[Value]) -> Self {
            let catalog = Catalog::new();
            catalog
                .current
                .send_replace(Some(Arc::new(tool_set(entries).unwrap())));
            catalog
        }
    }

    fn tool_set(entries: &[Value]) -> Result<ToolSet, CatalogError> {
        ToolSet::parse(Bytes::from(json!({ "tools": entries }).to_string()))
    }

    #[test]
    fn a_caller_sees_and_calls_what_its_scopes_and_families_cover() {
        let catalog = tool_set(&[
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
        let refused = |name| catalog.find(&who, name).err().unwrap().error;
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
    fn an_unknown_tool_suggests_only_a_tool_that_the_caller_may_call() {
        let catalog = tool_set(&[
            entry("read_file", "files", Scope::ToolsRead),
            entry("read_memory", "memory", Scope::ToolsRead),
            entry("write_memory", "files", Scope::MemoryWrite),
        ])
        .unwrap();
        let who = Principal::for_tests(&[Scope::ToolsRead], Some(&["files"]));
        let told = |name: &str| catalog.find(&who, name).err().unwrap().error.to_string();
        assert!(told("readFile").ends_with("did you mean read_file?"));
        // Nearer than `read_file`, but not for this caller: by family, by scope.
        for name in ["read_memory", "read_memori", "writememory"] {
            assert!(!told(name).contains("mean read_memory"), "{name}");
            assert!(!told(name).contains("mean write_memory"), "{name}");
        }
        for name in ["", "zzzzzzzzzzzz", &"read_file".repeat(100)] {
            assert!(told(name).contains("call tools/list"), "{name}");
        }
    }

    #[test]
    fn a_catalogue_with_an_invalid_name_is_refused_and_the_name_escaped() {
        let named = |name: &str| tool_set(&[entry(name, "basics", Scope::ToolsRead)]);
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
            assert!(matches!(refused, Some(CatalogError::Name(_))), "{name:?}");
            assert!(!refused.unwrap().to_string().contains(['\r', '\n']));
        }
    }

    #[test]
    fn a_catalogue_with_a_price_out_of_range_is_refused() {
        let priced = |weight: u32, per_minute: u32| {
            let mut tool = entry("hello", "basics", Scope::ToolsRead);
            tool["weight"] = json!(weight);
            tool["perMinute"] = json!(per_minute);
            tool_set(&[tool])
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
    fn a_catalogue_with_a_repeated_name_or_bad_schema_is_refused() {
        let hello = entry("hello", "basics", Scope::ToolsRead);
        let twice = tool_set(&[hello.clone(), hello.clone()]);
        assert!(matches!(twice, Err(CatalogError::Duplicate(_))));
        let mut bad = hello;
        bad["inputSchema"] = json!({ "type": "nonsense" });
        assert!(matches!(tool_set(&[bad]), Err(CatalogError::Schema { .. })));
    }
}
