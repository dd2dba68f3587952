//! `check_adr_alignment`: whether a proposal agrees with the decisions of a project.
//!
//! Rules decide, so the same texts always get the same answer. If a chat model is configured, it
//! may correct the labels ([`refine`]). A failure of the model does not fail the call.

mod refine;

use std::collections::HashMap;
use std::sync::Arc;

use archway_architecture::{
    alignment::{Alignment, Decision, Finding, Label, Proposal, align},
    document::{Document, Kind},
    library::{Libraries, Library},
};
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo, RepoError, Stopped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, markdown::cut, paging, schema::is_false};

/// Maximum length of a title in bytes.
const MAX_TITLE_BYTES: usize = 200;
/// Maximum number of decisions in the answer.
const MAX_DECISIONS: usize = 50;

/// Compares a proposal with the decisions of a project.
pub(in crate::tools) struct CheckAdrAlignment;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct AlignArgs {
    /// What is to be decided, in whole sentences.
    #[schemars(length(min = 1, max = 5000))]
    decision_description: String,
    /// The problem, or its background.
    #[schemars(length(max = 2000))]
    decision_context: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct AlignmentAnswer {
    /// Those in conflict first.
    related_adrs: Vec<RelatedAdr>,
    conflicts: Vec<Conflict>,
    suggestions: Vec<String>,
    /// Not all decisions are shown, to fit the answer's size.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct RelatedAdr {
    /// Its file, for the audit record.
    #[serde(skip)]
    path: String,
    uri: String,
    title: String,
    /// Its number, or its file's stem.
    adr_id: String,
    /// proposed, accepted, rejected, deprecated, superseded or unknown.
    status: &'static str,
    /// supports, conflicts or related.
    alignment: &'static str,
    /// Quotes the sentence that it rests on.
    reason: String,
}

#[derive(Serialize, JsonSchema)]
struct Conflict {
    /// The decision's file, for the audit record.
    #[serde(skip)]
    path: String,
    adr_uri: String,
    conflict_description: String,
}

impl AlignmentAnswer {
    /// The files of the quoted decisions.
    fn files(&self) -> impl Iterator<Item = &str> {
        let related = self.related_adrs.iter().map(|adr| adr.path.as_str());
        let conflicts = self.conflicts.iter();
        related.chain(conflicts.map(|conflict| conflict.path.as_str()))
    }
}

impl Tool for CheckAdrAlignment {
    const NAME: &'static str = "check_adr_alignment";
    const TITLE: &'static str = "Check a proposal against ADRs";
    const DESCRIPTION: &'static str = "Check before deciding or building something whether it fits \
        the project's architecture decisions (ADRs): which support it, which it conflicts with, and \
        why. To merely find ADRs use search_architecture.";
    const FAMILY: &'static str = "architecture";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const LOAD: Load = Load::Heavy;
    const UNTRUSTED: bool = true;
    type Args = AlignArgs;
    type Output = AlignmentAnswer;

    async fn run(cx: &ToolContext, args: AlignArgs) -> Result<Reply<AlignmentAnswer>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let default = cx.default_project(&cx.projects().await?);
        let is_default = default.is_some_and(|default| default.slug == project.slug);
        let check = Arc::new(Check {
            slug: (!is_default).then(|| project.slug.clone()),
            budget: cx.max_result_bytes(),
            libraries: cx.libraries().clone(),
            args,
        });
        let checker = Arc::clone(&check);
        let check_by_rules = move |repo: &Repo, cancel: &Cancel| checker.run(repo, cancel);
        let mut snapshot = cx.read(&project, check_by_rules).await?;
        let refined = check.refine(cx, &mut snapshot.value).await;
        let left_out = snapshot.value.library.omitted().to_vec();
        let mut files = Vec::new();
        let reply = Reply::from_snapshot(snapshot, |checked| {
            let aligned = check.shown(checked);
            files.extend(aligned.files().map(str::to_owned));
            aligned
        });
        Ok(reply.warn(left_out).refined(refined).of_files(files))
    }
}

/// The alignment of the proposal with the decisions of a library.
struct Checked {
    library: Arc<Library>,
    alignment: Alignment,
}

/// The inputs of a check.
struct Check {
    /// The project's slug, if URIs must name it.
    slug: Option<String>,
    budget: usize,
    libraries: Libraries,
    args: AlignArgs,
}

impl Check {
    /// Aligns the proposal with the decisions by rules alone.
    fn run(&self, repo: &Repo, cancel: &Cancel) -> Result<Checked, Failure> {
        let library = self.libraries.of(repo, cancel)?;
        let proposal = Proposal {
            description: &self.args.decision_description,
            context: self.args.decision_context.as_deref(),
        };
        let alignment = {
            let documents = documents(&library);
            let successors = successors(&documents);
            let decisions = decisions(&documents, &successors, cancel);
            decisions.and_then(|decisions| align(&decisions, &proposal, cancel))
        };
        let alignment = alignment.map_err(RepoError::from)?;
        Ok(Checked { library, alignment })
    }

    /// Lets the chat model correct the alignment, if one is configured and there are findings.
    /// Returns the outcome.
    async fn refine(&self, cx: &ToolContext, checked: &mut Checked) -> Option<Value> {
        let chat = cx.chat()?;
        let Checked { library, alignment } = checked;
        if alignment.found.is_empty() {
            return None;
        }
        let documents = documents(library);
        let successors = successors(&documents);
        // The decisions were parsed before, so this is fast.
        let decisions = decisions(&documents, &successors, cx.cancel()).ok()?;
        let records = (documents.as_slice(), decisions.as_slice());
        let refined = refine::refine(cx, chat, &self.args, alignment, records).await;
        Some(refined.meta_field(chat))
    }

    fn shown(&self, checked: Checked) -> AlignmentAnswer {
        let Checked { library, alignment } = checked;
        let documents = documents(&library);
        let found = alignment.found.len();
        let (mut related, mut conflicts) = (Vec::new(), Vec::new());
        for mut finding in alignment.found.into_iter().take(MAX_DECISIONS) {
            let conflict = finding.conflict.take();
            let document = documents.get(finding.decision);
            let Some(adr) = document.and_then(|document| self.related(document, finding)) else {
                continue;
            };
            conflicts.extend(conflict.map(|conflict_description| Conflict {
                path: adr.path.clone(),
                adr_uri: adr.uri.clone(),
                conflict_description,
            }));
            related.push(adr);
        }
        // Conflicts and suggestions matter most. Each may take a quarter.
        let quarter = self.budget / 4;
        let mut suggestions = alignment.suggestions;
        suggestions.truncate(paging::fit(&suggestions, quarter));
        conflicts.truncate(paging::fit(&conflicts, quarter));
        related.truncate(paging::fit(&related, self.budget / 2));
        AlignmentAnswer {
            truncated: related.len() < found,
            related_adrs: related,
            conflicts,
            suggestions,
        }
    }

    fn related(&self, document: &Document, finding: Finding) -> Option<RelatedAdr> {
        let record = document.record.as_ref()?;
        Some(RelatedAdr {
            path: document.path.display(),
            uri: document.uri(self.slug.as_deref()),
            title: cut(&document.title, MAX_TITLE_BYTES).to_owned(),
            adr_id: record.id.clone(),
            status: record.status.name(),
            alignment: name(finding.label),
            reason: finding.reason,
        })
    }
}

/// The decision records of a library. Decisions are identified by their index here.
fn documents(library: &Library) -> Vec<&Document> {
    library.of_kind(Kind::Adr).collect()
}

/// The decision of each document.
fn decisions<'a>(
    documents: &[&'a Document],
    successors: &'a [Vec<usize>],
    cancel: &Cancel,
) -> Result<Vec<Decision<'a>>, Stopped> {
    let mut decisions = Vec::with_capacity(documents.len());
    for (document, successors) in documents.iter().zip(successors) {
        cancel.check()?;
        decisions.extend(decision(document, successors));
    }
    Ok(decisions)
}

/// For each decision, the indexes of those that supersede it.
fn successors(documents: &[&Document]) -> Vec<Vec<usize>> {
    let indexes = documents.iter().enumerate();
    let indexes: HashMap<&str, usize> = indexes
        .map(|(at, document)| (document.slug.as_str(), at))
        .collect();
    let index_of = |slug: &String| indexes.get(slug.as_str()).copied();
    let of = |document: &&Document| {
        let record = document.record.as_ref();
        let slugs = record.into_iter().flat_map(|record| &record.superseded_by);
        slugs.filter_map(index_of).collect()
    };
    documents.iter().map(of).collect()
}

fn decision<'a>(document: &'a Document, successors: &'a [usize]) -> Option<Decision<'a>> {
    let record = document.record.as_ref()?;
    Some(Decision {
        id: &record.id,
        status: record.status,
        successors,
        positions: document.positions()?,
        markdown: &document.content.markdown,
        source: document.text(),
    })
}

fn name(label: Label) -> &'static str {
    match label {
        Label::Conflicts => "conflicts",
        Label::Supports => "supports",
        Label::Related => "related",
    }
}
