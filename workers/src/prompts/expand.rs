//! What a prompt names, put in: tools as this caller sees them, documents as it may read them.

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

/// Bytes of a prompt with everything put in but its arguments.
const MAX_EXPANDED: usize = 256 << 10;
/// Resources that the prompts of one project name, as one request reads them.
const MAX_RESOURCES: usize = 200;

/// Puts in what prompts name.
pub(super) struct Expander<'a> {
    cx: &'a ToolContext,
    registry: &'a Registry,
    /// The project that the prompts stand in; our own stand nowhere.
    home: Option<&'a Arc<Project>>,
    /// What was read, by URI: prompts name the same documents again and again.
    read: HashMap<String, Result<Arc<str>, String>>,
    /// The files of what was put in: paths in `home`, and URIs of what stands elsewhere.
    files: Vec<String>,
}

/// A prompt in which only arguments are still to be put.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub(super) messages: Vec<(Role, Vec<Part>)>,
    /// The tools that it names, as they are called here.
    pub(super) tools: Vec<String>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Arc<str>),
    Argument(String),
    /// What a tool answered.
    Result(String),
}

impl<'a> Expander<'a> {
    /// For the prompts of one project, `home`.
    pub(super) fn new(
        cx: &'a ToolContext,
        registry: &'a Registry,
        home: Option<&'a Arc<Project>>,
    ) -> Self {
        Expander {
            cx,
            registry,
            home,
            read: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// The files whose text was put in so far.
    pub(super) fn into_files(self) -> Vec<String> {
        self.files
    }

    /// The prompt with what it names put in, or why it can't be had.
    ///
    /// # Errors
    /// If what it names could not be read though it may be there.
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
            Piece::Tool(name) | Piece::Result(name) => match self.tool(name) {
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
    fn tool(&self, name: &str) -> Option<&'a ToolEntry> {
        let name = match name.replace('-', "_") {
            older if older == "validate_against_pattern" => "validate_pattern".to_owned(),
            name => name,
        };
        let found = self.registry.entry(&name);
        found.filter(|tool| self.cx.may_call(&tool.family, tool.scope))
    }

    async fn resource(&mut self, uri: &str) -> Result<Result<Arc<str>, String>, Failure> {
        if let Some(known) = self.read.get(uri) {
            return Ok(known.clone());
        }
        if self.read.len() == MAX_RESOURCES {
            return Ok(Err("the prompts name too many resources".to_owned()));
        }
        let found = match Address::parse(uri) {
            Ok(address) => resources::fetch(self.cx, &address, self.home).await,
            Err(failure) => Err(failure),
        };
        let named = || text::shown(uri).into_owned();
        let found = match found.map(|found| self.note(found.value)) {
            Ok(Body::Text(text)) if text.len() > MAX_EXPANDED => Err(format!(
                "the resource {:?} is too large for a prompt",
                named()
            )),
            Ok(Body::Text(text)) => Ok(text.into()),
            Ok(Body::Blob(_)) => Err(format!("the resource {:?} is no text", named())),
            // Why it can't be had may be that it is closed: of that nothing is told.
            Err(failure) if failure.code.blame() == Blame::Caller => {
                Err(format!("there is no resource {:?}", named()))
            }
            Err(failure) => return Err(failure),
        };
        self.read.insert(uri.to_owned(), found.clone());
        Ok(found)
    }
}

impl Expander<'_> {
    /// Notes where it stands.
    fn note(&mut self, content: Content) -> Body {
        let is_home = self.home.is_some_and(|home| home.id == content.project.id);
        self.files.push(match is_home {
            true => content.path,
            false => format!("repo://{}/{}", content.project.slug, content.path),
        });
        content.body
    }
}

impl Expanded {
    /// Whether something that tools answered is still to be put in.
    pub(super) fn has_results(&self) -> bool {
        let parts = self.messages.iter().flat_map(|(_, parts)| parts);
        parts
            .into_iter()
            .any(|part| matches!(part, Part::Result(_)))
    }
}
