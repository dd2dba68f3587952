//! Rules, comments and strings in each language.

use super::*;

/// A language, a rule, and code: line 2 matches the rule, and `banned` is in a comment on line 3,
/// in a string on line 4, and a word on line 5.
const CODE: [(&str, &str, &str); 12] = [
    (
        "rust",
        "$A.unwrap()",
        "fn f() {\n    x.unwrap();\n    // banned\n    let s = \"banned\";\n    banned();\n}\n",
    ),
    (
        "javascript",
        "console.log($A)",
        "\nconsole.log(1);\n/* banned */\nlet s = 'banned' + `banned`;\nlet t = `${banned}`;\n",
    ),
    (
        "typescript",
        "$A as any",
        "\nlet x = y as any;\n// banned\nlet s: string = 'banned';\nbanned();\n",
    ),
    (
        "tsx",
        "<Old $$$A />",
        "\nlet x = <Old a={1} />;\n// banned\nlet s = <p title=\"banned\">banned</p>;\nlet t = <p>{banned}</p>;\n",
    ),
    (
        "python",
        "print($A)",
        "def f():\n    print(1)\n    # banned\n    s = 'banned'\n    t = f'{banned}'\n",
    ),
    (
        "go",
        "defer $A.Close()",
        "package a\nfunc f() { defer x.Close() }\n// banned\nvar s = \"banned\" + `banned`\nvar t = banned\n",
    ),
    (
        "java",
        "System.out.println($A);",
        "class A { void f() {\n    System.out.println(1);\n    // banned\n    var s = \"banned\";\n    banned();\n} }\n",
    ),
    (
        "c",
        "{context: 'void f() { gets($A); }', selector: call_expression}",
        "void f() {\n    char *x = gets(y);\n    /* banned */\n    char *s = \"banned\";\n    banned();\n}\n",
    ),
    (
        "c++",
        "$A = new $B()",
        "void f() {\n    x = new Y();\n    // banned\n    auto s = \"banned\";\n    banned();\n}\n",
    ),
    (
        "c#",
        "Console.WriteLine($A)",
        "class A { void F() {\n    Console.WriteLine(1);\n    // banned\n    var s = \"banned\";\n    var t = $\"{banned}\";\n} }\n",
    ),
    (
        "ruby",
        "puts $A",
        "def f\n  puts 1\n  # banned\n  s = 'banned'\n  t = \"#{banned}\"\nend\n",
    ),
    (
        "php",
        "var_dump($A)",
        "<?php\n$x = var_dump(1);\n// banned\n$s = 'banned';\n$t = banned();\n",
    ),
];

#[test]
fn rules_comments_and_strings_work_in_each_language() {
    for (language, pattern, code) in CODE {
        let rule = format!("id: found\nlanguage: {language}\nrule:\n  pattern: {pattern}\n");
        let document = document_with(&rule) + "\nCode MUST NOT use `banned`.\n";
        for language_argument in [Some(language), None] {
            let findings = check_code(&document, code, language_argument);
            assert_eq!(findings.language, Some(language), "{language}");
            let found = lines_of(&findings);
            assert_eq!(
                found,
                ["found:2", "MUST NOT `banned`:5"],
                "{language}: {findings:#?}"
            );
            assert!(
                !findings.advice.join("\n").contains("is no "),
                "{findings:#?}"
            );
        }
    }
}

#[test]
fn php_is_parsed_with_and_without_its_tag() {
    let rule = document_with("id: dump\nlanguage: PHP\nrule: {pattern: var_dump($A)}\n");
    for code in ["var_dump($x);", "<?php var_dump($x);"] {
        assert_eq!(
            lines_of(&check_code(&rule, code, Some("php"))),
            ["dump:1"],
            "{code}"
        );
    }
}

#[test]
fn an_empty_text_is_valid_in_each_language() {
    for (language, ..) in CODE {
        for code in ["", "\n", "\u{feff}", "\0"] {
            let findings = check_code("MUST NOT use `a`.", code, Some(language));
            assert_eq!(findings.total, 0, "{language} {code:?}");
        }
    }
}
