//! What a message costs, before anything is done for it.
//!
//! A call costs what its tool says, if the caller may call it; all else costs one unit, so that no
//! price tells of a tool that the caller can't see. What reads as a tool does spends that tool's
//! limit: a client gains nothing by asking for a file as a resource.

use std::sync::Arc;

use archway_proto::method::Method as WorkerMethod;
use serde_json::Value;

use super::{envelope::Envelope, method::Method};
use crate::{
    caller::Principal,
    catalog::Snapshot,
    limits::{CountedTool, MessageCost},
    terms::{PROMPTS, PROMPTS_PER_MINUTE},
};

/// The price of a message, by the catalogue in force if there is one.
pub(super) fn of(message: &Envelope, who: &Principal, catalog: Option<&Snapshot>) -> MessageCost {
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
