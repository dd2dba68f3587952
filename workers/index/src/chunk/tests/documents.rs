//! Documents, other texts, and where long ones are cut.

use super::*;

#[test]
fn a_document_is_cut_at_its_headings() {
    let text = "Before.

# Title

Intro.

## Part `code`

```
# no heading
```

### Deep
> # quoted

Underlined
==========
Body.

## Alone
### Beneath
Text.
";
    assert_eq!(
        outline("a.md", text),
        [
            "Section  1-1",
            "Section Title 3-5",
            "Section Title.Part code 7-11",
            "Section Part code.Deep 13-14",
            "Section Underlined 16-18",
            "Section Alone.Beneath 21-22",
        ]
    );
}

#[test]
fn front_matter_and_a_byte_order_mark_are_not_headings() {
    let text = "---\ntitle: a title\n---\n\n# One\nText.\n";
    assert_eq!(outline("a.md", text), ["Section  1-3", "Section One 5-6"]);
    let marked = "\u{feff}# One\nText.\n";
    assert_eq!(outline("a.md", marked), ["Section One 1-2"]);
    assert_eq!(texts("a.md", marked), ["# One\nText."]);
}

#[test]
fn a_long_section_is_cut_between_paragraphs() {
    let paragraph = format!("{}end.\n\n", "Some words in a line.\n".repeat(20));
    let text = format!("# Long\n\n{}", paragraph.repeat(12));
    let parts = texts("a.md", &text);
    assert!(parts.len() > 2);
    for part in &parts {
        assert!((1_000..=2_500).contains(&part.len()), "{}", part.len());
        assert!(part.ends_with("end."), "{part}");
    }
    assert!(
        outline("a.md", &text)
            .iter()
            .all(|line| line.starts_with("Section Long "))
    );
}

#[test]
fn other_text_is_cut_into_windows_of_at_most_forty_lines() {
    let text = "word\n".repeat(100);
    let lines = outline("a.txt", &text);
    assert_eq!(lines, ["Lines  1-40", "Lines  41-80", "Lines  81-100"]);
    let text = format!("{}\n", "x".repeat(99)).repeat(100);
    for part in texts("Makefile", &text) {
        assert!((900..=2_000).contains(&part.len()), "{}", part.len());
    }
}

#[test]
fn a_window_ends_where_the_text_is_indented_least() {
    let entry = |n: usize| format!("entry{n}:\n{}", "  value: x\n".repeat(12));
    let text: String = (0..20).map(entry).collect();
    for part in texts("a.yaml", &text) {
        assert!(part.starts_with("entry"), "{part}");
    }
}

#[test]
fn a_long_function_is_cut_between_statements() {
    let step = "    if ready {\n        go_on_with_the_next_step();\n    }\n";
    let text = format!("/// Works.\nfn work() {{\n{}}}\n", step.repeat(120));
    let lines = outline("a.rs", &text);
    assert!(lines[0].contains("doc \"/// Works.\""));
    assert!(lines[1..].iter().all(|line| !line.contains("doc")));
    assert!(lines.iter().all(|line| line.starts_with("Function work ")));
    let parts = texts("a.rs", &text);
    assert!(parts.len() >= 3);
    for part in &parts[1..] {
        assert!(part.starts_with("    if ready"), "{part}");
        assert!((1_250..=2_500).contains(&part.len()), "{}", part.len());
    }
    let whole = format!("fn work() {{\n{}}}\n", step.repeat(2_400 / step.len()));
    assert_eq!(texts("a.rs", &whole), [whole.trim_end()]);
}

#[test]
fn a_long_nested_function_is_a_chunk_of_its_own() {
    let body = "    go_on_with_the_next_step_of_the_work();\n".repeat(80);
    let inner = "      and_on_with_the_inner_part();\n".repeat(15);
    let text = format!(
        "function outer() {{\n{body}\n  function large() {{\n{inner}  }}\n  function small() {{}}\n}}\n"
    );
    let lines = outline("a.js", &text);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("Function outer.large ")),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains("small")),
        "{lines:?}"
    );
}

#[test]
fn a_detached_comment_is_not_a_doc_comment() {
    let text = "int first; // of all\nint find() { return 1; }\n\n// Apart.\n\nint other() { return 2; }\n";
    assert_eq!(
        outline("a.c", text),
        ["Function find 2-2", "Function other 6-6"]
    );
}

#[test]
fn code_between_declarations_is_a_chunk_if_long_enough() {
    let text =
        "fn a() {}\n\nlet_there_be!(something_that_is_long, enough);\n\nfn b() {}\n\nmod c;\n;;;\n";
    let lines = ["Function a 1-1", "Lines  3-3", "Function b 5-5"];
    assert_eq!(outline("a.rs", text), lines);
}

#[test]
fn only_a_licence_at_the_start_of_a_file_is_left_out() {
    let licence = "Copyright of somebody, under a licence that is long enough.";
    let other = "What the functions beneath are for, and why they are here.";
    for (name, before, after) in [
        ("a.rs", "", "fn a() {}"),
        ("a.php", "<?php\n", "function a() {}"),
        ("a.js", "#!/usr/bin/env node\n", "function a() {}"),
        ("a.go", "", "package a\n\nfunc a() {}"),
    ] {
        let text = |words: &str| format!("{before}// {words}\n// More of it.\n\n{after}\n");
        assert_eq!(texts(name, &text(licence)).len(), 1, "{name}");
        assert_eq!(texts(name, &text(other)).len(), 2, "{name}");
    }
    let late = format!("fn a() {{}}\n\n// {licence}\n\nfn b() {{}}\n");
    assert_eq!(texts("a.rs", &late).len(), 3);
}
