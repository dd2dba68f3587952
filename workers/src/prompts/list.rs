//! `prompts/list`: those that name only what is there for the caller, and why others are left out.

use archway_proto::{failure::Failure, fault::Fault};
use serde::Serialize;

use super::{
    builtin,
    expand::Expander,
    file::{Argument, Prompt},
    found::find,
};
use crate::{
    context::ToolContext,
    resources::{ListArgs, Said, Shelf},
    tools::{Registry, Reply},
};

/// The prompts that a caller can ask for.
#[derive(Serialize)]
pub(crate) struct Prompts {
    prompts: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    arguments: Vec<Argument>,
}

/// A page of the prompts.
pub(crate) async fn list(
    cx: &ToolContext,
    registry: &Registry,
    args: ListArgs,
) -> Result<Reply<Prompts>, Failure> {
    let is_start = args.is_start();
    let (shelves, mut page) = args.begin(cx).await?;
    let (mut said, mut ours) = (Said::default(), Vec::new());
    if is_start {
        let all = builtin::all().iter().map(|prompt| ("built-in", prompt));
        let checked = check(Expander::new(cx, registry, None), None, all).await?;
        page.add("", checked.listed);
        ours = checked.skipped;
    }
    for shelf in &shelves {
        if !page.goes_on(&shelf.project.slug) {
            break;
        }
        let found = cx.read(&shelf.project, |repo, cancel| Ok(find(repo, cancel)?));
        let Some(found) = said.of(shelf, found.await)? else {
            continue;
        };
        let expander = Expander::new(cx, registry, Some(&shelf.project));
        let prompts = found.prompts.iter();
        let prompts = prompts.map(|(path, prompt)| (path.as_str(), prompt));
        let checked = check(expander, Some(shelf), prompts).await?;
        let skipped = found.skipped.iter().chain(&checked.skipped);
        skipped.for_each(|it| said.skip(shelf, it));
        let wanted = page.wants(&shelf.project.slug);
        let wanted = wanted.of(checked.listed.into_iter())?;
        page.add(&shelf.project.slug, wanted);
    }
    // Which of our own a key has no tools for is no news to the operator.
    if !said.skipped().is_empty() {
        tracing::warn!(tenant.id = %cx.tenant(), skipped = ?said.skipped(), "prompts are left out");
    }
    let (prompts, cursor) = page.end();
    said.own(ours);
    Ok(said.with(Reply::new(Prompts { prompts }).cursor(cursor)))
}

/// Prompts that were held against what there is.
#[derive(Default)]
struct Checked {
    listed: Vec<(String, Listed)>,
    skipped: Vec<String>,
}

/// Those of the prompts that name only what is there for the caller, by name.
async fn check<'p>(
    mut expander: Expander<'_>,
    shelf: Option<&Shelf>,
    prompts: impl Iterator<Item = (&'p str, &'p Prompt)>,
) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    let prefix = shelf.and_then(|shelf| shelf.prefix.as_deref());
    for (path, prompt) in prompts {
        let expanded = match expander.expand(prompt).await {
            Err(failure) if failure.code == Fault::DeadlineExceeded => return Err(failure),
            // What one prompt names is no reason to show no other.
            Err(_failure) => Err("what it names can't be read at the moment".to_owned()),
            Ok(expanded) => expanded,
        };
        if let Err(why) = expanded {
            let name = &prompt.name;
            let sentence = format!("{path} ({name}) is skipped: {why}");
            checked.skipped.push(sentence);
            continue;
        }
        let name = match prefix {
            Some(project) => format!("{project}/{}", prompt.name),
            None => prompt.name.clone(),
        };
        let shown = Listed {
            name: name.clone(),
            title: prompt.title.clone(),
            description: prompt.description.clone(),
            arguments: prompt.arguments.clone(),
        };
        checked.listed.push((name, shown));
    }
    Ok(checked)
}
