//! The price of a message, before it is executed.
//!
//! A call costs what its tool states, if the caller may call that tool. Everything else costs one
//! unit, so prices reveal no tool that the caller can't see. Methods that read what a tool reads
//! are charged to that tool's limit: a client gains nothing by reading a file as a resource.

use std::sync::Arc;

use archway_proto::method::Method as WorkerMethod;
use serde_json::Value;

use super::{envelope::Envelope, method::Method};
use crate::{
    caller::Principal,
    catalog::ToolSet,
    limits::{CountedTool, MessageCost},
    terms::{PROMPTS, PROMPTS_PER_MINUTE},
};

/// The price of a message by the current catalogue, if there is one.
pub(super) fn of(message: &Envelope, who: &Principal, catalog: Option<&ToolSet>) -> MessageCost {
    let tool = match message.method {
        Some(Method::Worker(method)) => match method {
            WorkerMethod::ToolsCall => message.params.get("name").and_then(Value::as_str),
            WorkerMethod::ResourcesRead => Some("read_file"),
            WorkerMethod::Complete => Some("list_files"),
            WorkerMethod::PromptsGet => return prompts(),
            _ => None,
        },
        _ => None,
    };
    tool.and_then(|name| catalog?.callable(who, name))
        .map_or(MessageCost::UNIT, |tool| MessageCost {
            weight: tool.entry.weight,
            tool: Some(CountedTool {
                name: tool.label.clone(),
                per_minute: tool.entry.per_minute,
            }),
        })
}

fn prompts() -> MessageCost {
    MessageCost {
        tool: Some(CountedTool {
            name: Arc::from(PROMPTS),
            per_minute: Some(PROMPTS_PER_MINUTE),
        }),
        ..MessageCost::UNIT
    }
}
