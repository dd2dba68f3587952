//! Resources: a project's documents and files under URIs, in addition to the tools that find them.
//!
//! `resources/list` has the documents of the projects that the caller may read. Any file can be
//! read by the URI of the file template, under the same path rules as `read_file`. A closed path is
//! rejected by its name, whether a file exists there or not. For a document, the answer is always
//! that there is none.

mod address;
mod content;
mod list;
mod media;
mod page;
mod list_notes;
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
pub(crate) use list_notes::ListNotes;
pub(crate) use page::{ListArgs, PageProject};
pub(crate) use templates::{Variable, templates, variables};

/// The params of `resources/read`.
#[derive(Deserialize)]
pub(crate) struct ReadArgs {
    uri: String,
}

/// The content of a resource, in one part.
#[derive(Serialize)]
pub(crate) struct Contents {
    contents: [Part; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    /// The requested URI.
    uri: String,
    mime_type: &'static str,
    #[serde(flatten)]
    body: Body,
}

/// Returns the content of a resource.
pub(crate) async fn read(
    cx: &ToolContext,
    registry: &Registry,
    args: ReadArgs,
) -> Result<Reply<Contents>, Failure> {
    let with_uri = |failure: Failure| failure.detail("uri", text::shown(&args.uri).into_owned());
    let contents = |mime_type, body| Contents {
        contents: [Part {
            uri: args.uri.clone(),
            mime_type,
            body,
        }],
    };
    let address = Address::parse(&args.uri).map_err(with_uri)?;
    if address == Address::Workflow {
        let workflow = cx
            .workflow(|tool| registry.families_of(cx, tool))
            .await
            .map_err(|_logged| {
                Failure::new(
                    Fault::Unavailable,
                    "the workflow of this session can't be read at the moment",
                    "wait 2 seconds and try again",
                )
            })?;
        let json = serde_json::to_string(&workflow).unwrap_or_default();
        let body = Body::Text(text::visible_json(&json).into_owned());
        return Ok(Reply::new(contents(media::JSON, body)));
    }
    let content = fetch(cx, &address, None).await.map_err(with_uri)?;
    let path = content.value.path.clone();
    let is_file = matches!(address, Address::File { .. });
    if is_file {
        cx.record_access(&content.value.project, &path);
    }
    let reply = Reply::from_snapshot(content, |content| contents(content.mime_type, content.body));
    let whole_file = is_file.then(|| "/contents/0/text".to_owned());
    Ok(reply.whole_files(whole_file).of_files([path]))
}
