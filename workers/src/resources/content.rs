//! Reads the content of a resource, as far as the caller may see it.

use std::sync::Arc;

use archway_architecture::{document::Kind, library::Library};
use archway_proto::{catalog::Scope, failure::Failure, fault::Fault, nearest};
use archway_repo::{RepoPath, text};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;

use super::{Address, media};
use crate::{
    access::Families,
    context::{Snapshot, ToolContext, naming_a_project},
    projects::Project,
    tools::{WholeFile, read_whole},
};

/// Maximum size of a file in bytes, the same as for `read_file`.
const MAX_BYTES: u64 = 1 << 20;
/// Near documents that a failure names at most.
const MAX_NEAR: usize = 3;
/// The tool family by which files are read.
const FILES: Families = &["files"];

/// The content of a resource.
pub(crate) struct Content {
    pub(crate) mime_type: &'static str,
    pub(crate) body: Body,
    /// The project and path of its file.
    pub(crate) project: Arc<Project>,
    pub(crate) path: String,
}

/// Text, or bytes in base64.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Body {
    Text(String),
    Blob(String),
}

impl ToolContext {
    /// Whether the caller may read any file: its key may be restricted to other tools.
    pub(super) fn reads_files(&self) -> bool {
        self.may_call("files", Scope::ToolsRead)
    }

    /// Whether the caller may read documents. Callers that may read files may, too.
    pub(crate) fn reads_documents(&self) -> bool {
        !self.document_families().is_empty()
    }

    /// The tool families by which the caller may read documents.
    pub(crate) fn document_families(&self) -> Families {
        let of_documents = self.may_call("architecture", Scope::ToolsRead);
        match (self.reads_files(), of_documents) {
            (true, true) => &["files", "architecture"],
            (true, false) => FILES,
            (false, true) => &["architecture"],
            (false, false) => &[],
        }
    }
}

/// Returns the content at `address`. `owner` is the project of a document URI that names none, if
/// that is not the caller's default.
pub(crate) async fn fetch(
    cx: &ToolContext,
    address: &Address,
    owner: Option<&Arc<Project>>,
) -> Result<Snapshot<Content>, Failure> {
    match address {
        Address::Document {
            project,
            kind,
            slug,
        } => {
            if !cx.reads_documents() {
                return Err(address.of_no_project(None));
            }
            let project = match (project, owner) {
                (None, Some(owner)) => Arc::clone(owner),
                (slug, _) => {
                    project_of(cx, address, (cx.document_families(), slug.as_deref())).await?
                }
            };
            document(cx, address, project, (*kind, slug)).await
        }
        Address::File { project, path } => {
            if !cx.reads_files() {
                return Err(address.of_no_project(None));
            }
            let project = project_of(cx, address, (FILES, Some(project))).await?;
            file(cx, project, path).await
        }
        // The workflow belongs to no project.
        Address::Workflow => Err(address.missing(Vec::new())),
    }
}

/// Resolves a project that the caller may use by some families. Any other counts as missing, like its documents.
async fn project_of(
    cx: &ToolContext,
    address: &Address,
    (families, slug): (Families, Option<&str>),
) -> Result<Arc<Project>, Failure> {
    let failure = match cx.project_by(families, slug).await {
        Ok(project) => return Ok(project),
        Err(failure) => failure,
    };
    if failure.code != Fault::ProjectNotFound {
        let in_project = |slug: &str| text::shown(&address.in_project(slug)).into_owned();
        return Err(naming_a_project(failure, in_project));
    }
    let near = cx.nearest_project(families, slug).await?;
    Err(Failure {
        refused_by: failure.refused_by,
        ..address.of_no_project(near.as_deref())
    })
}

async fn document(
    cx: &ToolContext,
    address: &Address,
    project: Arc<Project>,
    (kind, slug): (Kind, &str),
) -> Result<Snapshot<Content>, Failure> {
    let (libraries, slug) = (cx.libraries().clone(), slug.to_owned());
    let (address, owner) = (address.clone(), Arc::clone(&project));
    cx.read(&project, move |repo, cancel| {
        let library = libraries.of(repo, cancel)?;
        let document = library.get(kind, &slug);
        let document = document.ok_or_else(|| address.missing(near(&library, &address)))?;
        Ok(Content {
            mime_type: media::MARKDOWN,
            body: Body::Text(document.text().to_string()),
            project: Arc::clone(&owner),
            path: document.path.display(),
        })
    })
    .await
}

/// The URIs of documents with names near that of a document that does not exist, in its project.
fn near(library: &Library, address: &Address) -> Vec<String> {
    let Address::Document { project, slug, .. } = address else {
        return Vec::new();
    };
    let documents = library.documents();
    let names = nearest::among(slug, documents.iter().map(|it| it.slug.as_str()), MAX_NEAR);
    let named = names
        .iter()
        .flat_map(|name| documents.iter().filter(move |it| it.slug == **name));
    let uris = named.map(|it| it.uri(project.as_deref()));
    uris.take(MAX_NEAR).collect()
}

async fn file(
    cx: &ToolContext,
    project: Arc<Project>,
    path: &str,
) -> Result<Snapshot<Content>, Failure> {
    let (path, owner) = (path.to_owned(), Arc::clone(&project));
    cx.read(&project, move |repo, cancel| {
        let path = RepoPath::parse(&path)?;
        let content = read_whole(repo, &path, MAX_BYTES, cancel)?;
        let path = path.display();
        let (mime_type, body) = match content {
            WholeFile::Text(text) => (media::of_text(&path), Body::Text(text)),
            WholeFile::Bytes(bytes) => {
                let encoded = BASE64_STANDARD.encode(bytes);
                (media::of_bytes(&path), Body::Blob(encoded))
            }
        };
        Ok(Content {
            mime_type,
            body,
            project: Arc::clone(&owner),
            path,
        })
    })
    .await
}
