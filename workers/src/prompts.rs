//! Prompts: workflows that a repository defines, and a few that every project has.
//!
//! A prompt is a template. `prompts/get` inserts the tools and resources that it names, as far as
//! the caller may see them. The caller's arguments are inserted last and are never parsed. A prompt
//! that names something unavailable to the caller is skipped as a whole, and the list says so of a project's.
//! A project's prompts are documents of its repository: they are there for callers that may read those.

mod builtin;
mod expand;
mod file;
mod arguments;
mod discovery;
mod fill;
mod list;
mod near;
mod template;

use std::sync::Arc;

use archway_proto::{
    failure::Failure,
    fault::{Blame, Fault},
};
use archway_repo::text;
use archway_store::NewWorkflow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    context::{ToolContext, naming_a_project},
    projects::Project,
    tools::{Registry, Reply},
};
use arguments::{checked_arguments, recorded_arguments};
use discovery::find;
use expand::{Expanded, Expander};
use file::{Prompt, Role};
use fill::{Filler, SessionResults};
use near::{did_you_mean, near};

pub(crate) use list::list;

/// The params of `prompts/get`.
#[derive(Deserialize)]
pub(crate) struct GetArgs {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// A prompt with everything inserted.
#[derive(Serialize)]
pub(crate) struct GetResult {
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

/// Returns a prompt with everything inserted.
pub(crate) async fn get(
    cx: &ToolContext,
    registry: &Registry,
    args: GetArgs,
) -> Result<Reply<GetResult>, Failure> {
    let ResolvedPrompt {
        project,
        path,
        prompt,
        commit,
    } = resolve(cx, registry, &args.name).await?;
    let given = checked_arguments(&prompt, args.arguments);
    // Before documents are read. A built-in prompt that the caller cannot get is unknown, whatever its arguments.
    let given = match &project {
        Some(_) => Ok(given?),
        None => given,
    };
    let mut expander = Expander::new(cx, registry, project.as_ref());
    let mut expanded = expanded(&mut expander, project.is_none(), &prompt).await?;
    let files = path.into_iter().chain(expander.into_files());
    let given = given?;
    if project.is_none() {
        expanded.messages = builtin::without_absent(expanded.messages, &given);
    }
    let tools = expanded.tools.clone();
    let results = match expanded.has_results() {
        true => {
            let workflow = cx.workflow(|tool| registry.families_of(cx, tool)).await;
            workflow.map_or(SessionResults::Unavailable, SessionResults::Workflow)
        }
        false => SessionResults::Workflow(None),
    };
    let messages = messages(expanded, Filler::new(&given, results))?;
    let arguments = recorded_arguments(&given);
    cx.open_workflow(&NewWorkflow {
        prompt: &args.name,
        arguments: &arguments,
        tools: &tools,
    })
    .await;
    let reply = Reply::new(GetResult {
        messages,
        description: prompt.description,
    });
    let project = project.as_ref().map(|project| project.slug.as_str());
    Ok(reply.project(project).as_of(commit).of_files(files))
}

/// Expands a prompt, if it is available to the caller. Otherwise a project's is skipped, as the list says, and a
/// built-in one is unknown.
async fn expanded(
    expander: &mut Expander<'_>,
    is_builtin: bool,
    prompt: &Prompt,
) -> Result<Expanded, Failure> {
    let expanded = expander.expand(prompt).await?;
    expanded.map_err(|why| match is_builtin {
        false => Failure::new(
            Fault::InvalidArguments,
            format!("the prompt {:?} is skipped: {why}", prompt.name),
            "call prompts/list for the available prompts",
        ),
        true => unknown(&prompt.name),
    })
}

fn messages(expanded: Expanded, mut filler: Filler<'_>) -> Result<Vec<Message>, Failure> {
    let messages = expanded.messages.into_iter();
    let filled = messages.map(|(role, parts)| {
        let text = filler.text(parts)?;
        let content = Text {
            r#type: "text",
            text,
        };
        Ok(Message { role, content })
    });
    filled.collect()
}

/// The project of a named prompt that is available to the caller, and the names of its arguments.
pub(crate) async fn arguments_of(
    cx: &ToolContext,
    registry: &Registry,
    name: &str,
) -> Result<(Option<Arc<Project>>, Vec<String>), Failure> {
    let ResolvedPrompt {
        project, prompt, ..
    } = resolve(cx, registry, name).await?;
    let is_builtin = project.is_none();
    expanded(
        &mut Expander::new(cx, registry, project.as_ref()),
        is_builtin,
        &prompt,
    )
    .await?;
    let arguments = prompt.arguments.into_iter();
    Ok((project, arguments.map(|argument| argument.name).collect()))
}

/// A prompt that was resolved by its name.
struct ResolvedPrompt {
    /// Its project. `None` for a built-in prompt.
    project: Option<Arc<Project>>,
    /// Its file in that project.
    path: Option<String>,
    prompt: Prompt,
    /// The commit it was read from.
    commit: Option<String>,
}

async fn resolve(
    cx: &ToolContext,
    registry: &Registry,
    name: &str,
) -> Result<ResolvedPrompt, Failure> {
    if let Some(builtin_prompt) = builtin::all().iter().find(|it| it.name == name) {
        return Ok(ResolvedPrompt {
            project: None,
            path: None,
            prompt: builtin_prompt.clone(),
            commit: None,
        });
    }
    let (slug, name_in_project) = match name.split_once('/') {
        Some((project, name)) => (Some(project), name),
        None => (None, name),
    };
    let project = match project_of(cx, (slug, name_in_project)).await {
        Ok(project) => project,
        Err(failure) if slug.is_none() && failure.code.blame() == Blame::Caller => {
            let builtins: Vec<&Prompt> = builtin::all().iter().collect();
            let near = near(Expander::new(cx, registry, None), name, &builtins).await;
            return Err(did_you_mean(failure, &near));
        }
        Err(failure) => return Err(failure),
    };
    let snapshot = cx
        .read(&project, |repo, cancel| Ok(find(repo, cancel)?))
        .await?;
    let mut prompts = snapshot.value.prompts;
    let index = prompts
        .iter()
        .position(|(_, it)| it.name == name_in_project);
    let Some(index) = index else {
        let expander = Expander::new(cx, registry, Some(&project));
        let near = near_in_project(expander, (slug, name_in_project), &prompts).await;
        return Err(did_you_mean(unknown(name), &near));
    };
    let (path, prompt) = prompts.swap_remove(index);
    Ok(ResolvedPrompt {
        project: Some(project),
        path: Some(path),
        prompt,
        commit: snapshot.repo.head().map(|head| head.commit),
    })
}

/// Names near a prompt that a project does not have.
async fn near_in_project(
    expander: Expander<'_>,
    (slug, name): (Option<&str>, &str),
    prompts: &[(String, Prompt)],
) -> Vec<String> {
    let known = prompts.iter().map(|(_, it)| it).chain(builtin::all());
    let near = near(expander, name, &known.collect::<Vec<_>>()).await;
    let near = near
        .into_iter()
        .map(|near| match builtin::is_reserved(&near) {
            true => near,
            false => qualified(slug, &near),
        });
    near.collect()
}

/// The project of a prompt, if the caller may read its documents. Any other counts as missing, like its prompts.
async fn project_of(
    cx: &ToolContext,
    (slug, name): (Option<&str>, &str),
) -> Result<Arc<Project>, Failure> {
    let absent = |refused_by| Failure {
        code: Fault::ProjectNotFound,
        refused_by,
        ..unknown(&qualified(slug, name))
    };
    if !cx.reads_documents() {
        return Err(absent(None));
    }
    let families = cx.document_families();
    let failure = match cx.project_by(families, slug).await {
        Ok(project) => return Ok(project),
        Err(failure) => failure,
    };
    let in_project = |slug: &str| format!("{slug}/{}", text::shown(name));
    if failure.code != Fault::ProjectNotFound {
        return Err(naming_a_project(failure, in_project));
    }
    let near = cx.nearest_project(families, slug).await?;
    let near: Vec<String> = near.iter().map(|slug| in_project(slug)).collect();
    Err(did_you_mean(absent(failure.refused_by), &near))
}

/// The name of a project's prompt: with the project's slug, if there is one.
fn qualified(slug: Option<&str>, name: &str) -> String {
    match slug {
        Some(slug) => format!("{slug}/{name}"),
        None => name.to_owned(),
    }
}

fn unknown(name: &str) -> Failure {
    let message = format!("there is no prompt {:?}", text::shown(name));
    let suggestion = "call prompts/list for the prompts there are";
    Failure::new(Fault::InvalidArguments, message, suggestion)
}
