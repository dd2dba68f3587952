//! Checks of code against documents.

mod hostile;
mod languages;
mod unchecked;
mod random_input;

use archway_repo::testing::cancel;

use super::*;

/// Checks code against the rules of a document.
fn check_code(document: &str, code: &str, language: Option<&str>) -> Findings {
    let call = cancel();
    let document = Markdown::read(document, &call).unwrap();
    check(&document, code, language, &call).unwrap()
}

/// A document with one rule in a fence.
fn document_with(rule: &str) -> String {
    format!("# Pattern\n\n```ast-grep\n{rule}\n```\n")
}

/// Each violation as `rule:line`.
fn lines_of(findings: &Findings) -> Vec<String> {
    let violations = findings.violations.iter();
    let place = |line: Option<usize>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    violations
        .map(|violation| format!("{}:{}", violation.rule, place(violation.line)))
        .collect()
}

const NO_LOG: &str = "id: no-log\nlanguage: TypeScript\nseverity: error\nmessage: $OBJ logs $$$ARGS\n\
                      note: Use the logger.\nrule:\n  pattern: $OBJ.log($$$ARGS)\n";

#[test]
fn an_ast_grep_violation_has_a_line_and_a_message() {
    let code = "const a = 1;\nconsole.log(a, 'b');\n// console.log(c)\nother(a);\n";
    let findings = check_code(&document_with(NO_LOG), code, Some("ts"));
    assert_eq!(
        findings.violations,
        [Violation {
            rule: "no-log".to_owned(),
            description: "console logs a,'b'".to_owned(),
            severity: Severity::Error,
            line: Some(2),
            heuristic: false,
        }]
    );
    assert!(!findings.compliant());
    assert_eq!(
        (findings.checked, findings.errors, findings.total),
        (1, 1, 1)
    );
    assert_eq!(findings.language, Some("typescript"));
    assert_eq!(findings.advice, ["no-log: Use the logger."]);
    assert!(check_code(&document_with(NO_LOG), "other(a);", Some("ts")).compliant());
}

#[test]
fn constraints_utils_and_relations_are_supported() {
    let rule = "id: await-in-loop\nlanguage: js\nrule:\n  pattern: await $CALL\n  \
                inside: {matches: loop, stopBy: end}\nutils:\n  loop:\n    any: [{kind: \
                for_statement}, {kind: while_statement}]\nconstraints:\n  CALL: {regex: ^fetch}\n";
    let code = "await fetch(1);\nfor (;;) {\n  await fetch(2);\n  await other(3);\n}\n\
                while (x) { if (y) { await fetchAll(4) } }\n";
    let findings = check_code(&document_with(rule), code, Some("javascript"));
    assert_eq!(lines_of(&findings), ["await-in-loop:3", "await-in-loop:6"]);
    assert!(
        findings.compliant(),
        "a hint is a warning, and warnings alone are compliant"
    );
    assert_eq!(findings.violations[0].severity, Severity::Warning);
}

#[test]
fn fix_and_transform_are_ignored() {
    let rule = "id: a\nlanguage: ts\nmessage: $A and $NEW\nfix: b($NEW)\ntransform:\n  NEW: \
                {replace: {source: $A, replace: '((', by: x}}\nrule: {pattern: a($A)}\n";
    let findings = check_code(&document_with(rule), "a(1)", Some("ts"));
    assert_eq!(findings.skipped, []);
    assert_eq!(findings.violations[0].description, "1 and $NEW");
}

#[test]
fn a_failing_rule_is_reported_and_the_others_run() {
    let bad = [
        "id: kind\nlanguage: ts\nrule: {kind: no_such_kind}",
        "id: language\nlanguage: cobol\nrule: {kind: a}",
        "id: key\nlanguage: ts\nrule: {patern: a}",
        "id: util\nlanguage: ts\nrule: {pattern: a, matches: nowhere}",
        "id: cycle\nlanguage: ts\nutils: {a: {matches: b}, b: {matches: a}}\nrule: {matches: a}",
        "id: kinds\nlanguage: ts\nrule: {regex: a}",
        "id: pattern\nlanguage: ts\nrule: {pattern: ''}",
        "id: yaml\nrule: [",
        "id: off\nlanguage: ts\nseverity: off\nrule: {pattern: a}",
    ];
    let document = bad.iter().fold(document_with(NO_LOG), |text, rule| {
        text + &document_with(rule)
    });
    let findings = check_code(&document, "console.log(1)", Some("ts"));
    let mut skipped: Vec<&str> = findings.skipped.iter().map(|it| it.rule.as_str()).collect();
    skipped.sort_unstable();
    let mut ids: Vec<&str> = bad
        .iter()
        .map(|rule| rule.strip_prefix("id: ").unwrap().lines().next().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(skipped, ids, "{:#?}", findings.skipped);
    assert_eq!(lines_of(&findings), ["no-log:1"]);
    assert_eq!(findings.checked, 1);
    let reason = |id| {
        &findings
            .skipped
            .iter()
            .find(|it| it.rule == id)
            .unwrap()
            .reason
    };
    assert!(
        reason("kind").contains("no_such_kind"),
        "{}",
        reason("kind")
    );
    assert!(
        reason("language").contains("cobol"),
        "{}",
        reason("language")
    );
    assert!(reason("key").contains("patern"), "{}", reason("key"));
}

#[test]
fn a_panic_in_ast_grep_fails_only_its_rule() {
    // The number overflows in ast-grep's parser, which panics only with overflow checks.
    let rule = "id: overflow\nlanguage: ts\nrule: {kind: identifier, nthChild: 99999999999n}";
    let findings = check_code(&document_with(rule), "f(a)", Some("ts"));
    let is_reported = findings
        .skipped
        .iter()
        .any(|skipped| skipped.rule == "overflow");
    assert_eq!(is_reported, cfg!(debug_assertions), "{findings:?}");
}

#[test]
fn sentences_are_heuristics_with_their_keywords_severity() {
    let document = "# Repository\n\nCode MUST NOT use `eval`. It SHOULD NOT use `var`. A repository MUST \
                    implement `find_by_id()` and `save`, and SHOULD call `audit` or `trace`.\n";
    let code =
        "function find_by_id(id) {\n  var x = eval(id); eval(x);\n  return 'save'; // save\n}\n";
    let findings = check_code(document, code, Some("javascript"));
    assert_eq!(
        lines_of(&findings),
        [
            "MUST NOT `eval`:2",
            "SHOULD NOT `var`:2",
            "MUST `save`:-",
            "SHOULD `audit` or `trace`:-"
        ]
    );
    assert!(
        findings
            .violations
            .iter()
            .all(|violation| violation.heuristic)
    );
    assert_eq!((findings.checked, findings.errors), (4, 2));
    let sentence = "`eval` stands here: Code MUST NOT use `eval`.";
    assert_eq!(findings.violations[0].description, sentence);
    let good = "function find_by_id() { save(); trace() }";
    assert!(check_code(document, good, Some("javascript")).compliant());
    let warned = check_code(
        document,
        "let find_by_id = save; var x;",
        Some("javascript"),
    );
    assert!(warned.compliant() && warned.total == 2, "{warned:?}");
}

#[test]
fn without_checks_code_is_not_compliant() {
    for document in [
        "",
        "# Title\n\nUse `a`, must be good.\n",
        "```yaml\nid: a\n```\n",
    ] {
        let findings = check_code(document, "let a = 1;", Some("ts"));
        assert!(!findings.compliant(), "{document}");
        assert_eq!(findings.checked, 0, "{document}");
        assert!(
            findings.advice[0].starts_with("nothing could be checked"),
            "{findings:?}"
        );
    }
}

#[test]
fn a_language_is_given_inferred_or_unknown() {
    let python = NO_LOG
        .replace("TypeScript", "python")
        .replace("no-log", "py");
    let both = document_with(NO_LOG) + &document_with(&python) + "\nMUST NOT use `eval`.\n";
    let of = |code: &str, language| {
        let findings = check_code(&both, code, language);
        (
            findings.language,
            lines_of(&findings),
            findings.advice.join("\n"),
        )
    };
    let (language, found, advice) = of("console.log(1)", Some("ts"));
    assert_eq!(
        (language, found),
        (Some("typescript"), vec!["no-log:1".to_owned()])
    );
    assert!(
        advice.contains("1 of the pattern's rules are for python"),
        "{advice}"
    );
    let (language, found, advice) = of("def f(a):\n    x.log(a)\n", None);
    assert_eq!((language, found), (Some("python"), vec!["py:2".to_owned()]));
    assert!(advice.contains("read as python"), "{advice}");
    let (language, found, advice) = of("* eval", Some("cobol"));
    assert_eq!(
        (language, found),
        (None, vec!["MUST NOT `eval`:1".to_owned()])
    );
    assert!(
        advice.contains("no grammar for the language `cobol`"),
        "{advice}"
    );
    let plain = check_code("MUST NOT use `eval`.", "# eval", None);
    assert_eq!((plain.language, plain.total), (None, 1));
    assert!(
        plain
            .advice
            .join("\n")
            .contains("the language is not known")
    );
    let example = "MUST NOT use `eval`.\n\n```python\nprint(1)\n```\n";
    let guessed = check_code(example, "# eval", None);
    assert_eq!((guessed.language, guessed.total), (Some("python"), 0));
}

#[test]
fn code_with_syntax_errors_is_checked_but_not_compliant() {
    for document in [document_with(NO_LOG), "MUST NOT use `eval`.\n".to_owned()] {
        assert!(check_code(&document, "f(1);", Some("ts")).compliant());
        let broken = check_code(&document, "}{ f(1 =>", Some("ts"));
        assert_eq!((broken.total, broken.compliant()), (0, false));
        assert!(broken.advice.join("\n").contains("compliance is not known"));
    }
    let findings = check_code(
        &document_with(NO_LOG),
        "console.log(1);\n\nconst = ;\n",
        Some("ts"),
    );
    assert_eq!(lines_of(&findings), ["no-log:1"]);
    assert!(
        findings
            .advice
            .join("\n")
            .contains("line 3 is no typescript"),
        "{findings:?}"
    );
}

#[test]
fn at_most_100_violations_of_a_rule_are_reported() {
    let document = document_with(NO_LOG) + "\nMUST NOT use `last`.\n";
    let code = "console.log(1);\n".repeat(500) + "last();\n";
    let findings = check_code(&document, &code, Some("ts"));
    let found = lines_of(&findings);
    assert_eq!(found.len(), MAX_PER_RULE + 1);
    assert_eq!(
        found.last().map(String::as_str),
        Some("MUST NOT `last`:501")
    );
    assert_eq!((findings.total, findings.errors), (501, 501));
}
