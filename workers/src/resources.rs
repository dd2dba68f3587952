//! Resources: a project's documents and files under URIs, beside the tools that find them.
//!
//! Listed are the documents of the projects that the caller may read; any file can be read by the
//! URI that the template gives, under the same path rules as `read_file`. A closed path
//! is refused by its name, whether anything stands there or not; of a document nothing is told but that there is none.

mod address;
mod content;
mod list;
mod media;
mod page;
mod said;
mod templates;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use serde::{Deserialize, Serialize};

use crate::{
    context::ToolContext,
    tools::{Registry, Reply},
};

pub(crate) use address::Address;
pub(crate) use content::{Body, Content, fetch};
pub(crate) use list::list;
pub(crate) use page::{ListArgs, Shelf};
pub(crate) use said::Said;
pub(crate) use templates::{Variable, templates, variables};

/// What `resources/read` asks for.
#[derive(Deserialize)]
pub(crate) struct ReadArgs {
    uri: String,
}

/// What a resource holds: one part.
#[derive(Serialize)]
pub(crate) struct Contents {
    contents: [Part; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    /// As it was asked for.
    uri: String,
    mime_type: &'static str,
    #[serde(flatten)]
    body: Body,
}

/// What a resource holds.
pub(crate) async fn read(
    cx: &ToolContext,
    registry: &Registry,
    args: ReadArgs,
) -> Result<Reply<Contents>, Failure> {
    let named = |failure: Failure| failure.detail("uri", text::shown(&args.uri).into_owned());
    let contents = |mime_type, body| Contents {
        contents: [Part {
            uri: args.uri.clone(),
            mime_type,
            body,
        }],
    };
    let address = Address::parse(&args.uri).map_err(named)?;
    if address == Address::Workflow {
        let workflow = cx
            .workflow(|tool| registry.may_call(cx, tool))
            .await
            .map_err(|_told| {
                Failure::new(
                    Fault::Unavailable,
                    "what this session works on can't be read at the moment",
                    "wait 2 seconds and try again",
                )
            })?;
        let json = serde_json::to_string(&workflow).unwrap_or_default();
        let body = Body::Text(text::visible_json(&json).into_owned());
        return Ok(Reply::new(contents(media::JSON, body)));
    }
    let found = fetch(cx, &address, None).await.map_err(named)?;
    let path = found.value.path.clone();
    let is_file = matches!(address, Address::File { .. });
    if is_file {
        cx.record_access(&found.value.project, &path);
    }
    let reply = Reply::from_snapshot(found, |content| contents(content.mime_type, content.body));
    let whole = is_file.then(|| "/contents/0/text".to_owned());
    Ok(reply.whole_files(whole).of_files([path]))
}
