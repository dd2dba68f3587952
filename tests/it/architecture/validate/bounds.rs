//! Bounds on the cost of a call: endless rules, large code, many violations.

use std::fmt::Write as _;

use e2e::Client;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{pattern, places, serve, suggestions, validate};

/// How long a hostile call may take on a busy machine. On an idle one it ends after a second.
const MOST: Duration = Duration::from_secs(6);

fn hostile(rule: &str) -> String {
    format!("```ast-grep\nid: hostile\nlanguage: ts\n{rule}\n```\n")
}

/// Each identifier visits the whole program and matches nothing.
const EVERY_PAIR: &str = "rule: {kind: identifier, inside: {stopBy: end, kind: program, has: \
                          {stopBy: end, pattern: nowhere}}}";

fn wide() -> String {
    "f(a, [b, c], { d: e });\n".repeat(2_000)
}

async fn hello(client: &Client) -> Duration {
    let asked = Instant::now();
    let reply = client.call("hello", json!({})).await;
    assert!(!reply.is_error());
    asked.elapsed()
}

#[tokio::test]
async fn hostile_rules_end_in_time_say_so_and_leave_the_worker_alive() {
    let itself = "utils: {a: {any: [{has: {inside: {matches: a}}}, {inside: {has: {matches: \
                  a}}}]}}\nrule: {any: [{kind: identifier}, {kind: array}], matches: a}";
    let nested = format!(
        "rule: {}{{kind: array}}{}",
        "{kind: array, has: ".repeat(40),
        "}".repeat(40)
    );
    let ellipses = "rule: {pattern: 'f($$$A, $$$B, [$$$C, $$$D, $X], $$$E, $X, $X)'}";
    let regex = "rule: {kind: program, regex: '((a{99}){99}){99}'}";
    let deep = format!("rule: {}", "{all: [".repeat(3_000));
    for rule in [EVERY_PAIR, itself, &nested, ellipses, regex, &deep] {
        let (_stack, client) = serve(pattern("hostile", &hostile(rule)).commit()).await;
        let brackets = "[".repeat(24_000) + &"]".repeat(24_000);
        for code in [wide(), brackets] {
            let asked = Instant::now();
            let reply = validate(&client, "hostile", &code).await;
            assert!(asked.elapsed() < MOST, "{:?} {rule:.80}", asked.elapsed());
            assert!(!reply.is_error(), "{}", reply.value());
            let is_told = reply.structured()["rules_checked"] == 1
                || reply.structured()["skipped"][0]["rule"] == "hostile";
            assert!(is_told, "{rule:.80}: {}", reply.value());
        }
        assert!(hello(&client).await < MOST);
    }
}

#[tokio::test]
async fn a_check_that_was_cut_short_claims_no_compliance_and_other_rules_ran() {
    let text = hostile(EVERY_PAIR) + "\nCode MUST NOT use `nowhere`.\n";
    let (_stack, client) = serve(pattern("slow", &text).commit()).await;
    let reply = validate(&client, "slow", &wide()).await;
    let data = reply.structured();
    assert_eq!(data["compliant"], false);
    assert_eq!(data["truncated"], true);
    assert_eq!(data["rules_checked"], 1, "the sentence");
    assert_eq!(data["skipped"][0]["rule"], "hostile");
    assert!(
        suggestions(&reply).contains("compliance is not known"),
        "{}",
        suggestions(&reply)
    );
}

#[tokio::test]
async fn fifty_thousand_characters_are_checked_and_one_more_is_refused() {
    let text = "```ast-grep\nid: log\nlanguage: ts\nrule: {pattern: console.log($$$)}\n```\n";
    let (_stack, client) = serve(pattern("log", text).commit()).await;
    // A comment is a single node. The rule must come to its end on a busy machine, too.
    let line = format!("// {}\n", "größe ".repeat(16));
    let last = "console.log(1);\n";
    let mut code = line.repeat((50_000 - last.len()) / line.chars().count());
    code.push_str(&" ".repeat(50_000 - last.len() - code.chars().count()));
    code.push_str(last);
    assert_eq!(code.chars().count(), 50_000);
    let reply = validate(&client, "log", &code).await;
    let found = code.lines().count();
    assert_eq!(places(&reply), [format!("log:{found}")]);
    code.push('x');
    assert_eq!(
        validate(&client, "log", &code).await.code(),
        "invalid_arguments"
    );
    for (code, name) in [("", "log"), ("x", ""), ("x", &*"y".repeat(201))] {
        let reply = validate(&client, name, code).await;
        assert_eq!(reply.code(), "invalid_arguments", "{name}");
    }
}

#[tokio::test]
async fn many_violations_fit_the_budget_and_all_are_counted() {
    // Few rules, so that building them takes little of their second.
    let rules = (0..20).fold(String::new(), |mut text, nth| {
        let message = format!("number {nth} ").repeat(30);
        let rule = "language: ts\nrule: {pattern: f($A)}";
        write!(text, "id: r{nth}\nmessage: {message}\n{rule}\n---\n").unwrap();
        text
    });
    let text = format!("```ast-grep\n{rules}\n```\n");
    let (_stack, client) = serve(pattern("many", &text).commit()).await;
    let reply = validate(&client, "many", &"f(1);\n".repeat(100)).await;
    let data = reply.structured();
    assert_eq!(data["total_violations"], 2_000);
    assert_eq!(data["rules_checked"], 20);
    assert_eq!(data["truncated"], true);
    let shown = data["violations"].as_array().unwrap();
    assert!(shown.len() > 20 && shown.len() < 1_000, "{}", shown.len());
    assert!(
        data.to_string().len() <= 16_000,
        "{}",
        data.to_string().len()
    );
    let lines = shown
        .iter()
        .filter_map(|violation| violation["line"].as_u64());
    assert!(lines.is_sorted());
}

#[tokio::test]
async fn every_language_of_the_index_is_checked() {
    let cases = [
        ("rust", "$A.unwrap()", "fn f() { x.unwrap(); }"),
        ("javascript", "console.log($A)", "console.log(1)"),
        ("typescript", "$A as any", "let x = y as any;"),
        ("tsx", "<Old />", "let x = <Old />;"),
        ("python", "print($A)", "print(1)"),
        (
            "go",
            "defer $A.Close()",
            "package a\nfunc f() { defer x.Close() }",
        ),
        (
            "java",
            "System.exit($A);",
            "class A { void f() { System.exit(1); } }",
        ),
        ("c", "$A = gets($B);", "void f() { x = gets(y); }"),
        ("c++", "$A = new $B();", "void f() { x = new Y(); }"),
        (
            "c#",
            "Console.WriteLine($A)",
            "class A { void F() { Console.WriteLine(1); } }",
        ),
        ("ruby", "puts $A", "puts 1"),
        ("php", "var_dump($A)", "<?php var_dump(1);"),
    ];
    let text = cases
        .iter()
        .fold(String::new(), |mut text, (language, rule, _)| {
            let rule = format!("id: {language}\nlanguage: {language}\nrule: {{pattern: '{rule}'}}");
            write!(text, "```ast-grep\n{rule}\n```\n\n").unwrap();
            text
        });
    let (_stack, client) = serve(pattern("all", &text).commit()).await;
    for (language, _, code) in cases {
        let arguments = json!({ "code": code, "pattern_name": "all", "language": language });
        let reply = client.call("validate_pattern", arguments).await;
        let rules: Vec<&Value> = reply.structured()["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|violation| &violation["rule"])
            .collect();
        assert_eq!(rules, [language], "{}", reply.value());
        assert_eq!(reply.structured()["language"], language);
    }
}
