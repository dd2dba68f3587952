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
    GlobalRules, RuleConfigError, RuleCore, SerializableRuleConfig, Severity as Stress,
};
use ast_grep_core::{
    AstGrep, Matcher, Node,
    matcher::{MatcherExt, NodeMatch},
};
use tokio::time::{Duration, Instant};

use super::{
    Findings, Severity, Skipped, Violation,
    dialect::Dialect,
    message::fill,
    reading::Reading,
    stated::Stated,
    watch::{STACK, Spent, Watch},
    watched::Watched,
};

/// The maximum number of calls whose rules run at once. Each may take 300 MB if its rules are
/// hostile.
const AT_ONCE: usize = 4;

const PARSED_LATE: &str = "the code could not be parsed in time";

/// Fields for rewriting code and for showing matches in a terminal.
const UNUSED: [&str; 5] = ["fix", "transform", "rewriters", "labels", "metadata"];

static MATCHES: LargeStackThreads = LargeStackThreads::new("rules", STACK, AT_ONCE);

/// The time limit for all rules of a call. It is longer in tests, so that other limits apply first
/// on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(test) { 20 } else { 1 });

/// The total time limit, including the wait for a thread and the last check on the code.
const PATIENCE: Duration = MAX_TIME.saturating_add(Duration::from_millis(2_200));

/// The reason why a rule can't run.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("it has not the shape of a rule")]
    Shape(#[source] serde_json::Error),
    #[error("it is no rule of ast-grep")]
    Rule(#[source] RuleConfigError),
    #[error(
        "nothing says which kinds of nodes it is about; add `kind`, or whole code as `pattern`"
    )]
    NoKinds,
    #[error("it is turned off (`severity: off`)")]
    Off,
    #[error("ast-grep failed on it")]
    Panicked,
}

/// A runnable rule.
struct Rule {
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
    rules: Vec<Stated>,
    reading: &Reading<'_>,
    cancel: &Cancel,
) -> Result<Findings, LargeStackError> {
    let (Some(dialect), false) = (reading.dialect, rules.is_empty()) else {
        return Ok(Findings::default());
    };
    let Some(syntax) = &reading.syntax else {
        return Ok(cut_short(&rules, Spent::Time, PARSED_LATE));
    };
    let (text, tree, call) = (reading.code.to_owned(), syntax.tree(), cancel.clone());
    let rules: Arc<[Stated]> = rules.into();
    let shared = Arc::clone(&rules);
    let waiting = cancel.until(Instant::now() + PATIENCE);
    let ran = MATCHES.run(&waiting, move || {
        let watch = Watch::new(call.until(Instant::now() + MAX_TIME));
        on_this_thread(&shared, Watched::new(text, tree, dialect, watch))
    });
    match ran {
        Err(LargeStackError::Stopped(Stopped::Deadline)) if cancel.check().is_ok() => {
            Ok(cut_short(&rules, Spent::Time, Spent::Time.reason()))
        }
        ran => ran,
    }
}

/// Findings if no rule was run.
fn cut_short(rules: &[Stated], spent: Spent, reason: &str) -> Findings {
    let skipped = rules.iter().map(|rule| Skipped {
        rule: rule.name.clone(),
        reason: reason.to_owned(),
    });
    Findings {
        skipped: skipped.collect(),
        incomplete: true,
        late: spent == Spent::Time,
        ..Findings::default()
    }
}

fn on_this_thread(rules: &[Stated], code: Watched) -> Findings {
    let root = AstGrep::doc(code.clone());
    let watch = code.watch();
    watch.begin();
    let top = root.root();
    let nodes: Vec<Node<'_, Watched>> = top.dfs().collect();
    if let Some(spent) = watch.spent() {
        return cut_short(rules, spent, spent.reason());
    }
    let mut findings = Findings::default();
    for stated in rules {
        let outcome = rule(stated)
            .map_err(|error| shown(&Chain(&error).to_string()).into_owned())
            .and_then(|rule| apply(&rule, &nodes, watch, &mut findings));
        match outcome {
            Ok(()) => findings.checked += 1,
            Err(reason) => findings.skipped.push(Skipped {
                rule: stated.name.clone(),
                reason,
            }),
        }
    }
    findings
}

/// Builds a rule.
fn rule(stated: &Stated) -> Result<Rule, RuleError> {
    catch_unwind(AssertUnwindSafe(|| build(stated))).unwrap_or(Err(RuleError::Panicked))
}

fn build(stated: &Stated) -> Result<Rule, RuleError> {
    let mut yaml = stated.yaml.clone();
    if let Some(fields) = yaml.as_object_mut() {
        fields.retain(|name, _| !UNUSED.contains(&name.as_str()));
    }
    let config: SerializableRuleConfig<Dialect> =
        serde_json::from_value(yaml).map_err(RuleError::Shape)?;
    let severity = match config.severity {
        Stress::Off => return Err(RuleError::Off),
        Stress::Error => Severity::Error,
        Stress::Warning | Stress::Info | Stress::Hint => Severity::Warning,
    };
    let matcher = config
        .get_matcher(&GlobalRules::default())
        .map_err(RuleError::Rule)?;
    if matcher.potential_kinds().is_none() {
        return Err(RuleError::NoKinds);
    }
    Ok(Rule {
        name: stated.name.clone(),
        severity,
        message: config.message,
        note: config.note,
        matcher,
    })
}

/// Adds the violations of a rule. Returns the reason if it could not run completely.
fn apply<'n>(
    rule: &Rule,
    nodes: &[Node<'n, Watched>],
    watch: &Watch,
    findings: &mut Findings,
) -> Result<(), String> {
    watch.begin();
    let kinds = rule.matcher.potential_kinds();
    let about = |node: &&Node<'n, Watched>| {
        let kind = usize::from(node.kind_id());
        kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
    };
    let mut found = Vec::new();
    let mut ended = None;
    for node in nodes.iter().filter(about) {
        let matched = catch_unwind(AssertUnwindSafe(|| {
            let matched = rule.matcher.match_node(node.clone())?;
            Some(violation(rule, &matched))
        }));
        ended = match (watch.spent(), &matched) {
            (Some(spent), _) => Some(spent.reason().to_owned()),
            (None, Err(_panicked)) => Some(RuleError::Panicked.to_string()),
            (None, Ok(_)) => None,
        };
        if ended.is_some() {
            break;
        }
        found.extend(matched.into_iter().flatten());
    }
    findings.incomplete |= watch.spent().is_some();
    findings.late |= watch.spent() == Some(Spent::Time);
    if let Some(note) = rule.note.as_deref().filter(|_| !found.is_empty()) {
        findings.advise(&format!("{}: {}", rule.name, note.trim()));
    }
    findings.add(found);
    ended.map_or(Ok(()), Err)
}

fn violation(rule: &Rule, matched: &NodeMatch<'_, Watched>) -> Violation {
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
