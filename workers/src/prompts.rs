//! Prompts: ways to work that a repository writes down, and some that every project has.
//!
//! A prompt is a template. What it says of tools and resources is put in when it is asked for, as
//! the caller may see them; the caller's arguments are put in last and are never looked into. One
//! that names what is not there for this caller is left out, whole, and the list says so.

mod builtin;
mod expand;
mod file;
mod filling;
mod found;
mod given;
mod list;
mod template;

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault, nearest};
use archway_repo::text;
use archway_store::Opening;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    context::ToolContext,
    projects::Project,
    tools::{Registry, Reply},
};
use expand::{Expanded, Expander};
use file::{Prompt, Role};
use filling::{Filling, Kept};
use found::find;
use given::{given, remembered};

pub(crate) use list::list;

/// What `prompts/get` asks for.
#[derive(Deserialize)]
pub(crate) struct GetArgs {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// A prompt with everything put in.
#[derive(Serialize)]
pub(crate) struct Got {
    description: String,
    messages: Vec<Message>,
}

#[derive(Serialize)]
struct Message {
    role: Role,
    content: Text,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

/// A prompt with everything put in.
pub(crate) async fn get(
    cx: &ToolContext,
    registry: &Registry,
    args: GetArgs,
) -> Result<Reply<Got>, Failure> {
    let Named {
        home,
        path,
        prompt,
        commit,
    } = named(cx, &args.name).await?;
    let given = given(&prompt, args.arguments)?;
    let mut expander = Expander::new(cx, registry, home.as_ref());
    let expanded = expander.expand(&prompt).await?;
    let files = path.into_iter().chain(expander.into_files());
    let mut expanded = expanded.map_err(|why| {
        Failure::new(
            Fault::InvalidArguments,
            format!("the prompt {:?} is skipped: {why}", prompt.name),
            "call prompts/list for the prompts that can be had",
        )
    })?;
    if home.is_none() {
        expanded.messages = builtin::without_absent(expanded.messages, &given);
    }
    let tools = expanded.tools.clone();
    let kept = match expanded.has_results() {
        true => {
            let workflow = cx.workflow(|tool| registry.may_call(cx, tool)).await;
            workflow.map_or(Kept::Away, Kept::Workflow)
        }
        false => Kept::Workflow(None),
    };
    let messages = messages(expanded, Filling::new(&given, kept))?;
    let arguments = remembered(&given);
    cx.open_workflow(&Opening {
        prompt: &args.name,
        arguments: &arguments,
        tools: &tools,
    })
    .await;
    let reply = Reply::new(Got {
        messages,
        description: prompt.description,
    });
    let home = home.as_ref().map(|home| home.slug.as_str());
    Ok(reply.project(home).as_of(commit).of_files(files))
}

fn messages(expanded: Expanded, mut filling: Filling<'_>) -> Result<Vec<Message>, Failure> {
    let messages = expanded.messages.into_iter();
    let filled = messages.map(|(role, parts)| {
        let text = filling.text(parts)?;
        let content = Text {
            r#type: "text",
            text,
        };
        Ok(Message { role, content })
    });
    filled.collect()
}

/// The prompt of a name, and the project that it stands in; the names of arguments it has.
pub(crate) async fn arguments_of(
    cx: &ToolContext,
    name: &str,
) -> Result<(Option<Arc<Project>>, Vec<String>), Failure> {
    let Named { home, prompt, .. } = named(cx, name).await?;
    let arguments = prompt.arguments.into_iter();
    Ok((home, arguments.map(|argument| argument.name).collect()))
}

/// A prompt that was found by its name.
struct Named {
    /// Where it stands; one of our own stands nowhere.
    home: Option<Arc<Project>>,
    /// Its file there.
    path: Option<String>,
    prompt: Prompt,
    /// As of when.
    commit: Option<String>,
}

async fn named(cx: &ToolContext, name: &str) -> Result<Named, Failure> {
    if let Some(own) = builtin::all().iter().find(|it| it.name == name) {
        return Ok(Named {
            home: None,
            path: None,
            prompt: own.clone(),
            commit: None,
        });
    }
    let (project, own_name) = match name.split_once('/') {
        Some((project, name)) => (Some(project), name),
        None => (None, name),
    };
    let home = cx
        .project(project)
        .await
        .map_err(|failure| match failure.code {
            Fault::ProjectNotFound => unknown(name, None),
            _ => failure,
        })?;
    let snapshot = cx
        .read(&home, |repo, cancel| Ok(find(repo, cancel)?))
        .await?;
    let mut prompts = snapshot.value.prompts;
    let place = prompts.iter().position(|(_, it)| it.name == own_name);
    match place {
        Some(place) => {
            let (path, prompt) = prompts.swap_remove(place);
            Ok(Named {
                home: Some(home),
                path: Some(path),
                prompt,
                commit: snapshot.repo.head().map(|head| head.commit),
            })
        }
        None => {
            let known = prompts.iter().map(|(_, it)| it).chain(builtin::all());
            let known: Vec<&str> = known.map(|it| it.name.as_str()).collect();
            Err(unknown(name, nearest::to(own_name, known.into_iter())))
        }
    }
}

fn unknown(name: &str, nearest: Option<&str>) -> Failure {
    let suggestion = match nearest {
        Some(nearest) => format!("did you mean {nearest}? prompts/list has all"),
        None => "call prompts/list for the prompts there are".to_owned(),
    };
    let message = format!("there is no prompt {:?}", text::shown(name));
    Failure::new(Fault::InvalidArguments, message, suggestion)
}
