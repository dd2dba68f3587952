//! Whether a chain is what gateways wrote: record by record, from where it begins to where it ends.

use serde::Deserialize;
use uuid::Uuid;

use super::chain::{Mac, NOTHING_BEFORE, Row};
use crate::secrets::RootSecret;

/// Findings of one chain that are kept; more are counted with the last.
const MOST_FINDINGS: usize = 20;

/// Something that gateways did not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The record of this number is not what was written, or not under this secret.
    Changed(i64),
    /// The records of these numbers are not there, the first and the last.
    Removed(i64, i64),
}

/// Where a chain was cut when what stood before was pruned, or where it ended when it was looked at
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The record's number.
    pub number: i64,
    /// Its MAC.
    pub mac: Mac,
}

/// What was found out about one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Which.
    pub chain: Uuid,
    /// Its last record, if it has any.
    pub last: Option<Place>,
    /// How many records were looked at.
    pub records: u64,
    /// How many calls its own records say are missing: there was no room for them.
    pub missing: u64,
    /// Whether it ended as it should. One that did not goes on, or its gateway was killed.
    pub has_ended: bool,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// Looks at one chain, in order.
pub struct Verifier<'a> {
    tenant: Uuid,
    secret: &'a RootSecret,
    before: Place,
    /// Where it ended when it was looked at before.
    known: Option<Place>,
    verified: Verified,
}

/// What of a record says something about its chain.
#[derive(Deserialize)]
struct Said {
    kind: String,
    #[serde(default)]
    missing: u64,
}

impl<'a> Verifier<'a> {
    /// For a chain that begins behind `anchor`, or with its first record.
    pub fn new(
        tenant: Uuid,
        chain: Uuid,
        secret: &'a RootSecret,
        anchor: Option<Place>,
        known: Option<Place>,
    ) -> Self {
        let beginning = Place {
            number: 0,
            mac: NOTHING_BEFORE,
        };
        Verifier {
            tenant,
            secret,
            before: anchor.unwrap_or(beginning),
            known,
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

    /// Looks at the next record.
    pub fn take(&mut self, row: &Row) {
        self.verified.records += 1;
        let expected = self.before.number + 1;
        if row.number > expected {
            // Nothing says what this one followed: its own MAC has to be taken as it is.
            self.find(Finding::Removed(expected, row.number - 1));
        } else if row.number < expected || !row.follows(&self.before.mac, self.tenant, self.secret)
        {
            self.find(Finding::Changed(row.number));
        }
        if self
            .known
            .is_some_and(|known| known.number == row.number && known.mac != row.mac)
        {
            self.find(Finding::Changed(row.number));
        }
        self.before = Place {
            number: row.number,
            mac: row.mac,
        };
        self.verified.last = Some(self.before);
        if let Ok(said) = serde_json::from_str::<Said>(&row.record) {
            self.verified.missing += said.missing;
            self.verified.has_ended = said.kind == "end";
        }
    }

    /// What was found out.
    pub fn end(mut self) -> Verified {
        if let Some(known) = self.known.filter(|known| known.number > self.before.number) {
            self.find(Finding::Removed(self.before.number + 1, known.number));
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

    struct Written {
        secret: RootSecret,
        rows: Vec<Row>,
    }

    fn written(records: &[&str]) -> Written {
        let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
        let mut chain = Chain::new(TENANT);
        let rows = records.iter().zip(1..);
        let rows = rows.map(|(record, at)| chain.append(at, (*record).to_owned(), &secret));
        Written {
            rows: rows.collect(),
            secret,
        }
    }

    impl Written {
        fn verified(&self, anchor: Option<Place>, known: Option<Place>) -> Verified {
            let chain = self.rows[0].chain;
            let mut verifier = Verifier::new(TENANT, chain, &self.secret, anchor, known);
            for row in &self.rows {
                verifier.take(row);
            }
            verifier.end()
        }

        fn findings(&self) -> Vec<Finding> {
            self.verified(None, None).findings
        }

        fn place(&self, at: usize) -> Place {
            Place {
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
    fn a_chain_as_it_was_written_has_no_findings_and_tells_of_its_gaps() {
        let verified = written(&FIVE).verified(None, None);
        assert_eq!(verified.findings, []);
        assert_eq!((verified.records, verified.missing), (5, 7));
        assert!(verified.has_ended);
    }

    #[test]
    fn a_record_that_was_changed_is_found_and_no_other_is_blamed() {
        let mut chain = written(&FIVE);
        chain.rows[1].record = r#"{"kind":"call","outcome":"ok"}"#.into();
        assert_eq!(chain.findings(), [Finding::Changed(2)]);
    }

    #[test]
    fn records_that_were_removed_are_found_wherever_they_stood_but_at_the_end() {
        let mut chain = written(&FIVE);
        chain.rows.drain(1..3);
        assert_eq!(chain.findings(), [Finding::Removed(2, 3)]);
        chain.rows.remove(0);
        assert_eq!(chain.findings(), [Finding::Removed(1, 3)]);
    }

    #[test]
    fn records_that_were_exchanged_or_doubled_are_found() {
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
    fn what_was_pruned_is_not_missed_where_its_anchor_says_so() {
        let mut chain = written(&FIVE);
        let anchor = chain.place(2);
        chain.rows.drain(..3);
        assert_eq!(chain.verified(Some(anchor), None).findings, []);
        assert_eq!(chain.findings(), [Finding::Removed(1, 3)]);
    }

    #[test]
    fn an_end_that_was_cut_off_is_found_by_where_it_was_before() {
        let mut chain = written(&FIVE);
        let known = chain.place(4);
        chain.rows.truncate(3);
        assert_eq!(chain.findings(), []);
        let verified = chain.verified(None, Some(known));
        assert_eq!(verified.findings, [Finding::Removed(4, 5)]);
    }

    #[test]
    fn another_secret_verifies_nothing() {
        let mut chain = written(&FIVE);
        chain.secret = written(&FIVE).secret;
        assert_eq!(chain.findings().len(), 5);
    }
}
