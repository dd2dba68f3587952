//! `prompts/list`: the prompts that are available to the caller, and why others of its projects are skipped. Built-in
//! prompts are left out without a word, like the tools that the caller may not call.

use archway_proto::{failure::Failure, fault::Fault};
use serde::Serialize;

use super::{
    builtin,
    discovery::find,
    expand::Expander,
    file::{Argument, Prompt},
};
use crate::{
    context::ToolContext,
    resources::{ListArgs, ListNotes, PageProject},
    tools::{Registry, Reply},
};

/// The available prompts.
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

/// Returns a page of prompts.
pub(crate) async fn list(
    cx: &ToolContext,
    registry: &Registry,
    args: ListArgs,
) -> Result<Reply<Prompts>, Failure> {
    let is_start = args.is_start();
    let (entries, mut page) = args.begin(cx).await?;
    let mut notes = ListNotes::default();
    if is_start {
        let all = builtin::all().iter().map(|prompt| ("", prompt));
        let checked = check(Expander::new(cx, registry, None), None, all).await?;
        page.add("", checked.listed);
    }
    for entry in &entries {
        if !page.has_room_for(&entry.project.slug) {
            break;
        }
        let found = cx.read(&entry.project, |repo, cancel| Ok(find(repo, cancel)?));
        let Some(found) = notes.record(entry, found.await)? else {
            continue;
        };
        let expander = Expander::new(cx, registry, Some(&entry.project));
        let prompts = found.prompts.iter();
        let prompts = prompts.map(|(path, prompt)| (path.as_str(), prompt));
        let checked = check(expander, Some(entry), prompts).await?;
        let skipped = found.skipped.iter().chain(&checked.skipped);
        skipped.for_each(|it| notes.skip(entry, it));
        let slice = page.slice_of(&entry.project.slug);
        let slice = slice.select(checked.listed.into_iter())?;
        page.add(&entry.project.slug, slice);
    }
    if !notes.skipped().is_empty() {
        tracing::warn!(tenant.id = %cx.tenant(), skipped = ?notes.skipped(), "prompts are skipped");
    }
    let (prompts, cursor) = page.finish();
    Ok(notes.attach_to(Reply::new(Prompts { prompts }).cursor(cursor)))
}

/// Prompts that were checked for availability.
#[derive(Default)]
struct Checked {
    listed: Vec<(String, Listed)>,
    skipped: Vec<String>,
}

/// Selects the prompts that name only what is available to the caller, by name.
async fn check<'p>(
    mut expander: Expander<'_>,
    entry: Option<&PageProject>,
    prompts: impl Iterator<Item = (&'p str, &'p Prompt)>,
) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    let prefix = entry.and_then(|entry| entry.prefix.as_deref());
    for (path, prompt) in prompts {
        let expanded = match expander.expand(prompt).await {
            Err(failure) if failure.code == Fault::DeadlineExceeded => return Err(failure),
            // If one prompt can't be read, the others are still listed.
            Err(_failure) => Err("a resource that it names can't be read at the moment".to_owned()),
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
