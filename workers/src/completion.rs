//! `completion/complete`: values for the variables of resource templates and for what prompts take.
//!
//! Paths are not completed: a tree may have a million, and `list_files` is better at it.

use std::collections::BTreeMap;
use std::sync::Arc;

use archway_architecture::document::Kind;
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use serde::{Deserialize, Serialize};

use crate::{
    context::ToolContext,
    projects::Project,
    prompts,
    resources::{Variable, variables},
    tools::Reply,
};

/// Values in an answer, as MCP has it.
const MOST: usize = 100;

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct CompleteArgs {
    r#ref: Reference,
    argument: Argument,
    #[serde(default)]
    context: Known,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Default, Deserialize)]
struct Known {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

/// The values that fit.
#[derive(Serialize)]
pub(crate) struct Completions {
    completion: Completion,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    values: Vec<String>,
    total: usize,
    has_more: bool,
}

/// The values that what was typed so far may become.
pub(crate) async fn complete(
    cx: &ToolContext,
    args: CompleteArgs,
) -> Result<Reply<Completions>, Failure> {
    let name = args.argument.name.as_str();
    let all = match &args.r#ref {
        Reference::Resource { uri } => {
            let variable = variables(cx, uri)
                .ok_or_else(|| unknown("resource template", uri))?
                .iter()
                .find(|(known, _)| *known == name);
            let (_, variable) = variable.ok_or_else(|| unknown("variable", name))?;
            of_variable(cx, *variable, &args.context.arguments).await?
        }
        Reference::Prompt { name: prompt } => {
            let (home, names) = prompts::arguments_of(cx, prompt).await?;
            if !names.iter().any(|known| known == name) {
                return Err(unknown("argument", name));
            }
            of_argument(cx, name, home).await?
        }
    };
    Ok(Reply::new(Completions {
        completion: fitting(all, &args.argument.value),
    }))
}

async fn of_variable(
    cx: &ToolContext,
    variable: Variable,
    known: &BTreeMap<String, String>,
) -> Result<Vec<String>, Failure> {
    match variable {
        Variable::Project => slugs(cx).await,
        Variable::Kind => Ok(Kind::ALL.map(|kind| kind.name().to_owned()).to_vec()),
        Variable::Slug => {
            let project = match cx.project(known.get("project").map(String::as_str)).await {
                Ok(project) => project,
                // Which it is, the client has not said yet.
                Err(failure) if failure.code.blame() == archway_proto::fault::Blame::Caller => {
                    return Ok(Vec::new());
                }
                Err(failure) => return Err(failure),
            };
            let kind = known.get("kind").and_then(|kind| Kind::of_name(kind));
            documents(cx, &project, kind).await
        }
        Variable::Path => Ok(Vec::new()),
    }
}

/// By its name: prompts say nothing else of what their arguments are.
async fn of_argument(
    cx: &ToolContext,
    name: &str,
    home: Option<Arc<Project>>,
) -> Result<Vec<String>, Failure> {
    let kind = match name {
        "project" => return slugs(cx).await,
        "pattern" | "pattern_name" | "pattern-name" => Kind::Pattern,
        "adr" | "adr_id" | "adr-id" => Kind::Adr,
        "guideline" => Kind::Guideline,
        _ => return Ok(Vec::new()),
    };
    let project = match home {
        Some(home) => home,
        None => match cx.default_project(&cx.projects().await?) {
            Some(project) => project,
            None => return Ok(Vec::new()),
        },
    };
    documents(cx, &project, Some(kind)).await
}

async fn slugs(cx: &ToolContext) -> Result<Vec<String>, Failure> {
    let projects = cx.projects().await?;
    Ok(projects.iter().map(|it| it.slug.clone()).collect())
}

async fn documents(
    cx: &ToolContext,
    project: &Project,
    kind: Option<Kind>,
) -> Result<Vec<String>, Failure> {
    if !cx.reads_documents() {
        return Ok(Vec::new());
    }
    let libraries = cx.libraries().clone();
    let slugs = cx.read(project, move |repo, cancel| {
        let library = libraries.of(repo, cancel)?;
        let documents = library.documents().iter();
        let documents = documents.filter(|it| kind.is_none_or(|kind| it.kind == kind));
        Ok(documents.map(|it| it.slug.clone()).collect())
    });
    Ok(slugs.await?.value)
}

/// Those that begin with what was typed, then those that have it, case ignored.
fn fitting(all: Vec<String>, typed: &str) -> Completion {
    let typed = typed.to_lowercase();
    let place = |value: &String| value.to_lowercase().find(&typed);
    let mut values: Vec<String> = all.into_iter().filter(|it| place(it).is_some()).collect();
    values.sort_by_key(|value| place(value) != Some(0));
    let total = values.len();
    values.truncate(MOST);
    Completion {
        has_more: total > values.len(),
        values,
        total,
    }
}

fn unknown(what: &str, name: &str) -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        format!("there is no {what} {:?}", text::shown(name)),
        "call resources/templates/list or prompts/list for those there are",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_so_comes_first_and_no_more_than_a_hundred_come() {
        let all = ["0001-use-postgres", "Postgres", "postgres-roles", "redis"];
        let found = fitting(all.map(str::to_owned).to_vec(), "POST");
        assert_eq!(
            found.values,
            ["Postgres", "postgres-roles", "0001-use-postgres"]
        );
        assert_eq!((found.total, found.has_more), (3, false));
        let many = (0..150).map(|number| format!("a{number}")).collect();
        let found = fitting(many, "");
        assert_eq!(
            (found.values.len(), found.total, found.has_more),
            (100, 150, true)
        );
    }
}
