//! `check_adr_alignment`: whether a proposal agrees with the decisions of a project.
//!
//! Rules decide, so the same texts always get the same answer. If a chat model is configured, it
//! may correct the labels ([`refine`]). A failure of the model does not fail the call.

mod records;
mod refine;

use std::sync::Arc;

use archway_architecture::{
    alignment::{Alignment, Finding, Proposal, align},
    document::{Document, Kind},
    library::{Libraries, Library},
    search::{MissingVectors, Vectors},
};
use archway_index::embed::Embedder;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo, RepoError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::records::{decisions, documents, name, successors};
use super::vectors;
use crate::blocking::Load;
use crate::context::Snapshot;
use crate::projects::Project;
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
    const DESCRIPTION: &'static str = "Check before deciding or building something which of the \
        project's architecture decisions (ADRs) concern it, with the sentence that decides. Only \
        certain conflicts are named. To find ADRs use search_architecture.";
    const FAMILY: &'static str = "architecture";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const UNTRUSTED: bool = true;
    type Args = AlignArgs;
    type Output = AlignmentAnswer;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: AlignArgs) -> Result<Reply<AlignmentAnswer>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let default = cx.default_project(&cx.projects().await?);
        let is_default = default.is_some_and(|default| default.slug == project.slug);
        let until = vectors::wait_until(cx);
        // The alignment has the built-in table's vectors of each sentence. Those of passages add to it
        // only if a service makes them.
        let is_service = cx.index().embedder().embed_locally(&[]).is_none();
        let vector = match is_service {
            true => vectors::of_text(cx, &project, &args.decision_description, until).await,
            false => None,
        };
        let check = Arc::new(Check {
            slug: (!is_default).then(|| project.slug.clone()),
            budget: cx.max_result_bytes(),
            libraries: cx.libraries().clone(),
            vectors: cx.vectors().clone(),
            embedder: Arc::clone(cx.index().embedder()),
            vector,
            args,
        });
        let mut snapshot = check.run_once(cx, &project).await?;
        if let Some(missing) = snapshot.value.missing_vectors.take()
            && check.vectors.fetch(missing, &check.embedder, until).await
        {
            snapshot = check.run_once(cx, &project).await?;
        }
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
    /// Vectors that must be computed first, if any.
    missing_vectors: Option<MissingVectors>,
}

/// The inputs of a check.
struct Check {
    /// The project's slug, if URIs must name it.
    slug: Option<String>,
    budget: usize,
    libraries: Libraries,
    vectors: Vectors,
    embedder: Arc<Embedder>,
    /// The proposal's vector, if any.
    vector: Option<Vec<f32>>,
    args: AlignArgs,
}

impl Check {
    async fn run_once(
        self: &Arc<Self>,
        cx: &ToolContext,
        project: &Project,
    ) -> Result<Snapshot<Checked>, Failure> {
        let check = Arc::clone(self);
        cx.read(project, move |repo, cancel| check.run(repo, cancel))
            .await
    }

    /// Aligns the proposal with the decisions by rules alone.
    fn run(&self, repo: &Repo, cancel: &Cancel) -> Result<Checked, Failure> {
        let library = self.libraries.of(repo, cancel)?;
        let (nearest, missing_vectors) = self.nearest(repo, &library, cancel)?;
        let proposal = Proposal {
            description: &self.args.decision_description,
            context: self.args.decision_context.as_deref(),
            nearest: nearest.as_deref(),
        };
        let alignment = {
            let documents = documents(&library);
            let successors = successors(&documents);
            let decisions = decisions(&documents, &successors, cancel);
            decisions.and_then(|decisions| align(&decisions, &proposal, cancel))
        };
        let alignment = alignment.map_err(RepoError::from)?;
        Ok(Checked {
            library,
            alignment,
            missing_vectors,
        })
    }

    /// The similarity of the nearest passage of each decision, or the vectors that are missing for it.
    fn nearest(
        &self,
        repo: &Repo,
        library: &Library,
        cancel: &Cancel,
    ) -> Result<(Option<Vec<f32>>, Option<MissingVectors>), Failure> {
        let Some(vector) = &self.vector else {
            return Ok((None, None));
        };
        let all = self.vectors.of(repo.key(), library, &self.embedder, cancel);
        let all = match all.map_err(RepoError::from)? {
            Ok(all) => all.unwrap_or_default(),
            Err(missing) => return Ok((None, Some(missing))),
        };
        let documents = library.documents().iter().zip(&all);
        let decisions = documents.filter(|(document, _)| document.kind == Kind::Adr);
        let nearest = decisions.map(|(_, vectors)| vectors.similarity(vector));
        Ok((Some(nearest.collect()), None))
    }

    /// Lets the chat model correct the alignment, if one is configured and there are findings.
    /// Returns the outcome.
    async fn refine(&self, cx: &ToolContext, checked: &mut Checked) -> Option<Value> {
        let chat = cx.chat()?;
        let Checked {
            library, alignment, ..
        } = checked;
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
        let Checked {
            library, alignment, ..
        } = checked;
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
