//! How documents are parsed.

use archway_repo::testing::cancel;

use super::*;

fn read(text: &str) -> Markdown {
    Markdown::read(text, &cancel()).unwrap()
}

fn headings(text: &str) -> Vec<(u8, String)> {
    let sections = read(text).sections.into_iter();
    sections
        .map(|section| (section.level, section.heading))
        .collect()
}

fn blocks(text: &str) -> Vec<(BlockKind, u8, String, usize)> {
    let sections = read(text).sections.into_iter();
    let blocks = sections.flat_map(|section| section.blocks);
    blocks
        .map(|block| (block.kind, block.depth, block.text, block.line))
        .collect()
}

fn block(kind: BlockKind, depth: u8, text: &str, line: usize) -> (BlockKind, u8, String, usize) {
    (kind, depth, text.to_owned(), line)
}

#[test]
fn a_section_spans_from_its_heading_to_the_next() {
    let text = "before\n\n# One `x` *y*\ntext\n\n## Two\n\nThree\n-----\nlast\n";
    let sections = read(text).sections;
    let shown: Vec<_> = sections
        .iter()
        .map(|section| {
            (
                section.level,
                section.heading.as_str(),
                section.lines.clone(),
            )
        })
        .collect();
    let expected = [
        (0, "", 1..=2),
        (1, "One `x` y", 3..=5),
        (2, "Two", 6..=7),
        (2, "Three", 8..=10),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        text.get(sections[1].bytes.clone()),
        Some("# One `x` *y*\ntext\n\n")
    );
    assert_eq!(sections[3].blocks[0].text, "last");
}

#[test]
fn front_matter_is_not_text_and_a_thematic_break_not_front_matter() {
    let document = read("---\nstatus: accepted\n---\n# T\n\na\n\n---\n\nb: c\n\n---\n");
    assert_eq!(document.field("Status").unwrap().value(), "accepted");
    assert_eq!(document.title(), Some("T"));
    assert_eq!(document.sections[0].lines, 4..=12);
}

#[test]
fn headings_in_lists_and_quotations_open_no_section() {
    let text = "# One\n\n> # quoted\n\n- # listed\n\n```\n# code\n```\n";
    assert_eq!(headings(text), [(1, "One".to_owned())]);
}

#[test]
fn paragraphs_and_items_are_plain_text_with_line_numbers() {
    use BlockKind::{Item, Paragraph};
    let text = "a **b** [c](d.md)\nsecond `e*f`\n\n* one\n  * two ~~gone~~\n* [x] three\n\n  more\n\n\
                <!-- no -->\n> quoted <b>x</b>\n";
    let expected = [
        block(Paragraph, 0, "a b c\nsecond `e*f`", 1),
        block(Item, 1, "one", 4),
        block(Item, 2, "two ", 5),
        block(Item, 1, "three", 6),
        block(Paragraph, 1, "more", 8),
        block(Paragraph, 0, "quoted x", 11),
    ];
    assert_eq!(blocks(text), expected);
}

#[test]
fn links_have_a_text_range_and_a_target() {
    let document = read("See [ADR `5`](0005-b.md#x) and <https://a.b>.\n");
    let block = &document.sections[0].blocks[0];
    let links: Vec<_> = block
        .links
        .iter()
        .map(|link| {
            (
                block.text.get(link.text.clone()).unwrap(),
                link.target.as_str(),
            )
        })
        .collect();
    assert_eq!(
        links,
        [("ADR `5`", "0005-b.md#x"), ("https://a.b", "https://a.b")]
    );
}

#[test]
fn rows_of_a_table_have_cells() {
    let document = read("| Option | Pro |\n|---|---|\n| A `x` | fast |\n| B | |\n");
    let blocks = &document.sections[0].blocks;
    let rows: Vec<_> = blocks
        .iter()
        .map(|block| (block.kind, block.cells.clone(), block.line))
        .collect();
    let cells = |first: &str, second: &str| vec![first.to_owned(), second.to_owned()];
    let expected = [
        (BlockKind::Head, cells("Option", "Pro"), 1),
        (BlockKind::Row, cells("A `x`", "fast"), 3),
        (BlockKind::Row, cells("B", ""), 4),
    ];
    assert_eq!(rows, expected);
    assert_eq!(blocks[1].text, "A `x` | fast");
}

#[test]
fn fences_have_an_info_string_and_a_first_line() {
    let document =
        read("# A\n\n```ast-grep \nid: x\nrule: y\n```\n\n- entry\n\n  ~~~\n  deep\n  ~~~\n");
    let fence = |info: &str, content: &str, line| Fence {
        info: info.to_owned(),
        content: content.to_owned(),
        line,
        section: 0,
    };
    let expected = [
        fence("ast-grep", "id: x\nrule: y\n", 4),
        fence("", "deep\n", 11),
    ];
    assert_eq!(document.fences, expected);
}

#[test]
fn sentences_have_line_numbers() {
    let document = read("# A\n\nOne is here.\nTwo is\nthere. Three.\n");
    let block = &document.sections[0].blocks[0];
    let lines: Vec<_> = block.sentences().map(|(_, line)| line).collect();
    assert_eq!(lines, [3, 4, 5]);
}

#[test]
fn verbatim_text_includes_marks() {
    let text = "We *decided*.\n\n- **Use `x`  of\n  [it](a.md).** More is [here](b.md)\n";
    let document = read(text);
    let verbatim: Vec<_> = document.sections[0]
        .blocks
        .iter()
        .flat_map(|block| {
            block
                .sentences()
                .map(|(range, _)| block.verbatim(text, &range))
        })
        .collect();
    let expected = [
        "We *decided*.",
        "**Use `x` of [it](a.md).**",
        "More is [here](b.md)",
    ];
    assert_eq!(verbatim, expected);
}

#[test]
fn an_empty_document_has_no_sections() {
    assert!(read("").sections.is_empty());
    assert!(read("<!-- only this -->\n").sections.is_empty());
    assert_eq!(read("").title(), None);
}

#[test]
fn the_title_is_the_first_heading_of_the_highest_level() {
    assert_eq!(read("## Low\n# High\n# Next\n").title(), Some("High"));
    assert_eq!(
        read("text\n\nUnderlined\n====\n").title(),
        Some("Underlined")
    );
}

#[test]
fn hostile_documents_stay_within_limits() {
    let nested = "> ".repeat(50_000) + "x";
    let lists = (0..2000)
        .map(|at| format!("{}- x\n", " ".repeat(at)))
        .collect::<String>();
    let many = "# x\n\ny\n\n".repeat(40_000);
    for text in [
        nested,
        lists,
        many,
        "[".repeat(100_000),
        "*a_ ".repeat(50_000),
    ] {
        let document = read(&text);
        assert!(
            document
                .sections
                .iter()
                .map(|s| s.blocks.len())
                .sum::<usize>()
                <= 20_001
        );
    }
}
