//! The tools: the [`Tool`] trait and the [`registry`].
//!
//! A tool is a unit struct with typed arguments and output. The field docs of both form the schema
//! that a model reads. ARCHITECTURE.md, "Adding a tool", has the steps.

use std::{collections::BTreeMap, pin::pin};

use archway_proto::{
    catalog::{Scope, ToolEntry, ToolList},
    failure::Failure,
    fault::Fault,
    trace::Span,
};
use futures::future::BoxFuture;
use opentelemetry::{KeyValue, trace::SpanBuilder};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::access::Families;
use crate::metrics::UNKNOWN_TOOL;

pub use crate::{
    blocking::Load,
    context::{Snapshot, ToolContext},
};

// Families of tools.
mod hello;
mod list_projects;
mod files;
mod search;
mod symbols;
mod git;
mod context;
mod memory;
mod architecture;

// Shared by the families.
mod every_project;
mod markdown;
mod next_step;
mod paging;
mod refusal;
mod reply;
mod schema;

pub(crate) use files::{WholeFile, read_whole};
use refusal::is_of_the_project;
pub use reply::Reply;

/// The size of a reply that no argument asked to be longer, in bytes: about 4,000 tokens.
const DEFAULT_REPLY_BYTES: usize = 16_000;

/// Every tool of a worker, in the order of `tools/list`.
pub fn registry() -> Result<Registry, RegistryError> {
    Registry::default()
        .with::<hello::Hello>()?
        .with::<list_projects::ListProjects>()?
        .with::<files::ListFiles>()?
        .with::<files::ReadFile>()?
        .with::<files::ReadRepoFile>()?
        .with::<files::GetRepoOverview>()?
        .with::<search::SearchFiles>()?
        .with::<search::GrepCodebase>()?
        .with::<symbols::FindSymbol>()?
        .with::<symbols::FindReferences>()?
        .with::<symbols::Outline>()?
        .with::<git::GitLog>()?
        .with::<git::GitBlame>()?
        .with::<git::GitDiff>()?
        .with::<context::ContextSearch>()?
        .with::<memory::WriteMemoryEntry>()?
        .with::<memory::RecordDiscovery>()?
        .with::<memory::SearchMemory>()?
        .with::<architecture::SearchArchitecture>()?
        .with::<architecture::CheckAdrAlignment>()?
        .with::<architecture::ValidatePattern>()
}

/// A tool that an agent can call.
pub trait Tool: 'static {
    /// The name that clients call, in snake case.
    const NAME: &'static str;
    /// A display name of a few words.
    const TITLE: &'static str;
    /// Tells a model when to use this tool, and when to prefer another.
    const DESCRIPTION: &'static str;
    /// The family: the unit of circuit breakers and of restricted keys.
    const FAMILY: &'static str;
    /// The scope that the caller must hold.
    const SCOPE: Scope = Scope::ToolsRead;
    /// Default limit of calls per minute for a session, and for a key of one agent. `None` means
    /// that only the totals limit them.
    const PER_MINUTE: Option<u32>;
    /// Units of the totals that a call costs, at least 1.
    const WEIGHT: u32 = 1;
    /// The arguments that ask for more than [`DEFAULT_REPLY_BYTES`]: each by a number above this one, or by any text.
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[];
    /// Whether a write with an idempotency key takes effect once, however often it is repeated. The
    /// gateway may then retry it on another worker if the first one is lost.
    const ONCE: bool = false;
    /// Whether results contain text that others wrote. Such text is escaped visibly, and the result
    /// is marked.
    const UNTRUSTED: bool;
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The type of `structuredContent`.
    type Output: Serialize + JsonSchema + Send;

    /// The load of its work on files. Heavy work is queued fairly over tenants.
    fn load(_: &Self::Args) -> Load {
        Load::Light
    }

    /// Runs one call.
    fn run(
        cx: &ToolContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Reply<Self::Output>, Failure>> + Send;
}

/// Why the registry is invalid: a mistake in the build, found at start.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two tools have the same name.
    #[error("two tools have the name {0}")]
    Duplicate(&'static str),
    /// The schema of a type is not an object.
    #[error("the {which} schema of {tool} is not an object")]
    Schema {
        /// The tool's name.
        tool: &'static str,
        /// `input` or `output`.
        which: &'static str,
    },
}

/// The tools by name, and their catalogue for the gateway.
#[derive(Default)]
pub struct Registry {
    runners: BTreeMap<&'static str, (Runner, Families)>,
    list: ToolList,
}

type Runner = fn(ToolContext, Value) -> BoxFuture<'static, Result<Value, Failure>>;

impl Registry {
    /// The catalogue entry of a tool.
    pub(crate) fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.list.tools.iter().find(|tool| tool.name == name)
    }

    /// Whether there is a tool of this name and the caller may call it.
    pub(crate) fn may_call(&self, cx: &ToolContext, name: &str) -> bool {
        self.entry(name)
            .is_some_and(|tool| cx.may_call(&tool.family, tool.scope))
    }

    /// The families of a tool that the caller may call; `None` for any other.
    pub(crate) fn families_of(&self, cx: &ToolContext, name: &str) -> Option<Families> {
        let tool = self.runners.get(name).filter(|_| self.may_call(cx, name));
        tool.map(|(_, families)| *families)
    }

    /// Adds a tool.
    pub fn with<T: Tool>(mut self) -> Result<Self, RegistryError> {
        let schema_of = |which, schema| match schema {
            Value::Object(map) => Ok(map),
            _ => Err(RegistryError::Schema {
                tool: T::NAME,
                which,
            }),
        };
        self.list.tools.push(ToolEntry {
            name: T::NAME.to_owned(),
            title: T::TITLE.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            input_schema: schema_of("input", schema::of_arguments::<T::Args>())?,
            output_schema: schema_of("output", schema::of_output::<T::Output>())?,
            read_only: T::SCOPE == Scope::ToolsRead,
            idempotent: T::SCOPE == Scope::ToolsRead,
            once: T::ONCE,
            family: T::FAMILY.to_owned(),
            scope: T::SCOPE,
            per_minute: T::PER_MINUTE,
            weight: T::WEIGHT,
        });
        let runner: Runner = |cx, args| Box::pin(run::<T>(cx, args));
        match self
            .runners
            .insert(T::NAME, (runner, const { &[T::FAMILY] }))
        {
            None => Ok(self),
            Some(_) => Err(RegistryError::Duplicate(T::NAME)),
        }
    }

    /// The catalogue of all tools.
    pub fn list(&self) -> &ToolList {
        &self.list
    }

    /// The tool's name for metric labels, or one label for all unknown names.
    pub(crate) fn label(&self, name: &str) -> &'static str {
        let known = self.runners.get_key_value(name);
        known.map_or(UNKNOWN_TOOL, |(name, _)| name)
    }

    /// Runs the tool `name`. Returns its MCP result, or the failure.
    pub(crate) async fn call(
        &self,
        cx: ToolContext,
        name: &str,
        args: Value,
    ) -> Result<Value, Failure> {
        let Some((runner, _)) = self.runners.get(name) else {
            // The gateway's catalogue is newer or older than this worker's.
            return Err(Failure::new(
                Fault::Unavailable,
                "this worker does not have the tool yet",
                "try again in a few seconds",
            ));
        };
        let given = cx.given_tools();
        match runner(cx, args).await {
            Err(failure) => Err(self.with_lacked_tools(&given, failure).await),
            answer => answer,
        }
    }
}

#[tracing::instrument(name = "tool.run", skip_all, fields(mcp.tool.name = T::NAME))]
async fn run<T: Tool>(cx: ToolContext, args: Value) -> Result<Value, Failure> {
    let span = Span::child(|| {
        SpanBuilder::from_name(format!("execute_tool {}", T::NAME)).with_attributes([
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", T::NAME),
        ])
    });
    let outcome = span.run(pin!(answer::<T>(cx, args))).await;
    if let Err(failure) = &outcome {
        span.fail(failure.code.code());
    }
    outcome
}

async fn answer<T: Tool>(cx: ToolContext, args: Value) -> Result<Value, Failure> {
    // The gateway checks this too. This is for a stolen pass.
    if !cx.may_call(T::FAMILY, T::SCOPE) {
        return Err(Failure::new(
            Fault::AccessDenied,
            format!(
                "{} is not among the tools that the caller may call",
                T::NAME
            ),
            "call tools/list for those that are",
        ));
    }
    let requested = match asks_for_more(T::ASKS_FOR_MORE, &args) {
        true => usize::MAX,
        false => DEFAULT_REPLY_BYTES,
    };
    let args: T::Args = serde_json::from_value(args).map_err(|error| {
        Failure::new(
            Fault::InvalidArguments,
            format!("invalid arguments for {}: {error}", T::NAME),
            "compare them with the tool's input schema",
        )
    })?;
    let load = T::load(&args);
    let cx = cx
        .with_load(load)
        .with_families(const { &[T::FAMILY] })
        .with_requested_bytes(requested);
    T::run(&cx, args).await?.into_result(T::UNTRUSTED)
}

/// Whether one of these arguments asks for more than a default reply.
fn asks_for_more(of_tool: &[(&str, u64)], args: &Value) -> bool {
    of_tool.iter().any(|(name, usual)| match args.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::Number(number)) => number.as_u64().is_some_and(|it| it > *usual),
        Some(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn more_is_asked_for_by_a_larger_number_or_a_text() {
        let asks = |args| asks_for_more(&[("limit", 50), ("file_path", 0)], &args);
        assert!(asks(json!({ "limit": 51 })) && asks(json!({ "file_path": "a" })));
        assert!(!asks(json!({ "limit": 50 })) && !asks(json!({ "limit": null, "query": "x" })));
    }

    #[test]
    fn the_catalogue_fits_into_its_size_limits() {
        let list = registry().unwrap();
        let shown: Vec<Value> = list.list().tools.iter().map(ToolEntry::shown).collect();
        let model_text_size: usize = list
            .list()
            .tools
            .iter()
            .map(|tool| {
                let schema = serde_json::to_string(&tool.input_schema).unwrap();
                tool.name.len() + tool.description.len() + schema.len()
            })
            .sum();
        let list_size = serde_json::to_string(&shown).unwrap().len();
        assert!(
            model_text_size < 20_000,
            "{model_text_size} bytes of names, descriptions and input schemas"
        );
        assert!(list_size < 48_000, "{list_size} bytes of tools/list");
    }

    #[test]
    fn arguments_are_described_and_unknown_ones_are_rejected() {
        for tool in &registry().unwrap().list().tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(
                tool.input_schema["additionalProperties"], false,
                "{}",
                tool.name
            );
            let properties = tool
                .input_schema
                .get("properties")
                .and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                assert!(schema.get("description").is_some(), "{}.{name}", tool.name);
                assert!(
                    schema.get("type").is_some() || schema.get("enum").is_some(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn two_tools_of_one_name_are_rejected() {
        let twice = Registry::default()
            .with::<hello::Hello>()
            .and_then(|registry| registry.with::<hello::Hello>());
        assert!(matches!(twice, Err(RegistryError::Duplicate("hello"))));
    }
}
