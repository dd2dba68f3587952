//! Alignment of proposals with decisions, by example.

mod labelled;

use archway_repo::testing::cancel;

use super::*;
use crate::adr::Adr;

const DATABASE: &str = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Context\n\nWe need a store.\n\n\
    ## Decision\n\nWe will use PostgreSQL as the database of all services. MongoDB was turned down, \
    since nobody knows it.\n\n## Consequences\n\nSomebody learns vacuuming.\n";
const LOGS: &str = "# 2. Logs are kept briefly\n\n## Status\n\nAccepted\n\n## Decision\n\n\
    Logs are kept for 30 days. Telephone numbers must never be written to a log.\n";
const MAIL: &str = "# 3. Send mail with Postfix\n\n## Status\n\nProposed\n\n## Decision\n\nMail is sent \
    by Postfix.\n";

struct ParsedDecision {
    text: &'static str,
    markdown: Markdown,
    status: Status,
    positions: Positions,
}

fn parse(text: &'static str) -> ParsedDecision {
    let markdown = Markdown::read(text, &cancel()).unwrap();
    let adr = Adr::of(&markdown, markdown.document_title().unwrap());
    ParsedDecision {
        text,
        positions: Positions::of(&markdown, &adr),
        status: adr.status,
        markdown,
    }
}

/// Aligns a proposal with the three decisions.
fn align_with_three(description: &str) -> (Vec<(usize, Label)>, Alignment) {
    align_with(&[DATABASE, LOGS, MAIL], description)
}

/// Aligns a proposal with decisions, and returns the labels and the whole result.
fn align_with(texts: &[&'static str], description: &str) -> (Vec<(usize, Label)>, Alignment) {
    let all: Vec<ParsedDecision> = texts.iter().copied().map(parse).collect();
    let decisions: Vec<Decision<'_>> = all.iter().map(decision).collect();
    let proposal = Proposal {
        description,
        context: None,
        nearest: None,
    };
    let alignment = align(&decisions, &proposal, &cancel()).unwrap();
    let labels = alignment.found.iter();
    (
        labels.map(|one| (one.decision, one.label)).collect(),
        alignment,
    )
}

fn decision(parsed: &ParsedDecision) -> Decision<'_> {
    Decision {
        id: "0001",
        status: parsed.status,
        successors: &[],
        positions: &parsed.positions,
        markdown: &parsed.markdown,
        source: parsed.text,
    }
}

#[test]
fn replacing_the_chosen_option_conflicts() {
    for proposal in [
        "Replace PostgreSQL with CockroachDB.",
        "The database of the order service is MongoDB.",
        "We migrate the services' database from Postgres to MySQL.",
    ] {
        let (labels, alignment) = align_with_three(proposal);
        assert_eq!(labels.first(), Some(&(0, Label::Conflicts)), "{proposal}");
        assert!(alignment.found[0].conflict.is_some());
    }
}

#[test]
fn carrying_out_a_decision_is_supported_and_quotes_it() {
    let (labels, alignment) = align_with_three("The order service uses pg as its database.");
    assert_eq!(labels.first(), Some(&(0, Label::Supports)));
    let quote = "We will use PostgreSQL as the database of all services.";
    assert!(alignment.found[0].reason.contains(quote), "{alignment:?}");
}

const QUEUES: &str = "# 1. We use RabbitMQ for work queues\n\n## Status\n\nAccepted\n\n## Decision\n\n\
    We use RabbitMQ for all background work.\n";
const SESSIONS: &str = "# 2. Server-side sessions\n\n## Status\n\nAccepted\n\n## Decision\n\nSessions are \
    kept on the server. Session cookies are HttpOnly and Secure.\n";
const STORE: &str = "# 3. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nAll services must use \
    PostgreSQL as their database. Telephone numbers must never be written to a log.\n";

#[test]
fn restating_or_using_the_chosen_option_is_supported() {
    for (proposal, at) in [
        ("All new services use PostgreSQL for their data.", 2),
        ("We will store invoices in PostgreSQL.", 2),
        ("Session cookies are HttpOnly.", 1),
    ] {
        let (labels, _) = align_with(&[QUEUES, SESSIONS, STORE], proposal);
        assert_eq!(labels, [(at, Label::Supports)], "{proposal}");
    }
}

#[test]
fn ending_the_chosen_option_or_migrating_away_conflicts() {
    let (labels, alignment) =
        align_with(&[QUEUES, SESSIONS, STORE], "Delete the RabbitMQ cluster.");
    assert_eq!(labels, [(0, Label::Conflicts)]);
    assert!(
        alignment.found[0]
            .reason
            .starts_with("Drops the chosen option")
    );
    let (labels, _) = align_with(&[QUEUES, SESSIONS, STORE], "Move background work to Kafka.");
    assert_eq!(labels, [(0, Label::Conflicts)]);
}

#[test]
fn other_purposes_and_maintenance_do_not_conflict() {
    let all = [QUEUES, SESSIONS, STORE];
    let (labels, _) = align_with(&all, "We will send push notifications through Firebase.");
    assert_eq!(labels, []);
    let backup = "A nightly backup of a read replica of the PostgreSQL database is taken.";
    let (labels, _) = align_with(&all, backup);
    assert_eq!(labels, [(2, Label::Related)]);
}

#[test]
fn a_conflict_quotes_the_sentence_that_forbids() {
    let all = [QUEUES, SESSIONS, STORE];
    let (labels, alignment) = align_with(&all, "Write the telephone numbers to the log, too.");
    assert_eq!(labels, [(2, Label::Conflicts)]);
    let quote = "Telephone numbers must never be written to a log.";
    assert!(alignment.found[0].reason.contains(quote));
}

const GRAFANA: &str = "# 4. Dashboards in Grafana\n\n## Status\n\nAccepted\n\n## Decision\n\nAlert rules live in \
    Grafana, and look the same for all teams. Dashboards are checked against the tri-weekly review.\n";

#[test]
fn words_that_resemble_a_rejection_or_an_end_conflict_with_nothing() {
    let all = [QUEUES, SESSIONS, STORE, GRAFANA];
    for (proposal, at) in [
        ("Write alert rules for the new queue in Grafana.", 3),
        ("Delete expired jobs from RabbitMQ.", 0),
        ("Telephone numbers are stored without blanks.", 2),
        ("Background work to Kafka came up again. No.", 0),
    ] {
        let (labels, alignment) = align_with(&all, proposal);
        let found = labels.iter().find(|(found, _)| *found == at);
        let (_, label) = found.unwrap_or_else(|| panic!("{proposal}: {alignment:?}"));
        assert_ne!(*label, Label::Conflicts, "{proposal}: {alignment:?}");
    }
}

#[test]
fn a_sentence_that_refuses_something_else_does_not_hide_a_conflict() {
    let proposal = "Session cookies will not change. Move background work to Kafka.";
    let (labels, _) = align_with(&[QUEUES, SESSIONS, STORE], proposal);
    assert!(labels.contains(&(0, Label::Conflicts)), "{labels:?}");
}

#[test]
fn resembling_a_rule_with_another_number_or_without_its_no_is_no_support() {
    for proposal in ["Keep logs for a year.", "A log has telephone numbers."] {
        let (labels, _) = align_with_three(proposal);
        assert!(!labels.contains(&(1, Label::Supports)), "{proposal}");
    }
}

#[test]
fn suggestions_name_the_successor_of_a_superseded_decision() {
    let all = [DATABASE, STORE].map(parse);
    let old = Decision {
        status: Status::Superseded,
        successors: &[1],
        ..decision(&all[0])
    };
    let new = Decision {
        id: "0002",
        ..decision(&all[1])
    };
    let proposal = Proposal {
        description: "The order service uses pg as its database.",
        context: None,
        nearest: None,
    };
    let alignment = align(&[old, new], &proposal, &cancel()).unwrap();
    let expected = "ADR 0001 is superseded; read its successor: ADR 0002.";
    assert!(
        alignment.suggestions.contains(&expected.to_owned()),
        "{alignment:?}"
    );
}

#[test]
fn a_question_is_only_related() {
    let (labels, _) =
        align_with_three("Should the PostgreSQL database of the services get a replica?");
    assert_eq!(labels, [(0, Label::Related)]);
}

#[test]
fn violating_a_limit_or_a_ban_conflicts() {
    let (labels, alignment) = align_with_three("Logs are kept for a year.");
    assert_eq!(labels, [(1, Label::Conflicts)]);
    assert!(
        alignment.found[0]
            .reason
            .contains("Logs are kept for 30 days.")
    );
    let (labels, alignment) = align_with_three("Write the telephone numbers to the log, too.");
    assert_eq!(labels, [(1, Label::Conflicts)]);
    assert!(
        alignment.found[0]
            .reason
            .contains("Telephone numbers must never be written to a log.")
    );
}

#[test]
fn a_proposed_decision_is_at_most_related() {
    let (labels, alignment) = align_with_three("Mail is sent by Postfix.");
    assert_eq!(labels, [(2, Label::Related)]);
    assert!(alignment.found[0].reason.starts_with("Only proposed"));
}

#[test]
fn an_unrelated_proposal_has_no_findings_but_a_suggestion() {
    for proposal in [
        "Paint the fence green.",
        "",
        "?!",
        "The summer party is in July.",
    ] {
        let (labels, alignment) = align_with_three(proposal);
        assert_eq!(labels, [], "{proposal}");
        assert!(alignment.suggestions[0].contains("No ADR is about this"));
    }
    let nothing = align(
        &[],
        &Proposal {
            description: "Use PostgreSQL.",
            context: Some("We need a store."),
            nearest: None,
        },
        &cancel(),
    )
    .unwrap();
    assert!(nothing.found.is_empty());
    assert!(nothing.suggestions[0].contains("no ADRs"));
}

#[test]
fn a_decision_of_one_huge_sentence_stays_within_limits() {
    for words in [
        "services never use postgres and ",
        "logs: no; ",
        "never never drop ",
        "mysql, ",
    ] {
        let sentence = words.repeat((1 << 20) / words.len());
        let text = format!("# 1. Use PostgreSQL\n\n## Decision\n\n{sentence}\n");
        let markdown = Markdown::read(&text, &cancel()).unwrap();
        let positions = Positions::of(&markdown, &Adr::of(&markdown, "Use PostgreSQL"));
        let counts = positions.statements.iter();
        let counts: Vec<usize> = counts.map(|one| one.sentence.words.len()).collect();
        assert!(counts.len() <= 160, "{words}");
        assert!(counts.iter().all(|count| *count <= 2000), "{words}");
    }
}

#[test]
fn a_paraphrase_is_found_by_the_vectors_of_passages() {
    let all = [QUEUES, SESSIONS, STORE, LOGS].map(parse);
    let decisions: Vec<Decision<'_>> = all.iter().map(decision).collect();
    let mut proposal = Proposal {
        description: "Zap gizmos whenever frobnication quiesces.",
        context: None,
        nearest: None,
    };
    let found = align(&decisions, &proposal, &cancel()).unwrap().found;
    assert_eq!(found, []);
    proposal.nearest = Some(&[0.31, 0.72, 0.28, 0.3]);
    let found = align(&decisions, &proposal, &cancel()).unwrap().found;
    let labels: Vec<(usize, Label)> = found.iter().map(|one| (one.decision, one.label)).collect();
    assert_eq!(labels.first(), Some(&(1, Label::Related)));
}
