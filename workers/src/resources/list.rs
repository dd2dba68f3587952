//! `resources/list`: the documents of all projects that the caller may read.

use archway_architecture::document::{Document, Kind};
use archway_proto::failure::Failure;
use archway_repo::text;
use jiff::Timestamp;
use serde::Serialize;

use super::{ListArgs, ListNotes, PageProject, address::WORKFLOW, media, page::PageSlice};
use crate::{
    context::{Snapshot, ToolContext},
    tools::Reply,
};

/// A page of resources.
#[derive(Serialize)]
pub(crate) struct Resources {
    resources: Vec<Resource>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: String,
    name: String,
    title: String,
    description: String,
    mime_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    /// RFC 3339 in UTC.
    last_modified: String,
}

/// Returns a page of resources.
pub(crate) async fn list(cx: &ToolContext, args: ListArgs) -> Result<Reply<Resources>, Failure> {
    let is_start = args.is_start();
    let (entries, mut page) = args.begin(cx).await?;
    if is_start {
        page.add("", vec![(WORKFLOW.to_owned(), workflow())]);
    }
    let mut notes = ListNotes::default();
    for entry in &entries {
        if !page.has_room_for(&entry.project.slug) {
            break;
        }
        let slice = page.slice_of(&entry.project.slug);
        let found = documents(cx, entry, slice).await;
        if let Some((documents, left_out)) = notes.record(entry, found)? {
            page.add(&entry.project.slug, documents);
            left_out.iter().for_each(|it| notes.skip(entry, it));
        }
    }
    let (resources, cursor) = page.finish();
    let reply = Reply::new(Resources { resources });
    Ok(notes.attach_to(reply.cursor(cursor)))
}

/// Documents by their URIs, and what was left out of a project's documents.
type ProjectDocuments = (Vec<(String, Resource)>, Vec<String>);

async fn documents(
    cx: &ToolContext,
    entry: &PageProject,
    slice: PageSlice,
) -> Result<Snapshot<ProjectDocuments>, Failure> {
    let (libraries, prefix) = (cx.libraries().clone(), entry.prefix.clone());
    let histories = cx.histories();
    cx.read(&entry.project, move |repo, cancel| {
        let library = libraries.of(repo, cancel)?;
        let project = prefix.as_deref();
        let documents = library.documents().iter();
        let documents = slice.select(documents.map(|it| (it.uri(project), it)))?;
        let documents = documents.into_iter();
        let listed = documents.map(|(uri, it)| {
            let changed = library.last_changed(it, repo, (&histories, cancel));
            (uri, shown(project, it, changed))
        });
        Ok((listed.collect(), library.omitted().to_vec()))
    })
    .await
}

fn workflow() -> Resource {
    Resource {
        uri: WORKFLOW.to_owned(),
        name: "workflow".to_owned(),
        title: "The workflow of this session".to_owned(),
        description: "The prompt that was requested last, its arguments, and the results of its \
            tools since, for 30 minutes; null without one"
            .to_owned(),
        mime_type: media::JSON,
        size: None,
        annotations: None,
    }
}

fn shown(project: Option<&str>, document: &Document, changed: Option<Timestamp>) -> Resource {
    let mut description = match (&document.record, document.kind) {
        (Some(record), _) => format!("Decision {}, {}", record.id, record.status.name()),
        (None, Kind::Adr) => "Decision".to_owned(),
        (None, Kind::Pattern) => "Pattern: how something is built here".to_owned(),
        (None, Kind::Guideline) => "Guideline: rules for everything that is built here".to_owned(),
    };
    if let Some(project) = project {
        description += &format!("; project {project}");
    }
    Resource {
        uri: document.uri(project),
        title: text::shown(&document.title).into_owned(),
        description,
        mime_type: media::MARKDOWN,
        size: Some(document.size),
        annotations: changed.map(|changed| Annotations {
            last_modified: format!("{changed:.0}"),
        }),
        name: document.slug.clone(),
    }
}
