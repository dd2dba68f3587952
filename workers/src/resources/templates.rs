//! `resources/templates/list`: the templates of URIs, and their variables.

use serde::Serialize;

use super::media;
use crate::{context::ToolContext, tools::Reply};

/// The templates.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Templates {
    resource_templates: Vec<Template>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Template {
    uri_template: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
}

/// A variable of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Project,
    Kind,
    Slug,
    Path,
}

const DEFAULT_PROJECT_DOCUMENT: &str = "architecture://{kind}/{slug}";
const DOCUMENT: &str = "architecture://{project}/{kind}/{slug}";
const FILE: &str = "repo://{project}/{path}";

/// The variables of a template, by name, or `None` if the caller has no such template.
pub(crate) fn variables(
    cx: &ToolContext,
    template: &str,
) -> Option<&'static [(&'static str, Variable)]> {
    use Variable::{Kind, Path, Project, Slug};
    match template {
        DEFAULT_PROJECT_DOCUMENT if cx.reads_documents() => Some(&[("kind", Kind), ("slug", Slug)]),
        DOCUMENT if cx.reads_documents() => {
            Some(&[("project", Project), ("kind", Kind), ("slug", Slug)])
        }
        FILE if cx.reads_files() => Some(&[("project", Project), ("path", Path)]),
        _ => None,
    }
}

/// The templates that the caller may use.
pub(crate) fn templates(cx: &ToolContext) -> Reply<Templates> {
    let all = [
        Template {
            uri_template: DEFAULT_PROJECT_DOCUMENT,
            name: "document",
            title: "Document of the default project",
            description: "A decision (adr), pattern or guideline of the default project. kind is \
                adr, pattern or guideline; slug is the file's name without its ending.",
            mime_type: Some(media::MARKDOWN),
        },
        Template {
            uri_template: DOCUMENT,
            name: "project-document",
            title: "Document of a project",
            description: "A decision (adr), pattern or guideline of the project of this slug.",
            mime_type: Some(media::MARKDOWN),
        },
        Template {
            uri_template: FILE,
            name: "file",
            title: "File of a project",
            description: "A file of up to 1 MiB by its path, percent-encoded, under the rules of \
                read_file.",
            mime_type: None,
        },
    ];
    let mut resource_templates = Vec::from(all);
    resource_templates.retain(|it| variables(cx, it.uri_template).is_some());
    Reply::new(Templates { resource_templates })
}
