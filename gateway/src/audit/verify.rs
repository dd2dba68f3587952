//! Verifies that a chain is what gateways wrote, record by record from start to end.

use serde::Deserialize;
use uuid::Uuid;

use super::chain::{Mac, NOTHING_BEFORE, Row};
use crate::secrets::RootSecret;

/// Findings kept per chain; further ones are dropped.
const MOST_FINDINGS: usize = 20;

/// A difference from what gateways wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The record with this number was changed, or was written under another secret.
    Changed(i64),
    /// The records with these numbers are missing: the first and the last.
    Removed(i64, i64),
}

impl Finding {
    /// Whether it is about a record up to this number.
    pub fn is_up_to(self, last: i64) -> bool {
        let (Finding::Changed(number) | Finding::Removed(number, _)) = self;
        number <= last
    }
}

/// A position in a chain: where pruning cut it, or where it ended at an earlier verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// The record's number.
    pub number: i64,
    /// The record's MAC.
    pub mac: Mac,
}

/// The result for one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The chain's id.
    pub chain: Uuid,
    /// The position of the last record, if there is one.
    pub last: Option<ChainPosition>,
    /// The number of verified records.
    pub records: u64,
    /// The number of calls that the chain itself reports as missing, for lack of a slot.
    pub missing: u64,
    /// Whether the chain was closed properly. Otherwise it is still being written, or its gateway
    /// was killed.
    pub has_ended: bool,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// Verifies one chain, row by row in order.
pub struct Verifier<'a> {
    tenant: Uuid,
    secret: &'a RootSecret,
    before: ChainPosition,
    /// Where the chain ended at an earlier verification.
    earlier_end: Option<ChainPosition>,
    verified: Verified,
}

/// The members of a record that matter for its chain.
#[derive(Deserialize)]
struct RecordSummary {
    kind: String,
    #[serde(default)]
    missing: u64,
}

impl<'a> Verifier<'a> {
    /// A chain that starts after `anchor`, or with its first record.
    pub fn new(
        tenant: Uuid,
        chain: Uuid,
        secret: &'a RootSecret,
        anchor: Option<ChainPosition>,
        earlier_end: Option<ChainPosition>,
    ) -> Self {
        let beginning = ChainPosition {
            number: 0,
            mac: NOTHING_BEFORE,
        };
        Verifier {
            tenant,
            secret,
            before: anchor.unwrap_or(beginning),
            earlier_end,
            verified: Verified {
                chain,
                last: anchor,
                records: 0,
                missing: 0,
                has_ended: false,
                findings: Vec::new(),
            },
        }
    }

    /// Verifies the next record.
    pub fn check(&mut self, row: &Row) {
        self.verified.records += 1;
        let expected = self.before.number + 1;
        if row.number > expected {
            // Its predecessor is gone, so its own MAC cannot be checked.
            self.find(Finding::Removed(expected, row.number - 1));
        } else if row.number < expected || !row.follows(&self.before.mac, self.tenant, self.secret)
        {
            self.find(Finding::Changed(row.number));
        }
        if self.earlier_end.is_some_and(|earlier_end| {
            earlier_end.number == row.number && earlier_end.mac != row.mac
        }) {
            self.find(Finding::Changed(row.number));
        }
        self.before = ChainPosition {
            number: row.number,
            mac: row.mac,
        };
        self.verified.last = Some(self.before);
        if let Ok(summary) = serde_json::from_str::<RecordSummary>(&row.record) {
            self.verified.missing += summary.missing;
            self.verified.has_ended = summary.kind == "end";
        }
    }

    /// Ends the verification.
    pub fn end(mut self) -> Verified {
        if let Some(earlier_end) = self
            .earlier_end
            .filter(|earlier_end| earlier_end.number > self.before.number)
        {
            self.find(Finding::Removed(self.before.number + 1, earlier_end.number));
        }
        self.verified
    }

    fn find(&mut self, finding: Finding) {
        if self.verified.findings.len() < MOST_FINDINGS
            && !self.verified.findings.contains(&finding)
        {
            self.verified.findings.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::Chain;
    use super::*;

    const TENANT: Uuid = Uuid::from_u128(1);

    struct ChainFixture {
        secret: RootSecret,
        rows: Vec<Row>,
    }

    fn written(records: &[&str]) -> ChainFixture {
        let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
        let mut chain = Chain::new(TENANT);
        let rows = records.iter().zip(1..);
        let rows = rows.map(|(record, at)| chain.append(at, (*record).to_owned(), &secret));
        ChainFixture {
            rows: rows.collect(),
            secret,
        }
    }

    impl ChainFixture {
        fn verified(
            &self,
            anchor: Option<ChainPosition>,
            earlier_end: Option<ChainPosition>,
        ) -> Verified {
            let chain = self.rows[0].chain;
            let mut verifier = Verifier::new(TENANT, chain, &self.secret, anchor, earlier_end);
            for row in &self.rows {
                verifier.check(row);
            }
            verifier.end()
        }

        fn findings(&self) -> Vec<Finding> {
            self.verified(None, None).findings
        }

        fn position(&self, at: usize) -> ChainPosition {
            ChainPosition {
                number: self.rows[at].number,
                mac: self.rows[at].mac,
            }
        }
    }

    const FIVE: [&str; 5] = [
        r#"{"kind":"begin"}"#,
        r#"{"kind":"call"}"#,
        r#"{"kind":"gap","missing":7}"#,
        r#"{"kind":"call"}"#,
        r#"{"kind":"end"}"#,
    ];

    #[test]
    fn an_untouched_chain_has_no_findings_and_reports_its_gaps() {
        let verified = written(&FIVE).verified(None, None);
        assert_eq!(verified.findings, []);
        assert_eq!((verified.records, verified.missing), (5, 7));
        assert!(verified.has_ended);
    }

    #[test]
    fn a_changed_record_is_found_and_no_other_is_blamed() {
        let mut chain = written(&FIVE);
        chain.rows[1].record = r#"{"kind":"call","outcome":"ok"}"#.into();
        assert_eq!(chain.findings(), [Finding::Changed(2)]);
    }

    #[test]
    fn removed_records_are_found_except_at_the_end() {
        let mut chain = written(&FIVE);
        chain.rows.drain(1..3);
        assert_eq!(chain.findings(), [Finding::Removed(2, 3)]);
        chain.rows.remove(0);
        assert_eq!(chain.findings(), [Finding::Removed(1, 3)]);
    }

    #[test]
    fn swapped_and_duplicated_records_are_found() {
        let mut chain = written(&FIVE);
        let (second, fourth) = (chain.rows[1].clone(), chain.rows[3].clone());
        chain.rows.insert(2, second);
        assert_eq!(chain.findings(), [Finding::Changed(2)]);
        let mut chain = written(&FIVE);
        chain.rows[1].record = fourth.record;
        chain.rows[1].mac = fourth.mac;
        assert!(chain.findings().contains(&Finding::Changed(2)));
    }

    #[test]
    fn pruned_records_are_not_missed_if_an_anchor_covers_them() {
        let mut chain = written(&FIVE);
        let anchor = chain.position(2);
        chain.rows.drain(..3);
        assert_eq!(chain.verified(Some(anchor), None).findings, []);
        assert_eq!(chain.findings(), [Finding::Removed(1, 3)]);
    }

    #[test]
    fn a_cut_end_is_found_by_an_earlier_verification() {
        let mut chain = written(&FIVE);
        let earlier_end = chain.position(4);
        chain.rows.truncate(3);
        assert_eq!(chain.findings(), []);
        let verified = chain.verified(None, Some(earlier_end));
        assert_eq!(verified.findings, [Finding::Removed(4, 5)]);
    }

    #[test]
    fn another_secret_verifies_nothing() {
        let mut chain = written(&FIVE);
        chain.secret = written(&FIVE).secret;
        assert_eq!(chain.findings().len(), 5);
    }
}
