//! Record chains: each record carries a MAC over itself and the MAC of the record before it.
//!
//! The key is derived from the root secret, which the database never sees. Write access to the
//! tables is therefore not enough to change, remove or insert a record undetected. A chain alone
//! cannot reveal that its last records are gone: compare its end with the end from an earlier
//! verification.

use std::fmt::Write;

use uuid::Uuid;

use super::verify::ChainPosition;
use crate::secrets::RootSecret;

/// A record's MAC: HMAC-SHA-256 (RFC 2104).
pub type Mac = [u8; 32];
/// The predecessor's MAC of a chain's first record.
pub const NOTHING_BEFORE: Mac = [0; 32];

/// A record in its chain, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// One tenant's chain from one run of a gateway, or from a part of it.
    pub chain: Uuid,
    /// From 1, without gaps.
    pub number: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// JSON, byte for byte as covered by the MAC.
    pub record: String,
    /// Covers this record and the MAC before it.
    pub mac: Mac,
}

impl Row {
    /// Whether a gateway with this secret wrote the row directly after the record whose MAC is
    /// `before`.
    pub fn follows(&self, before: &Mac, tenant: Uuid, secret: &RootSecret) -> bool {
        secret.record_matches(&self.message(before, tenant), &self.mac)
    }

    /// The bytes that the MAC covers. Every part but the last has a fixed length.
    fn message(&self, before: &Mac, tenant: Uuid) -> Vec<u8> {
        [
            before.as_slice(),
            tenant.as_bytes(),
            self.chain.as_bytes(),
            &self.number.to_be_bytes(),
            &self.at.to_be_bytes(),
            self.record.as_bytes(),
        ]
        .concat()
    }
}

/// The bytes that an anchor's seal covers. No record's message begins with them.
fn anchored(tenant: Uuid, chain: Uuid, position: &ChainPosition) -> Vec<u8> {
    [
        b"anchor".as_slice(),
        tenant.as_bytes(),
        chain.as_bytes(),
        &position.number.to_be_bytes(),
        &position.mac,
    ]
    .concat()
}

/// Seals the statement that the chain was pruned up to and including this position.
pub fn seal(tenant: Uuid, chain: Uuid, position: &ChainPosition, secret: &RootSecret) -> Mac {
    secret.sign_record(&anchored(tenant, chain, position))
}

/// Whether a holder of the secret made that statement.
pub fn is_sealed(
    (tenant, chain): (Uuid, Uuid),
    position: &ChainPosition,
    seal: &Mac,
    secret: &RootSecret,
) -> bool {
    secret.record_matches(&anchored(tenant, chain, position), seal)
}

/// A chain that is being written.
pub(super) struct Chain {
    id: Uuid,
    tenant: Uuid,
    number: i64,
    at: i64,
    mac: Mac,
}

impl Chain {
    pub(super) fn new(tenant: Uuid) -> Self {
        Chain {
            id: Uuid::now_v7(),
            tenant,
            number: 0,
            at: i64::MIN,
            mac: NOTHING_BEFORE,
        }
    }

    /// Appends a record. Times within a chain never decrease, whatever the clock does.
    pub(super) fn append(&mut self, at: i64, record: String, secret: &RootSecret) -> Row {
        self.number += 1;
        self.at = self.at.max(at);
        let mut row = Row {
            chain: self.id,
            number: self.number,
            at: self.at,
            record,
            mac: NOTHING_BEFORE,
        };
        row.mac = secret.sign_record(&row.message(&self.mac, self.tenant));
        self.mac = row.mac;
        row
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> RootSecret {
        RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap()
    }

    #[test]
    fn each_row_follows_the_one_before_and_no_other() {
        let (secret, tenant) = (secret(), Uuid::from_u128(1));
        let mut chain = Chain::new(tenant);
        let one = chain.append(5, "{}".into(), &secret);
        let two = chain.append(6, "{}".into(), &secret);
        assert!(one.follows(&NOTHING_BEFORE, tenant, &secret));
        assert!(two.follows(&one.mac, tenant, &secret));
        assert!(!two.follows(&NOTHING_BEFORE, tenant, &secret));
        assert!(!two.follows(&one.mac, Uuid::from_u128(2), &secret));
        assert!(!two.follows(&one.mac, tenant, &self::secret()));
    }

    #[test]
    fn a_change_of_any_part_of_a_row_is_found() {
        let (secret, tenant) = (secret(), Uuid::from_u128(1));
        let row = Chain::new(tenant).append(5, r#"{"kind":"end"}"#.into(), &secret);
        let changed = [
            Row {
                at: 6,
                ..row.clone()
            },
            Row {
                number: 2,
                ..row.clone()
            },
            Row {
                chain: Uuid::from_u128(3),
                ..row.clone()
            },
            Row {
                record: r#"{"kind":"gap"}"#.into(),
                ..row.clone()
            },
            Row {
                mac: [7; 32],
                ..row
            },
        ];
        for row in changed {
            assert!(!row.follows(&NOTHING_BEFORE, tenant, &secret), "{row:?}");
        }
    }

    #[test]
    fn a_chain_is_verified_under_an_older_line_of_the_secret() {
        let (old, new) = (
            RootSecret::generate_line().unwrap(),
            RootSecret::generate_line().unwrap(),
        );
        let row = Chain::new(Uuid::nil()).append(1, "{}".into(), &RootSecret::parse(&old).unwrap());
        let rotated = RootSecret::parse(&format!("{new}\n{old}")).unwrap();
        assert!(row.follows(&NOTHING_BEFORE, Uuid::nil(), &rotated));
    }
}
