//! Extraction of records: where parts may be, and how options are recognized.

mod styles;

use archway_repo::testing::cancel;

use super::*;

struct Parsed {
    markdown: Markdown,
    adr: Adr,
}

fn read(text: &str) -> Parsed {
    let markdown = Markdown::read(text, &cancel()).unwrap();
    let adr = Adr::of(&markdown, markdown.document_title().unwrap_or_default());
    Parsed { markdown, adr }
}

impl Parsed {
    fn texts(&self, passages: &[Passage]) -> Vec<String> {
        let text = |passage: &Passage| {
            passage
                .text(&self.markdown)
                .replace('\n', " ")
                .trim()
                .to_owned()
        };
        passages.iter().map(text).collect()
    }

    fn options(&self) -> Vec<(&str, Verdict)> {
        let options = self.adr.options.iter();
        options
            .map(|option| (option.name.as_str(), option.verdict))
            .collect()
    }

    fn option(&self, name: &str) -> &ConsideredOption {
        self.adr
            .options
            .iter()
            .find(|option| option.name == name)
            .unwrap()
    }

    fn consequences(&self) -> Vec<(String, Option<bool>)> {
        let consequences = self.adr.consequences.iter();
        consequences
            .map(|one| {
                (
                    self.texts(std::slice::from_ref(&one.passage)).remove(0),
                    one.is_good,
                )
            })
            .collect()
    }

    fn relations(&self) -> Vec<(RelationKind, &str, Option<&str>)> {
        let relations = self.adr.relations.iter();
        relations
            .map(|one| (one.kind, one.name.as_str(), one.target.as_deref()))
            .collect()
    }
}

fn consequence(text: &str, is_good: Option<bool>) -> (String, Option<bool>) {
    (text.to_owned(), is_good)
}

#[test]
fn parts_behind_bold_words_and_in_tables() {
    let read = read(
        "# Caching\n\n| Field | Value |\n|---|---|\n| Status | Rejected |\n| Date | 2022-01-02 |\n\
         | Decision | We will not cache. |\n\n**Context**\n\nPages are slow.\n\nThey are many.\n\n\
         **Consequences:** They stay slow.\n",
    );
    assert_eq!(read.adr.status, Status::Rejected);
    assert_eq!(read.texts(&read.adr.decision), ["We will not cache."]);
    assert!(
        read.texts(&read.adr.context)
            .ends_with(&["Pages are slow.".to_owned(), "They are many.".to_owned()])
    );
    assert_eq!(read.consequences(), [consequence("They stay slow.", None)]);
}

#[test]
fn options_in_a_table() {
    let read = read(
        "# Logs\n\n## Options\n\n| Option | Pros | Cons | Chosen |\n|---|---|---|---|\n\
         | ELK | known | heavy | no |\n| Loki | light | | yes |\n\n## Decision\n\nLoki.\n",
    );
    assert_eq!(
        read.options(),
        [("ELK", Verdict::Rejected), ("Loki", Verdict::Chosen)]
    );
    let elk = read.option("ELK");
    assert_eq!(
        (read.texts(&elk.pros), read.texts(&elk.cons)),
        (vec!["known".to_owned()], vec!["heavy".to_owned()])
    );
}

#[test]
fn alternatives_are_rejected_and_options_may_be_numbered() {
    let alternatives = read(
        "# Use gRPC\n\n## Decision\n\nWe will use gRPC.\n\n## Alternatives considered\n\n\
         **REST**: no streams.\n\n- GraphQL - too much\n",
    );
    assert_eq!(
        alternatives.options(),
        [("REST", Verdict::Rejected), ("GraphQL", Verdict::Rejected)]
    );
    let numbered = read(
        "# Queue\n\n## Options\n\n### Option 1: SQS\n\n#### Pros\n\n- managed\n\n#### Cons\n\n- price\n\n\
         ### Option 2: NATS\n\nPros:\n\n- fast\n\n## Decision\n\nOption 2 was chosen.\n",
    );
    assert_eq!(
        numbered.options(),
        [("SQS", Verdict::Rejected), ("NATS", Verdict::Chosen)]
    );
    let sqs = numbered.option("SQS");
    assert_eq!(numbered.texts(&sqs.pros), ["managed"]);
    assert_eq!(numbered.texts(&sqs.cons), ["price"]);
    assert_eq!(numbered.texts(&numbered.option("NATS").pros), ["fast"]);
}

#[test]
fn an_option_after_instead_of_is_not_chosen() {
    let read = read(
        "# Database\n\n## Considered Options\n\n1. MySQL\n2. Postgres\n\n## Decision\n\n\
         We will use Postgres instead of MySQL.\n",
    );
    assert_eq!(
        read.options(),
        [("MySQL", Verdict::Rejected), ("Postgres", Verdict::Chosen)]
    );
}

#[test]
fn a_negated_option_is_not_chosen() {
    let read = read(
        "# Queue\n\n## Options\n\n- Kafka\n- NATS\n\n## Decision\n\n\
         We will not use Kafka. NATS is enough.\n",
    );
    assert_eq!(
        read.options(),
        [("Kafka", Verdict::Rejected), ("NATS", Verdict::Chosen)]
    );
}

#[test]
fn an_options_name_ends_before_its_description() {
    let read = read(
        "# X\n\n## Considered Options\n\nThese were looked at.\n\n\
         * Number (i.e. 0001 - as it is): short\n* Add `a: b` - long\n* Use the name. It is long.\n\n\
         Others were not, since they are like these.\n",
    );
    let names: Vec<_> = read.options().into_iter().map(|(name, _)| name).collect();
    let expected = [
        "Number (i.e. 0001 - as it is)",
        "Add `a: b`",
        "Use the name",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_y_statement_sets_the_outcome_of_listed_options() {
    let read = read(
        "# X\n\n## Options\n\n- Signed cookies\n- Sticky sessions\n\n## Decision\n\nIn the context of \
         the shop, we decided for signed cookies and neglected sticky sessions.\n",
    );
    let expected = [
        ("Signed cookies", Verdict::Chosen),
        ("Sticky sessions", Verdict::Rejected),
    ];
    assert_eq!(read.options(), expected);
}

#[test]
fn the_latest_status_of_a_history_counts() {
    let read = read(
        "# X\n\n## Status\n\n- Proposed 2020-01-01\n- Accepted 2020-02-01\n- Deprecated 2021-02-01\n",
    );
    assert_eq!(read.adr.status, Status::Deprecated);
}

#[test]
fn without_headings_sentences_state_the_decision() {
    let read = read("# Linting\n\nCode differs. We will use one formatter. It is fast.\n");
    assert_eq!(
        read.texts(&read.adr.decision),
        ["We will use one formatter."]
    );
    assert_eq!(read.adr.status, Status::Unknown);
}

#[test]
fn a_list_of_records_is_not_a_record() {
    let list = read("# Decisions\n\n- [1](1.md)\n- [2](2.md)\n- [3](3.md)\n");
    assert!(list.adr.is_record_list(&list.markdown));
    let record = read(styles::MADR_2);
    assert!(!record.adr.is_record_list(&record.markdown));
}

#[test]
fn passages_have_lines_and_verbatim_text() {
    let text = "# X\n\n## Decision\n\nWe *will* use\nit. Not `y`.\n";
    let read = read(text);
    let sentences = read.adr.decision[0].sentences(&read.markdown);
    let shown: Vec<_> = sentences
        .iter()
        .map(|one| (one.line(&read.markdown), one.verbatim(&read.markdown, text)))
        .collect();
    assert_eq!(
        shown,
        [
            (5, "We *will* use it.".to_owned()),
            (6, "Not `y`.".to_owned())
        ]
    );
}

#[test]
fn malformed_records_do_not_panic() {
    for text in [
        "",
        "#",
        "# Status\n\naccepted",
        "## Options\n\n### \n\n- \n",
        "| a |\n|---|\n| Status |\n",
    ] {
        read(text);
    }
}

#[test]
fn a_hostile_record_stays_within_limits() {
    let line = "supersedes [1](1.md) amends ".repeat(10_000);
    let lines = "- supersedes ADR-1, replaced by 2\n".repeat(5_000);
    let options = (0..5_000).map(|number| format!("- option {number}x: a\n"));
    let stops = "a. B `c. `".repeat(20_000);
    let options: String = options.collect();
    for text in [&line, &lines, &stops] {
        let read = read(&format!(
            "# X\n\n## Status\n\n{text}\n\n## Decision\n\n{text}\n"
        ));
        assert!(read.adr.relations.len() <= 50);
    }
    let read = read(&format!(
        "# X\n\n## Options\n\n{options}\n## Decision\n\n{stops}\n"
    ));
    assert_eq!(read.adr.options.len(), 100);
}
