//! Inserts what a prompt names: tools and documents, as far as this caller may see them.

use std::collections::HashMap;
use std::sync::Arc;

use archway_proto::{catalog::ToolEntry, failure::Failure, fault::Blame};
use archway_repo::text;

use super::file::{Prompt, Role};
use super::template::Piece;
use crate::{
    context::ToolContext,
    projects::Project,
    resources::{self, Address, Body, Content},
    tools::Registry,
};

mod parameters;

/// Maximum size in bytes of a prompt before its arguments are inserted.
const MAX_EXPANDED: usize = 256 << 10;
/// Maximum number of resources that one request reads for the prompts of one project.
const MAX_RESOURCES: usize = 200;

/// Inserts the tools and resources that prompts name.
pub(super) struct Expander<'a> {
    cx: &'a ToolContext,
    registry: &'a Registry,
    /// The project of the prompts. `None` for built-in prompts.
    project: Option<&'a Arc<Project>>,
    /// The resources read so far, by URI: prompts often name the same documents.
    read: HashMap<String, Result<Arc<str>, String>>,
    /// The files whose text was inserted: paths in `project`, and URIs of files in other projects.
    files: Vec<String>,
}

/// A prompt in which only arguments and results are missing.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub(super) messages: Vec<(Role, Vec<Part>)>,
    /// The tools that it names, in their catalogue spelling.
    pub(super) tools: Vec<String>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Arc<str>),
    Argument(String),
    /// The last result of a tool.
    Result(String),
}

impl<'a> Expander<'a> {
    /// For the prompts of one project, or for built-in prompts.
    pub(super) fn new(
        cx: &'a ToolContext,
        registry: &'a Registry,
        project: Option<&'a Arc<Project>>,
    ) -> Self {
        Expander {
            cx,
            registry,
            project,
            read: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// The files whose text was inserted so far.
    pub(super) fn into_files(self) -> Vec<String> {
        self.files
    }

    /// Expands a prompt. The inner error says why the prompt is unavailable.
    ///
    /// # Errors
    /// If something it names may exist but could not be read.
    pub(super) async fn expand(
        &mut self,
        prompt: &Prompt,
    ) -> Result<Result<Expanded, String>, Failure> {
        let mut expanded = Expanded::default();
        let mut room = MAX_EXPANDED;
        for (role, pieces) in &prompt.messages {
            let mut parts = Vec::with_capacity(pieces.len());
            for piece in pieces {
                let part = match self.part(prompt, piece, &mut expanded.tools).await? {
                    Ok(part) => part,
                    Err(why) => return Ok(Err(why)),
                };
                if let Part::Text(text) = &part {
                    let Some(left) = room.checked_sub(text.len()) else {
                        let why = format!("it has more than {} KiB in all", MAX_EXPANDED >> 10);
                        return Ok(Err(why));
                    };
                    room = left;
                }
                parts.push(part);
            }
            expanded.messages.push((*role, parts));
        }
        expanded.tools.sort();
        expanded.tools.dedup();
        Ok(Ok(expanded))
    }

    async fn part(
        &mut self,
        prompt: &Prompt,
        piece: &Piece,
        tools: &mut Vec<String>,
    ) -> Result<Result<Part, String>, Failure> {
        Ok(match piece {
            Piece::Text(text) => Ok(Part::Text(text.as_str().into())),
            Piece::Argument(name) => match prompt.arguments.iter().any(|it| it.name == *name) {
                true => Ok(Part::Argument(name.clone())),
                false => Err(format!("it has no argument {name:?}")),
            },
            Piece::Tool(name) | Piece::Result(name) => match self.tool(name).await? {
                Some(tool) => {
                    tools.push(tool.name.clone());
                    Ok(match piece {
                        Piece::Result(_) => Part::Result(tool.name.clone()),
                        _ => Part::Text(parameters::described(tool).into()),
                    })
                }
                None => Err(format!("there is no tool {:?}", text::shown(name))),
            },
            Piece::Resource(uri) => self.resource(uri).await?.map(Part::Text),
            Piece::Unknown(inside) => Err(format!(
                "it names {{{{{}}}}}, which is nothing: an argument is {{{{name}}}}, and what else \
                 is put in begins with tool:, resource: or result:",
                text::shown(inside)
            )),
        })
    }

    /// The tool of a name in either spelling, if the caller may call it.
    async fn tool(&self, name: &str) -> Result<Option<&'a ToolEntry>, Failure> {
        let name = match name.replace('-', "_") {
            alias if alias == "validate_against_pattern" => "validate_pattern".to_owned(),
            name => name,
        };
        let entry = self.registry.entry(&name);
        let Some(tool) = entry.filter(|tool| self.cx.may_call(&tool.family, tool.scope)) else {
            return Ok(None);
        };
        Ok(self.cx.is_given(&tool.family).await?.then_some(tool))
    }

    async fn resource(&mut self, uri: &str) -> Result<Result<Arc<str>, String>, Failure> {
        if let Some(cached) = self.read.get(uri) {
            return Ok(cached.clone());
        }
        if self.read.len() == MAX_RESOURCES {
            return Ok(Err("the prompts name too many resources".to_owned()));
        }
        let content = match Address::parse(uri) {
            Ok(address) => resources::fetch(self.cx, &address, self.project).await,
            Err(failure) => Err(failure),
        };
        let shown_uri = || text::shown(uri).into_owned();
        let content = match content.map(|content| self.record_file(content.value)) {
            Ok(Body::Text(text)) if text.len() > MAX_EXPANDED => Err(format!(
                "the resource {:?} is too large for a prompt",
                shown_uri()
            )),
            Ok(Body::Text(text)) => Ok(text.into()),
            Ok(Body::Blob(_)) => Err(format!("the resource {:?} is no text", shown_uri())),
            // The reason may be that the path is closed, which the answer must not reveal.
            Err(failure) if failure.code.blame() == Blame::Caller => {
                Err(format!("there is no resource {:?}", shown_uri()))
            }
            Err(failure) => return Err(failure),
        };
        self.read.insert(uri.to_owned(), content.clone());
        Ok(content)
    }
}

impl Expander<'_> {
    /// Records the file of an inserted resource.
    fn record_file(&mut self, content: Content) -> Body {
        let same_project = self
            .project
            .is_some_and(|project| project.id == content.project.id);
        self.files.push(match same_project {
            true => content.path,
            false => format!("repo://{}/{}", content.project.slug, content.path),
        });
        content.body
    }
}

impl Expanded {
    /// Whether any results of tools are still missing.
    pub(super) fn has_results(&self) -> bool {
        let parts = self.messages.iter().flat_map(|(_, parts)| parts);
        parts
            .into_iter()
            .any(|part| matches!(part, Part::Result(_)))
    }
}
