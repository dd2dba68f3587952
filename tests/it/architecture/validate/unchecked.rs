//! What a check could not check: sentences, rules and code that leave compliance open, and names close to
//! a pattern's.

use serde_json::json;

use super::{FOLDER, pattern, places, serve, suggestions, validate};

#[tokio::test]
async fn sentences_that_words_can_not_check_are_named_and_counted_apart() {
    let text = "# Errors\n\n- Code MUST NOT use a bare `except`.\n- `print` outside of `main` MUST \
                NOT be used.\n- A function MUST have at most one `unwrap`.\n- `open` without \
                `close` MUST NOT appear.\n- It MUST NOT use `eval`.\n- It MAY use `exec`.\n";
    let (_stack, client) = serve(pattern("errors", text).commit()).await;
    let code = "class A { f() { try { print(open(x).unwrap()); } catch (e) {} } except() {} }\n";
    let reply = validate(&client, "errors", code).await;
    let data = reply.structured();
    assert_eq!(places(&reply), [""; 0], "{data}");
    assert_eq!(data["rules_checked"], 1);
    assert_eq!(data["sentences_not_checked"], 4);
    assert_eq!(data["compliant"], true);
    let told = suggestions(&reply);
    assert!(
        told.contains("4 sentences of the pattern can't be checked by machine"),
        "{told}"
    );
    for sentence in [
        "a bare `except`",
        "outside of `main`",
        "at most one",
        "without `close`",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    let broken = validate(&client, "errors", "eval(1)").await;
    assert_eq!(places(&broken), ["MUST NOT `eval`:1"]);
}

const LOG: &str = "```ast-grep\nid: log\nlanguage: ts\nrule: {pattern: console.log($$$)}\n```\n";
const BAD: &str = "```ast-grep\nid: bad\nlanguage: ts\nrule: {kind: nothing}\n```\n";

#[tokio::test]
async fn a_rule_that_did_not_run_is_reported_and_without_any_it_is_open() {
    let repo = pattern("some", &format!("{LOG}\n{BAD}"))
        .file(
            &format!("{FOLDER}/none.md"),
            format!("{BAD}\nMUST NOT use `eval`.\n"),
        )
        .commit();
    let (_stack, client) = serve(repo).await;
    for (name, compliant, said) in [
        ("some", true, "not all rules were run"),
        ("none", false, "no rule of ast-grep was run"),
    ] {
        let reply = validate(&client, name, "f(1);").await;
        assert_eq!(reply.structured()["compliant"], compliant, "{name}");
        assert_eq!(reply.structured()["rules_checked"], 1);
        let told = suggestions(&reply);
        assert!(told.contains(said) && told.contains("bad"), "{told}");
        let skipped = reply.meta("skipped").to_string();
        assert!(skipped.contains("the rule bad is skipped: "), "{skipped}");
    }
}

#[tokio::test]
async fn code_that_does_not_parse_proves_nothing() {
    let (_stack, client) = serve(pattern("log", LOG).commit()).await;
    let whole = validate(&client, "log", "f(1);").await;
    assert_eq!(whole.structured()["compliant"], true);
    let broken = validate(&client, "log", "f(1);\n}{ g( =>\n").await;
    assert_eq!(broken.structured()["compliant"], false);
    assert_eq!(broken.structured()["total_violations"], 0);
    let told = suggestions(&broken);
    assert!(
        told.contains("is no typescript") && told.contains("compliance is not known"),
        "{told}"
    );
}

#[tokio::test]
async fn a_unique_title_names_a_pattern_and_other_kinds_are_refused() {
    let guideline = "docs/architecture/guidelines/naming.md";
    let repo = pattern("p-01", "# Transactional outbox\n\nMUST NOT use `foo`.\n")
        .file(&format!("{FOLDER}/p-02.md"), "# Saga\n")
        .file(&format!("{FOLDER}/p-03.md"), "# Saga\n")
        .file(guideline, "# How we name\n")
        .file(
            "docs/adr/0001-use-sagas.md",
            "# 1. Use sagas\n\n## Status\n\nAccepted\n",
        )
        .commit();
    let (_stack, client) = serve(repo).await;
    let titled = validate(&client, "transactional OUTBOX", "foo()").await;
    assert_eq!(titled.structured()["pattern"], "p-01");
    let twice = validate(&client, "Saga", "foo()").await;
    assert_eq!(twice.code(), "pattern_not_found");
    let near = &twice.error()["details"]["nearest"];
    assert_eq!(near, &json!(["p-02", "p-03", "p-01"]));
    for (name, kind) in [
        ("Naming", "guideline"),
        ("how we name", "guideline"),
        ("0001-use-sagas", "decision"),
    ] {
        let other = validate(&client, name, "foo()").await;
        assert_eq!(other.code(), "pattern_not_found", "{name}");
        let message = other.error()["message"].as_str().unwrap().to_owned();
        assert_eq!(message, format!("`{name}` is a {kind} and no pattern"));
    }
    let none = validate(&client, "nothing", "foo()").await;
    assert_eq!(none.error()["message"], "no pattern is called `nothing`");
}
