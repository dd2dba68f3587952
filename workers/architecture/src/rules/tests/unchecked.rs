//! Unchecked sentences and rules are reported, and code is not compliant without proof.

use super::*;

#[test]
fn uncheckable_sentences_are_reported_but_not_counted() {
    let document = "# P\n\n- Code MUST NOT use a bare `except`.\n- It MUST have at most one \
                    `unwrap`.\n- `print` outside of `main` MUST NOT be used.\n- `open` without \
                    `close` MUST NOT appear.\n- It MUST NOT use `eval`.\n";
    let code = "try:\n    print(open(x).unwrap())\nexcept ValueError:\n    pass\n";
    let findings = check_code(document, code, Some("python"));
    assert_eq!(lines_of(&findings), [""; 0]);
    assert_eq!((findings.checked, findings.unchecked), (1, 4));
    assert!(findings.compliant());
    let advice = findings.advice.join("\n");
    assert!(advice.contains("4 sentences of the pattern can't be checked by machine"));
    assert!(
        advice.contains("\"Code MUST NOT use a bare `except`.\""),
        "{advice}"
    );
    let many: String = (0..800)
        .map(|nth| format!("It MUST be {nth}.\n\n"))
        .collect();
    let many = check_code(&many, "", None);
    let advice = many.advice.join("\n");
    assert!(advice.contains(" and 790 more"), "{advice}");
    assert!(advice.len() < 3_000 && !many.compliant());
}

#[test]
fn code_is_not_compliant_if_every_rule_fails() {
    let bad = document_with("id: bad\nlanguage: ts\nrule: {kind: no_such_kind}");
    let some = check_code(&(document_with(NO_LOG) + &bad), "f(1)", Some("ts"));
    assert!(some.compliant());
    let advice = some.advice.join("\n");
    assert!(
        advice.contains("not all rules were run, or not to their end: bad"),
        "{advice}"
    );
    let none = check_code(&(bad + "\nMUST NOT use `eval`.\n"), "f(1)", Some("ts"));
    assert_eq!((none.checked, none.total, none.compliant()), (1, 0, false));
    assert!(
        none.advice
            .join("\n")
            .contains("no rule of ast-grep was run to its end")
    );
}

#[test]
fn code_is_not_compliant_if_a_branch_is_left_out() {
    let rule = document_with("id: gets\nlanguage: c\nrule: {pattern: gets($A)}");
    let unread = "void f(char*b){\n#ifdef A\n if(b){\n#else\n {gets(b);\n#endif\n }\n}";
    let sound = "class NET_API Gate { void open() { close(); } };\n";
    for (code, line) in [(unread, 2), (sound, 1)] {
        let language = if line == 1 { "c++" } else { "c" };
        let findings = check_code(
            &rule.replace("language: c", &format!("language: {language}")),
            code,
            Some(language),
        );
        assert!(!findings.compliant(), "{code}");
        let advice = findings.advice.join("\n");
        let expected = format!("line {line} is no {language} by its grammar");
        assert!(advice.contains(&expected), "{advice}");
    }
    assert!(check_code(&rule, "void f(char*b){\n if(b){\n }\n}", Some("c")).compliant());
}
