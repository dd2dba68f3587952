//! Answers the methods other than tool calls.
//!
//! As with tools, a failure is a result that carries it. The gateway converts it to what the
//! protocol of the method requires.

use archway_proto::{failure::Failure, fault::Fault, method::Method};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    blocking::Load,
    completion,
    context::ToolContext,
    prompts, resources,
    tools::{Registry, Reply},
};

/// Answers a method in the form that MCP defines.
pub(crate) async fn answer(
    cx: ToolContext,
    registry: &Registry,
    method: Method,
    params: Value,
) -> Result<Value, Failure> {
    // The gateway checks this too. This is for a pass that came by another way.
    if !cx.may_read() {
        return Err(Failure::new(
            Fault::AccessDenied,
            format!("the caller may not ask for {}", method.name()),
            "use a key or token that carries the scope tools:read",
        ));
    }
    let load = match method {
        Method::ResourcesRead | Method::ResourceTemplatesList => Load::Light,
        // The others read documents of whole projects.
        _ => Load::Heavy,
    };
    let cx = cx.with_load(load);
    match method {
        Method::ResourcesList => finish(resources::list(&cx, parse(params)?).await?),
        Method::ResourceTemplatesList => finish(resources::templates(&cx)),
        Method::ResourcesRead => finish(resources::read(&cx, registry, parse(params)?).await?),
        Method::PromptsList => finish(prompts::list(&cx, registry, parse(params)?).await?),
        Method::PromptsGet => finish(prompts::get(&cx, registry, parse(params)?).await?),
        Method::Complete => finish(completion::complete(&cx, registry, parse(params)?).await?),
        Method::ToolsList | Method::ToolsCall => Err(unsupported(method)),
    }
}

fn finish<T: Serialize>(reply: Reply<T>) -> Result<Value, Failure> {
    reply.into_answer()
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| {
        Failure::new(
            Fault::InvalidArguments,
            format!("the params do not have the form of the method: {error}"),
            "compare them with the protocol's schema of the method",
        )
    })
}

fn unsupported(method: Method) -> Failure {
    Failure::new(
        Fault::Unavailable,
        format!("this worker does not answer {}", method.name()),
        "try again in a few seconds",
    )
}
