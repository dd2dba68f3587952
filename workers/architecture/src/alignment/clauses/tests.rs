//! Roles of the terms in a sentence.

use super::*;

/// The words to which a text gives `role`.
fn words_with(text: &str, role: Role) -> Vec<String> {
    let of = |clause: &Clause| {
        let concepts: Vec<_> = clause
            .terms
            .iter()
            .filter(|term| term.role == role)
            .map(|term| term.concept)
            .collect();
        concepts
    };
    let concepts: Vec<_> = clauses(text).iter().flat_map(of).collect();
    let tokens = tokens(text);
    let named = tokens.iter().filter(|token| {
        token
            .concept
            .is_some_and(|concept| concepts.contains(&concept))
    });
    named.map(|token| token.lower.clone()).collect()
}

#[test]
fn a_replacement_is_adopted_and_the_replaced_term_dropped() {
    for text in [
        "Replace PostgreSQL with CockroachDB.",
        "We migrate from PostgreSQL to CockroachDB.",
        "CockroachDB instead of PostgreSQL",
        "We use CockroachDB rather than PostgreSQL.",
        "PostgreSQL is replaced by CockroachDB.",
        "We no longer use PostgreSQL, we take CockroachDB.",
    ] {
        assert!(
            words_with(text, Role::Drops).contains(&"postgresql".to_owned()),
            "{text}"
        );
        assert!(
            words_with(text, Role::Adopts).contains(&"cockroachdb".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_negated_verb_inverts_its_subject() {
    assert_eq!(
        words_with("Secrets are never kept in images.", Role::Adopts),
        Vec::<String>::new()
    );
    let taken = words_with("The staging environment is shut down.", Role::Adopts);
    assert!(!taken.contains(&"staging".to_owned()), "{taken:?}");
    assert_eq!(
        words_with("A call is tried no more than three times.", Role::Drops),
        Vec::<String>::new()
    );
}

#[test]
fn a_term_alongside_another_is_neither_adopted_nor_dropped() {
    let text = "In addition to RabbitMQ, we keep an outbox.";
    assert!(words_with(text, Role::Alongside).contains(&"rabbitmq".to_owned()));
    assert!(!words_with(text, Role::Adopts).contains(&"rabbitmq".to_owned()));
}

#[test]
fn a_question_answered_with_no_is_dropped() {
    let clauses = clauses("Gate at 80 % coverage? No.");
    assert!(clauses[0].terms.iter().all(|term| term.role == Role::Drops));
    assert_eq!(clauses[0].mode, Mode::Asserts);
}

#[test]
fn an_overlong_sentence_is_split_into_clauses() {
    let clauses = clauses(&"kafka ".repeat(2 * MAX_TOKENS + 1));
    assert_eq!(clauses.len(), 3);
    assert!(
        clauses
            .iter()
            .all(|clause| !clause.terms.is_empty() && clause.terms.len() <= MAX_TERMS)
    );
}

#[test]
fn a_second_rejection_does_not_invert_the_first() {
    let clauses = clauses("Kafka: no; RabbitMQ: no; an outbox.");
    let roles = clauses
        .iter()
        .flat_map(|clause| &clause.terms)
        .map(|term| term.role);
    let roles: Vec<Role> = roles.collect();
    assert_eq!(roles.first(), Some(&Role::Drops));
    assert_eq!(roles.last(), Some(&Role::Adopts));
}
