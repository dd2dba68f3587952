//! Runs ast-grep rules: builds them from a document's YAML, and matches them against the code's
//! tree.
//!
//! Each rule is built and run inside of `catch_unwind`: a panic in ast-grep fails only that rule.
//! `fix` and `transform` are removed, because nothing is rewritten; variables that only they define
//! stay unfilled in messages.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use archway_proto::chain::Chain;
use archway_repo::{
    Cancel, Stopped,
    syntax::large_stack::{LargeStackError, LargeStackThreads},
    text::shown,
};
use ast_grep_config::{
    GlobalRules, RuleConfigError, RuleCore, SerializableRuleConfig, Severity as AstGrepSeverity,
};
use ast_grep_core::{
    AstGrep, Matcher, Node,
    matcher::{MatcherExt, NodeMatch},
};
use tokio::time::{Duration, Instant};

use super::{
    Findings, Severity, Skipped, Violation,
    budget::{Budget, Limit, STACK},
    counted::CountedDoc,
    dialect::Dialect,
    message::fill,
    parsed_code::ParsedCode,
    rule_source::RuleSource,
};

/// The maximum number of calls whose rules run at once. Each may take 300 MB if its rules are
/// hostile.
const MAX_CONCURRENT: usize = 4;

const PARSED_LATE: &str = "the code could not be parsed in time";

/// Fields for rewriting code and for showing matches in a terminal.
const UNUSED_FIELDS: [&str; 5] = ["fix", "transform", "rewriters", "labels", "metadata"];

static WORKERS: LargeStackThreads = LargeStackThreads::new("rules", STACK, MAX_CONCURRENT);

/// The time limit for all rules of a call. It is longer in tests, so that other limits apply first
/// on a busy machine.
const MAX_RULE_TIME: Duration = Duration::from_secs(if cfg!(test) { 20 } else { 1 });

/// The total time limit, including the wait for a thread and the last check on the code.
const MAX_WAIT: Duration = MAX_RULE_TIME.saturating_add(Duration::from_millis(2_200));

/// The reason why a rule can't run.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("it does not have the shape of a rule")]
    Shape(#[source] serde_json::Error),
    #[error("it is not a valid ast-grep rule")]
    Rule(#[source] RuleConfigError),
    #[error(
        "it does not say which kinds of nodes it matches; add `kind`, or whole code as `pattern`"
    )]
    NoKinds,
    #[error("it is turned off (`severity: off`)")]
    Off,
    #[error("ast-grep failed on it")]
    Panicked,
}

/// A runnable rule.
struct CompiledRule {
    name: String,
    severity: Severity,
    message: String,
    note: Option<String>,
    matcher: RuleCore,
}

/// Runs `rules` on code, on a separate thread. Violations found before the time limit are kept.
///
/// # Errors
/// If no thread becomes available, or the call is cancelled.
pub(super) fn run(
    rules: Vec<RuleSource>,
    parsed: &ParsedCode<'_>,
    cancel: &Cancel,
) -> Result<Findings, LargeStackError> {
    let (Some(dialect), false) = (parsed.dialect, rules.is_empty()) else {
        return Ok(Findings::default());
    };
    let Some(syntax) = &parsed.syntax else {
        return Ok(cut_short(&rules, Limit::Time, PARSED_LATE));
    };
    let (text, tree, call) = (parsed.code.to_owned(), syntax.tree(), cancel.clone());
    let rules: Arc<[RuleSource]> = rules.into();
    let shared = Arc::clone(&rules);
    let waiting = cancel.until(Instant::now() + MAX_WAIT);
    let ran = WORKERS.run(&waiting, move || {
        let budget = Budget::new(call.until(Instant::now() + MAX_RULE_TIME));
        run_rules(&shared, CountedDoc::new(text, tree, dialect, budget))
    });
    match ran {
        Err(LargeStackError::Stopped(Stopped::Deadline)) if cancel.check().is_ok() => {
            Ok(cut_short(&rules, Limit::Time, Limit::Time.reason()))
        }
        ran => ran,
    }
}

/// Findings if no rule was run.
fn cut_short(rules: &[RuleSource], exceeded: Limit, reason: &str) -> Findings {
    let skipped = rules.iter().map(|rule| Skipped {
        rule: rule.name.clone(),
        reason: reason.to_owned(),
    });
    Findings {
        skipped: skipped.collect(),
        incomplete: true,
        late: exceeded == Limit::Time,
        ..Findings::default()
    }
}

fn run_rules(rules: &[RuleSource], code: CountedDoc) -> Findings {
    let root = AstGrep::doc(code.clone());
    let budget = code.budget();
    budget.start_rule();
    let top = root.root();
    let nodes: Vec<Node<'_, CountedDoc>> = top.dfs().collect();
    if let Some(exceeded) = budget.exceeded() {
        return cut_short(rules, exceeded, exceeded.reason());
    }
    let mut findings = Findings::default();
    for source in rules {
        let outcome = compile_caught(source)
            .map_err(|error| shown(&Chain(&error).to_string()).into_owned())
            .and_then(|rule| match_rule(&rule, &nodes, budget, &mut findings));
        match outcome {
            Ok(()) => findings.checked += 1,
            Err(reason) => findings.skipped.push(Skipped {
                rule: source.name.clone(),
                reason,
            }),
        }
    }
    findings
}

/// Builds a rule.
fn compile_caught(source: &RuleSource) -> Result<CompiledRule, RuleError> {
    catch_unwind(AssertUnwindSafe(|| compile(source))).unwrap_or(Err(RuleError::Panicked))
}

fn compile(source: &RuleSource) -> Result<CompiledRule, RuleError> {
    let mut yaml = source.yaml.clone();
    if let Some(fields) = yaml.as_object_mut() {
        fields.retain(|name, _| !UNUSED_FIELDS.contains(&name.as_str()));
    }
    let config: SerializableRuleConfig<Dialect> =
        serde_json::from_value(yaml).map_err(RuleError::Shape)?;
    let severity = match config.severity {
        AstGrepSeverity::Off => return Err(RuleError::Off),
        AstGrepSeverity::Error => Severity::Error,
        AstGrepSeverity::Warning | AstGrepSeverity::Info | AstGrepSeverity::Hint => {
            Severity::Warning
        }
    };
    let matcher = config
        .get_matcher(&GlobalRules::default())
        .map_err(RuleError::Rule)?;
    if matcher.potential_kinds().is_none() {
        return Err(RuleError::NoKinds);
    }
    Ok(CompiledRule {
        name: source.name.clone(),
        severity,
        message: config.message,
        note: config.note,
        matcher,
    })
}

/// Adds the violations of a rule. Returns the reason if it could not run completely.
fn match_rule<'n>(
    rule: &CompiledRule,
    nodes: &[Node<'n, CountedDoc>],
    budget: &Budget,
    findings: &mut Findings,
) -> Result<(), String> {
    budget.start_rule();
    let kinds = rule.matcher.potential_kinds();
    let is_candidate = |node: &&Node<'n, CountedDoc>| {
        let kind = usize::from(node.kind_id());
        kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
    };
    let mut found = Vec::new();
    let mut failure = None;
    for node in nodes.iter().filter(is_candidate) {
        let matched = catch_unwind(AssertUnwindSafe(|| {
            let matched = rule.matcher.match_node(node.clone())?;
            Some(violation(rule, &matched))
        }));
        failure = match (budget.exceeded(), &matched) {
            (Some(exceeded), _) => Some(exceeded.reason().to_owned()),
            (None, Err(_panicked)) => Some(RuleError::Panicked.to_string()),
            (None, Ok(_)) => None,
        };
        if failure.is_some() {
            break;
        }
        found.extend(matched.into_iter().flatten());
    }
    findings.incomplete |= budget.exceeded().is_some();
    findings.late |= budget.exceeded() == Some(Limit::Time);
    if let Some(note) = rule.note.as_deref().filter(|_| !found.is_empty()) {
        findings.advise(&format!("{}: {}", rule.name, note.trim()));
    }
    findings.add(found);
    failure.map_or(Ok(()), Err)
}

fn violation(rule: &CompiledRule, matched: &NodeMatch<'_, CountedDoc>) -> Violation {
    let message = fill(&rule.message, matched.get_env());
    let description = match message.trim() {
        "" => format!("the code matches the rule `{}`", rule.name),
        message => message.to_owned(),
    };
    Violation {
        rule: rule.name.clone(),
        description,
        severity: rule.severity,
        line: Some(matched.start_pos().line() + 1),
        heuristic: false,
    }
}
