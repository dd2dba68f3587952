//! Whole records of each style.

use super::*;

#[test]
fn nygards_form_by_adr_tools() {
    let read = read(
        "# 9. Store orders in Postgres\n\nDate: 2021-03-04\n\n## Status\n\nAccepted\n\n\
         Supercedes [3. Store orders in files](0003-files.md)\n\n\
         Amended by [12. Shards](0012-shards.md)\n\n## Context\n\nOrders are lost. We need a store.\n\n\
         ## Decision\n\nWe will use Postgres.\n\n## Consequences\n\nBackups are needed.\n",
    );
    assert_eq!(read.adr.number.as_deref(), Some("9"));
    assert_eq!(read.adr.title, "Store orders in Postgres");
    assert_eq!(read.adr.status, Status::Accepted);
    assert_eq!(
        read.relations(),
        [
            (
                RelationKind::Supersedes,
                "3. Store orders in files",
                Some("0003-files.md")
            ),
            (
                RelationKind::AmendedBy,
                "12. Shards",
                Some("0012-shards.md")
            ),
        ]
    );
    assert_eq!(
        read.texts(&read.adr.context),
        ["Orders are lost. We need a store."]
    );
    assert_eq!(read.texts(&read.adr.decision), ["We will use Postgres."]);
    assert_eq!(
        read.consequences(),
        [consequence("Backups are needed.", None)]
    );
}

#[test]
fn a_superseded_record_by_adr_tools() {
    let read = read(
        "# 3. Store orders in files\n\nDate: 2020-01-01\n\n## Status\n\n\
         Superceded by [9. Store orders in Postgres](0009-store.md)\n\n## Decision\n\nFiles.\n",
    );
    assert_eq!(read.adr.status, Status::Superseded);
    let expected = (
        RelationKind::SupersededBy,
        "9. Store orders in Postgres",
        Some("0009-store.md"),
    );
    assert_eq!(read.relations(), [expected]);
}

pub(super) const MADR_2: &str = "# Use Kafka for events\n\n* Status: accepted <!-- optional -->\n\
    * Deciders: Ann, Bob\n* Date: 2021-05-06\n\nTechnical Story: #12\n\n\
    ## Context and Problem Statement\n\nHow do services talk?\n\n\
    ## Decision Drivers <!-- optional -->\n\n* throughput\n* replay\n\n\
    ## Considered Options\n\n* Kafka\n* RabbitMQ\n* Kafka with Avro\n\n\
    ## Decision Outcome\n\nChosen option: \"Kafka\", because it replays. RabbitMQ does not.\n\n\
    ### Positive Consequences\n\n* one log\n\n### Negative Consequences\n\n* operations\n\n\
    ## Pros and Cons of the Options\n\n### Kafka\n\nA log.\n\n* Good, because it replays\n\
    * Bad, because it is heavy\n\n### RabbitMQ\n\n* Good, because it is light\n\
    * Neutral, because known\n\n## Links\n\n* Supersedes [ADR-0003](0003-http.md)\n\
    * Refined by [x](0007-x.md)\n";

#[test]
fn madr_2() {
    let read = read(MADR_2);
    assert_eq!(read.adr.status, Status::Accepted);
    assert_eq!(read.texts(&read.adr.context), ["How do services talk?"]);
    assert_eq!(read.texts(&read.adr.drivers), ["throughput", "replay"]);
    let expected = [
        ("Kafka", Verdict::Chosen),
        ("RabbitMQ", Verdict::Rejected),
        ("Kafka with Avro", Verdict::Rejected),
    ];
    assert_eq!(read.options(), expected);
    let kafka = read.option("Kafka");
    assert_eq!(read.texts(&kafka.about), ["Kafka", "A log."]);
    assert_eq!(read.texts(&kafka.pros), ["it replays"]);
    assert_eq!(read.texts(&kafka.cons), ["it is heavy"]);
    assert_eq!(read.texts(&read.option("RabbitMQ").pros), ["it is light"]);
    assert_eq!(
        read.consequences(),
        [
            consequence("one log", Some(true)),
            consequence("operations", Some(false))
        ]
    );
    assert_eq!(
        read.relations(),
        [
            (RelationKind::Supersedes, "ADR-0003", Some("0003-http.md")),
            (RelationKind::AmendedBy, "x", Some("0007-x.md")),
        ]
    );
}

#[test]
fn madr_4_with_front_matter() {
    let read = read(
        "---\nstatus: \"superseded by ADR-0005\"\ndate: 2024-02-03\ndecision-makers: [Ann]\n---\n\
         # Keep sessions in Redis\n\n## Context and Problem Statement\n\nWhere?\n\n\
         ## Considered Options\n\n* Redis\n* Memory\n\n## Decision Outcome\n\n\
         Chosen option: Redis, since it is shared.\n\n### Consequences\n\n\
         * Good, because it is shared\n* Bad, because it may be away\n* Neutral, because x\n\n\
         ### Confirmation\n\nA test.\n",
    );
    assert_eq!(read.adr.status, Status::Superseded);
    assert_eq!(
        read.relations(),
        [(RelationKind::SupersededBy, "ADR-0005", None)]
    );
    assert_eq!(
        read.options(),
        [("Redis", Verdict::Chosen), ("Memory", Verdict::Rejected)]
    );
    let expected = [
        consequence("it is shared", Some(true)),
        consequence("it may be away", Some(false)),
        consequence("Neutral, because x", None),
    ];
    assert_eq!(read.consequences(), expected);
    assert_eq!(read.texts(&read.adr.other), ["A test."]);
}

#[test]
fn a_y_statement_is_a_whole_record() {
    let read = read(
        "# ADR-012: Sessions\n\n**Status:** Proposed\n\nIn the context of the web shop, facing many\n\
         servers, we decided for signed cookies and neglected sticky sessions, to achieve\n\
         restarts without loss, accepting that cookies grow.\n",
    );
    assert_eq!(read.adr.number.as_deref(), Some("012"));
    assert_eq!(read.adr.title, "Sessions");
    assert_eq!(read.adr.status, Status::Proposed);
    assert_eq!(read.texts(&read.adr.context), ["the web shop"]);
    assert_eq!(read.texts(&read.adr.drivers), ["many servers"]);
    let expected = [
        ("signed cookies", Verdict::Chosen),
        ("sticky sessions", Verdict::Rejected),
    ];
    assert_eq!(read.options(), expected);
    assert_eq!(
        read.consequences(),
        [
            consequence("restarts without loss", Some(true)),
            consequence("cookies grow", Some(false))
        ]
    );
    assert!(read.texts(&read.adr.decision)[0].starts_with("In the context of"));
}

#[test]
fn tyrees_and_akermans_headings() {
    let read = read(
        "# Payment provider\n\n## Issue\n\nWe need one.\n\n## Decision\n\nUse Stripe.\n\n\
         ## Status\n\nApproved\n\n## Group\n\nIntegration\n\n## Assumptions\n\nCards only.\n\n\
         ## Constraints\n\nPCI.\n\n## Positions\n\n- Stripe\n- Adyen\n\n## Argument\n\nIt is simple.\n\n\
         ## Implications\n\nFees.\n\n## Related decisions\n\nReplaces ADR-2.\n",
    );
    assert_eq!(read.adr.status, Status::Accepted);
    assert_eq!(
        read.texts(&read.adr.context),
        ["We need one.", "Cards only."]
    );
    assert_eq!(read.texts(&read.adr.drivers), ["PCI."]);
    assert_eq!(
        read.texts(&read.adr.decision),
        ["Use Stripe.", "It is simple."]
    );
    assert_eq!(
        read.options(),
        [("Stripe", Verdict::Chosen), ("Adyen", Verdict::Rejected)]
    );
    assert_eq!(read.consequences(), [consequence("Fees.", None)]);
    assert_eq!(
        read.relations(),
        [(RelationKind::Supersedes, "ADR-2", None)]
    );
}
