//! `validate_pattern`: checks code against a documented pattern.

mod named;

use archway_architecture::rules::{self, Findings, Severity};
use archway_proto::failure::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, paging, schema::is_false};

/// Checks code against a pattern.
pub(in crate::tools) struct ValidatePattern;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct ValidateArgs {
    /// Code to validate.
    #[schemars(length(min = 1, max = 50_000))]
    code: String,
    /// Name of the pattern: its document's file name without suffix, e.g. "repository-pattern".
    #[schemars(length(min = 1, max = 200))]
    pattern_name: String,
    /// Language of the code, e.g. "typescript" or "py"; guessed from the pattern if absent.
    #[schemars(length(min = 1, max = 64))]
    language: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Validation {
    /// All rules ran to their end on code that parses, without an error.
    compliant: bool,
    pattern: String,
    violations: Vec<Violation>,
    /// Including those not shown.
    total_violations: usize,
    suggestions: Vec<String>,
    rules_checked: usize,
    /// Sentences that no machine can check; `suggestions` names them.
    #[serde(default, skip_serializing_if = "is_zero_count")]
    sentences_not_checked: usize,
    /// As it was parsed; absent for plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    /// Rules that did not run, or not to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedRule>,
    /// Violations were omitted, or the check was cut short.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct Violation {
    /// The rule's id, or what a sentence demands.
    rule: String,
    description: String,
    severity: Level,
    /// From 1; absent where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Found by words alone: verify it.
    #[serde(default, skip_serializing_if = "is_false")]
    heuristic: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
}

#[derive(Serialize, JsonSchema)]
struct SkippedRule {
    rule: String,
    reason: String,
}

impl Tool for ValidatePattern {
    const NAME: &'static str = "validate_pattern";
    const TITLE: &'static str = "Validate code against a pattern";
    const DESCRIPTION: &'static str = "Check code against a pattern that the project documents: its \
        ast-grep rules, and sentences with MUST or SHOULD about names. Says which lines break which \
        rule, before you write or propose the code.";
    const FAMILY: &'static str = "architecture";
    const PER_MINUTE: Option<u32> = Some(30);
    const WEIGHT: u32 = 5;
    const UNTRUSTED: bool = true;
    type Args = ValidateArgs;
    type Output = Validation;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: ValidateArgs) -> Result<Reply<Validation>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (libraries, budget) = (cx.libraries().clone(), cx.max_result_bytes());
        let check = move |repo: &_, cancel: &_| {
            let library = libraries.of(repo, cancel)?;
            let pattern = named::pattern(&library, &args.pattern_name)?;
            let language = args.language.as_deref();
            let document = &pattern.content.markdown;
            let findings = rules::check(document, &args.code, language, cancel)?;
            let left_out = library.omitted().to_vec();
            Ok(CheckedPattern {
                pattern: pattern.slug.clone(),
                path: pattern.path.display(),
                findings,
                left_out,
            })
        };
        let mut snapshot = cx.read(&project, check).await?;
        let is_late = snapshot.value.findings.late;
        let left_out = std::mem::take(&mut snapshot.value.left_out);
        let path = std::mem::take(&mut snapshot.value.path);
        let mut skipped = Vec::new();
        let reply = Reply::from_snapshot(snapshot, |checked| {
            let validation = Validation::of(checked.pattern, checked.findings, budget);
            skipped.extend(validation.skipped.iter().map(SkippedRule::sentence));
            validation
        });
        let reply = reply.incomplete(is_late).warn(left_out).skipped(skipped);
        // The answer quotes its sentences and rules.
        Ok(reply.of_files([path]))
    }
}

/// The findings for one pattern.
struct CheckedPattern {
    /// The slug of the pattern.
    pattern: String,
    path: String,
    findings: Findings,
    left_out: Vec<String>,
}

impl Validation {
    /// The findings that fit into `budget` bytes.
    fn of(pattern: String, findings: Findings, budget: usize) -> Validation {
        let mut validation = Validation {
            compliant: findings.compliant(),
            pattern,
            violations: findings
                .violations
                .into_iter()
                .map(Violation::from)
                .collect(),
            total_violations: findings.total,
            suggestions: findings.advice,
            rules_checked: findings.checked,
            sentences_not_checked: findings.unchecked,
            language: findings.language,
            skipped: findings
                .skipped
                .into_iter()
                .map(SkippedRule::from)
                .collect(),
            truncated: false,
        };
        // The other lists are short. At least half of the room is reserved for violations.
        let quarter = budget / 4;
        let advice = paging::fit(&validation.suggestions, quarter);
        validation.suggestions.truncate(advice);
        validation
            .skipped
            .truncate(paging::fit(&validation.skipped, quarter));
        let taken =
            paging::size_of_all(&validation.suggestions) + paging::size_of_all(&validation.skipped);
        let shown = paging::fit(&validation.violations, budget.saturating_sub(taken));
        validation.violations.truncate(shown);
        let is_cut = validation.violations.len() < validation.total_violations;
        validation.truncated = is_cut || findings.incomplete;
        validation
    }
}

impl SkippedRule {
    fn sentence(&self) -> String {
        format!("the rule {} is skipped: {}", self.rule, self.reason)
    }
}

fn is_zero_count(count: &usize) -> bool {
    *count == 0
}

impl From<rules::Violation> for Violation {
    fn from(found: rules::Violation) -> Violation {
        Violation {
            rule: found.rule,
            description: found.description,
            severity: match found.severity {
                Severity::Error => Level::Error,
                Severity::Warning => Level::Warning,
            },
            line: found.line,
            heuristic: found.heuristic,
        }
    }
}

impl From<rules::Skipped> for SkippedRule {
    fn from(skipped: rules::Skipped) -> SkippedRule {
        SkippedRule {
            rule: skipped.rule,
            reason: skipped.reason,
        }
    }
}
