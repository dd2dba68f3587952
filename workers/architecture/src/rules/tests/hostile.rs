//! Rules and code that try to hang or crash a worker.

use tokio::time::{Duration, Instant};

use super::*;

/// The time limit of a call with the rule limits in tests, on a busy machine. Without limits these
/// rules would run for hours.
const TIME_LIMIT: Duration = Duration::from_secs(40);

fn bounded(document: &str, code: &str, language: &str) -> Findings {
    let began = Instant::now();
    let findings = check_code(document, code, Some(language));
    let took = began.elapsed();
    assert!(took < TIME_LIMIT, "{took:?}");
    findings
}

/// A rule nested `depth` times.
fn nested(depth: usize, around: &str, inside: &str) -> String {
    let open: String = (0..depth).map(|_| format!("{{{around}: ")).collect();
    format!("{open}{inside}{}", "}".repeat(depth))
}

fn wide() -> String {
    "f(a, [b, c], {d: (e)});\n".repeat(2_000)
}

fn deep() -> String {
    "[".repeat(25_000) + &"]".repeat(25_000)
}

const EVERY: &str = "{kind: identifier}";

#[test]
fn quadratic_rules_end_and_later_rules_run() {
    let has = "kind: program, stopBy: end, has";
    let any = "{any: [{kind: identifier}, {kind: array}, {kind: program}], has: {stopBy: end, ";
    let all_pairs = format!("{any} any: [{{kind: no}}]}}}}").replace("{kind: no}", EVERY);
    let never = "{kind: identifier, not: {inside: {stopBy: end, kind: program, has: {stopBy: end, \
                 pattern: nowhere}}}}";
    let pattern = "{pattern: 'f($$$A, $$$B, $$$C, $$$D, [$$$E, $$$F, $X], $$$G, $X, $X, $X)'}";
    let backwards = "{any: [{kind: expression_statement}], follows: {stopBy: end, precedes: \
                     {stopBy: end, follows: {stopBy: end, pattern: nowhere}}}}";
    let nested = nested(12, has, EVERY);
    for rule in [all_pairs.as_str(), never, pattern, backwards, &nested] {
        for code in [wide(), deep()] {
            let stated = format!("id: hostile\nlanguage: js\nrule: {rule}\n");
            let next = NO_LOG.replace("TypeScript", "js");
            let document = document_with(&stated) + &document_with(&next);
            let code = format!("console.log(1);\n{code}");
            let findings = bounded(&document, &code, "js");
            assert!(
                lines_of(&findings).contains(&"no-log:1".to_owned()),
                "the next rule ran: {rule} {:?}",
                findings.skipped
            );
        }
    }
}

#[test]
fn an_ended_rule_is_reported_and_code_is_not_compliant() {
    let rule = "id: slow\nlanguage: js\nrule: {kind: identifier, not: {inside: {stopBy: end, kind: \
                program, has: {stopBy: end, pattern: nowhere}}}}\n";
    let findings = bounded(&document_with(rule), &wide(), "js");
    assert!(findings.incomplete && !findings.compliant());
    assert_eq!(findings.checked, 0);
    assert_eq!(findings.skipped[0].rule, "slow");
    assert!(
        findings.skipped[0].reason.contains("narrow it"),
        "{:?}",
        findings.skipped
    );
    assert!(
        findings.advice[0].contains("compliance is not known"),
        "{:?}",
        findings.advice
    );
}

#[test]
fn recursive_rules_end_without_a_crash() {
    for utils in [
        "a: {any: [{has: {any: [{inside: {matches: a}}]}}, {inside: {has: {matches: a}}}]}",
        "a: {has: {stopBy: {matches: a}, matches: a}}",
        "a: {inside: {stopBy: {has: {matches: a}}, has: {matches: a, stopBy: end}}}",
        "a: {nthChild: {position: 1, ofRule: {has: {inside: {matches: a}}}}}",
        "a: {precedes: {follows: {matches: a}}}",
    ] {
        for code in [wide(), deep(), "f(a)".to_owned()] {
            let rule = format!(
                "id: itself\nlanguage: js\nutils:\n  {utils}\nrule: {{any: [{{kind: identifier}}, \
                 {{kind: array}}, {{kind: program}}], matches: a}}\n"
            );
            bounded(&document_with(&rule), &code, "js");
        }
    }
}

#[test]
fn deeply_nested_rules_end() {
    for around in ["all", "any", "not", "has", "inside"] {
        let list = matches!(around, "all" | "any");
        let inside = if list { "[{kind: array}]" } else { EVERY };
        let depth = if list { 25 } else { 55 };
        let open = if list {
            (0..depth).fold("{kind: array}".to_owned(), |rule, _| {
                format!("{{{around}: [{rule}, {{kind: array}}]}}")
            })
        } else {
            nested(depth, around, inside)
        };
        let rule = format!("id: deep\nlanguage: js\nrule: {{kind: array, all: [{open}]}}\n");
        bounded(&document_with(&rule), &deep(), "js");
    }
}

#[test]
fn slow_patterns_and_regexes_end() {
    let brackets = "[".repeat(4_000);
    let ellipses = (0..9).fold("$$$A".to_owned(), |inner, _| {
        format!("f($$$, f({inner}, $$$B), $$$C)")
    });
    let slow_regex = "{kind: program, regex: '(a|b|c|d|e|f|\\\\s)*f(a|b|c|\\\\W){200}zz$'}";
    for rule in [
        format!("{{pattern: '{brackets}'}}"),
        format!("{{pattern: '{ellipses}'}}"),
        slow_regex.replace("\\\\", "\\"),
        format!("{{kind: array, regex: '{}'}}", "(\\[*)*x?".repeat(20)),
    ] {
        for code in [wide(), deep(), "f(".repeat(10_000)] {
            let stated = format!("id: hostile\nlanguage: js\nrule: {rule}\n");
            bounded(&document_with(&stated), &code, "js");
        }
    }
}

#[test]
fn a_message_with_repeated_variables_is_short() {
    let message = "$A".repeat(5_000);
    let rule = format!("id: loud\nlanguage: js\nmessage: {message}\nrule: {{pattern: f($A)}}\n");
    let code = format!("f('{}')", "x".repeat(40_000));
    let findings = bounded(&document_with(&rule), &code, "js");
    assert!(findings.violations[0].description.len() < 600);
}

#[test]
fn usual_rules_run_completely_on_large_code() {
    let rule = |nth: usize| {
        format!(
            "id: r{nth}\nlanguage: js\nrule:\n  pattern: console.log($A, {nth})\n  not: {{inside: \
             {{kind: function_declaration, stopBy: end}}}}\n---\n"
        )
    };
    let line = "console.log(a, 7);\nfunction g(b) { return f(b, [c, d], { e: 1 }); }\n";
    for (rules, lines) in [(50, 60), (8, 720)] {
        let document = document_with(&(0..rules).map(rule).collect::<String>());
        let findings = bounded(&document, &line.repeat(lines), "js");
        let counted = (findings.checked, findings.total, findings.incomplete);
        assert_eq!(counted, (rules, lines, false), "{:?}", findings.skipped);
    }
}

#[test]
fn a_cancelled_call_ends_early() {
    let rule = "id: slow\nlanguage: js\nrule: {kind: identifier, not: {inside: {stopBy: end, kind: \
                program, has: {stopBy: end, pattern: nowhere}}}}\n";
    let run = |call: &Cancel| {
        let document = Markdown::read(&document_with(rule), call).unwrap();
        check(&document, &wide(), Some("js"), call)
    };
    let whole = cancel();
    assert!(run(&whole).unwrap().incomplete);
    assert!(whole.checks() > 2_000, "{} looks", whole.checks());
    let cancelled = cancel().cancel_at_check(1_000);
    let stopped = run(&cancelled).unwrap_err().to_string();
    assert_eq!(stopped, Stopped::Cancelled.to_string());
    let looks = cancelled.checks();
    assert!(
        looks < 1_100,
        "{looks}: the rule continued after the cancellation"
    );
}
