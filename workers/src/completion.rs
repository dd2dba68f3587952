//! `completion/complete`: values for the variables of resource templates and the arguments of
//! prompts.
//!
//! Paths are not completed: a tree may have a million, and `list_files` does that better.

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
    tools::{Registry, Reply},
};

/// Maximum number of values in an answer, set by MCP.
const MAX_VALUES: usize = 100;

/// The params of `completion/complete`.
#[derive(Deserialize)]
pub(crate) struct CompleteArgs {
    r#ref: Reference,
    argument: Argument,
    #[serde(default)]
    context: CompletionContext,
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
struct CompletionContext {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

/// The answer to `completion/complete`.
#[derive(Serialize)]
pub(crate) struct Completions {
    completion: Completion,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    /// At most [`MAX_VALUES`].
    values: Vec<String>,
    /// The number of all values that match.
    total: usize,
    has_more: bool,
}

/// Returns the values that complete the text typed so far.
pub(crate) async fn complete(
    cx: &ToolContext,
    registry: &Registry,
    args: CompleteArgs,
) -> Result<Reply<Completions>, Failure> {
    let name = args.argument.name.as_str();
    let candidates = match &args.r#ref {
        Reference::Resource { uri } => {
            let declared = variables(cx, uri).ok_or_else(|| unknown_template(uri))?;
            let variable = declared.iter().find(|(declared, _)| *declared == name);
            let (_, variable) = variable.ok_or_else(|| {
                let declared: Vec<&str> = declared.iter().map(|(name, _)| *name).collect();
                unknown_name("variable", name, &declared)
            })?;
            values_of_variable(cx, *variable, &args.context.arguments).await?
        }
        Reference::Prompt { name: prompt } => {
            let (owner, names) = prompts::arguments_of(cx, registry, prompt).await?;
            let declared: Vec<&str> = names.iter().map(String::as_str).collect();
            if !declared.contains(&name) {
                return Err(unknown_name("argument", name, &declared));
            }
            values_of_argument(cx, name, owner).await?
        }
    };
    Ok(Reply::new(Completions {
        completion: matching(candidates, &args.argument.value),
    }))
}

async fn values_of_variable(
    cx: &ToolContext,
    variable: Variable,
    context: &BTreeMap<String, String>,
) -> Result<Vec<String>, Failure> {
    match variable {
        Variable::Project => slugs(cx).await,
        Variable::Kind => Ok(Kind::ALL.map(|kind| kind.name().to_owned()).to_vec()),
        Variable::Slug => {
            let named = context.get("project").map(String::as_str);
            let project = match cx.project_by(cx.document_families(), named).await {
                Ok(project) => project,
                // No project was chosen, or one that the caller cannot read: nothing to suggest.
                Err(failure) if failure.code.blame() == archway_proto::fault::Blame::Caller => {
                    return Ok(Vec::new());
                }
                Err(failure) => return Err(failure),
            };
            let kinds = suggested_kinds(context.get("kind").map(String::as_str));
            document_slugs(cx, &project, &kinds).await
        }
        Variable::Path => Ok(Vec::new()),
    }
}

/// The kinds of documents to suggest: all unless the client has chosen one. No URI exists for an
/// unknown kind, so it has no values.
fn suggested_kinds(chosen: Option<&str>) -> Vec<Kind> {
    match chosen {
        Some(name) => Kind::of_name(name).into_iter().collect(),
        None => Kind::ALL.to_vec(),
    }
}

/// Prompt arguments have no type, so the name decides which values to suggest.
async fn values_of_argument(
    cx: &ToolContext,
    name: &str,
    owner: Option<Arc<Project>>,
) -> Result<Vec<String>, Failure> {
    let kind = match name {
        "project" => return slugs(cx).await,
        "pattern" | "pattern_name" | "pattern-name" => Kind::Pattern,
        "adr" | "adr_id" | "adr-id" => Kind::Adr,
        "guideline" => Kind::Guideline,
        _ => return Ok(Vec::new()),
    };
    let project = match owner {
        Some(owner) => owner,
        None => match cx.default_project(&cx.readable(cx.document_families()).await?.list()) {
            Some(project) => project,
            None => return Ok(Vec::new()),
        },
    };
    document_slugs(cx, &project, &[kind]).await
}

async fn slugs(cx: &ToolContext) -> Result<Vec<String>, Failure> {
    let projects = cx.projects().await?;
    Ok(projects.iter().map(|it| it.slug.clone()).collect())
}

async fn document_slugs(
    cx: &ToolContext,
    project: &Project,
    kinds: &[Kind],
) -> Result<Vec<String>, Failure> {
    if kinds.is_empty() || !cx.reads_documents() {
        return Ok(Vec::new());
    }
    let (libraries, kinds) = (cx.libraries().clone(), kinds.to_vec());
    let slugs = cx.read(project, move |repo, cancel| {
        let library = libraries.of(repo, cancel)?;
        let documents = library.documents().iter();
        let documents = documents.filter(|it| kinds.contains(&it.kind));
        Ok(documents.map(|it| it.slug.clone()).collect())
    });
    Ok(slugs.await?.value)
}

/// The values that begin with `typed`, then those that contain it, ignoring case.
fn matching(candidates: Vec<String>, typed: &str) -> Completion {
    let typed = typed.to_lowercase();
    let position = |value: &String| value.to_lowercase().find(&typed);
    let mut values: Vec<String> = candidates
        .into_iter()
        .filter(|it| position(it).is_some())
        .collect();
    values.sort_by_key(|value| position(value) != Some(0));
    let total = values.len();
    values.truncate(MAX_VALUES);
    Completion {
        has_more: total > values.len(),
        values,
        total,
    }
}

fn unknown_template(uri: &str) -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        format!("there is no resource template {:?}", text::shown(uri)),
        "give the uriTemplate of one in resources/templates/list",
    )
}

/// The failure for a name that is none of those declared.
fn unknown_name(what: &str, name: &str, declared: &[&str]) -> Failure {
    let suggestion = match declared.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", declared.join(", ")),
    };
    let message = format!("there is no {what} {:?}", text::shown(name));
    Failure::new(Fault::InvalidArguments, message, suggestion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_matches_come_first_and_at_most_a_hundred_are_returned() {
        let candidates = ["0001-use-postgres", "Postgres", "postgres-roles", "redis"];
        let completion = matching(candidates.map(str::to_owned).to_vec(), "POST");
        assert_eq!(
            completion.values,
            ["Postgres", "postgres-roles", "0001-use-postgres"]
        );
        assert_eq!((completion.total, completion.has_more), (3, false));
        let many = (0..150).map(|number| format!("a{number}")).collect();
        let completion = matching(many, "");
        assert_eq!(
            (
                completion.values.len(),
                completion.total,
                completion.has_more
            ),
            (100, 150, true)
        );
    }

    #[test]
    fn an_unknown_kind_has_no_values() {
        assert_eq!(suggested_kinds(None), Kind::ALL);
        assert_eq!(suggested_kinds(Some(Kind::Adr.name())), [Kind::Adr]);
        assert_eq!(suggested_kinds(Some("adrs")), []);
    }
}
