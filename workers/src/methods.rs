//! What a worker answers beside calls of tools, by method.
//!
//! As with tools, a failure is a result that carries it: the gateway makes of it what the method's
//! protocol asks for.

use archway_proto::{failure::Failure, fault::Fault, method::Method};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    completion,
    context::ToolContext,
    prompts, resources,
    tools::{Registry, Reply},
};

/// What work on files weighs that reads documents of whole projects: it takes turns.
const HEAVY: u32 = 5;

/// The answer to a method, as MCP has it.
pub(crate) async fn answer(
    cx: ToolContext,
    registry: &Registry,
    method: Method,
    params: Value,
) -> Result<Value, Failure> {
    // As a gateway does, for whoever has a pass and goes by none.
    if !cx.may_read() {
        return Err(Failure::new(
            Fault::AccessDenied,
            format!("the caller may not ask for {}", method.name()),
            "use a key or token that carries the scope tools:read",
        ));
    }
    let heavy = !matches!(
        method,
        Method::ResourcesRead | Method::ResourceTemplatesList
    );
    let cx = cx.of_weight(if heavy { HEAVY } else { 1 });
    match method {
        Method::ResourcesList => finish(resources::list(&cx, read(params)?).await?),
        Method::ResourceTemplatesList => finish(resources::templates(&cx)),
        Method::ResourcesRead => finish(resources::read(&cx, registry, read(params)?).await?),
        Method::PromptsList => finish(prompts::list(&cx, registry, read(params)?).await?),
        Method::PromptsGet => finish(prompts::get(&cx, registry, read(params)?).await?),
        Method::Complete => finish(completion::complete(&cx, read(params)?).await?),
        Method::ToolsList | Method::ToolsCall => Err(not_here(method)),
    }
}

fn finish<T: Serialize>(reply: Reply<T>) -> Result<Value, Failure> {
    reply.into_answer()
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| {
        Failure::new(
            Fault::InvalidArguments,
            format!("the params do not have the form of the method: {error}"),
            "compare them with the protocol's schema of the method",
        )
    })
}

fn not_here(method: Method) -> Failure {
    Failure::new(
        Fault::Unavailable,
        format!("this worker does not answer {}", method.name()),
        "try again in a few seconds",
    )
}
