//! Chains: each record carries a MAC over itself and the MAC of the one before.
//!
//! The key is derived from the root secret, which the database never sees: whoever may write to its
//! tables can neither change a record, nor remove one, nor put one in between without being found.
//! What no chain can tell by itself is that its last records are gone: compare with where it ended
//! when it was verified before.

use std::fmt::Write;

use uuid::Uuid;

use super::verify::Place;
use crate::secrets::RootSecret;

/// A record's MAC: HMAC-SHA-256 (RFC 2104).
pub type Mac = [u8; 32];
/// What the first of a chain has before it.
pub const NOTHING_BEFORE: Mac = [0; 32];

/// A record in its chain, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Of one tenant and one run of a gateway, or a part of that.
    pub chain: Uuid,
    /// From 1, without gaps.
    pub number: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// JSON, byte for byte as the MAC is over it.
    pub record: String,
    /// Over this and the one before.
    pub mac: Mac,
}

impl Row {
    /// Whether it is what a gateway with this secret wrote behind the record of MAC `before`.
    pub fn follows(&self, before: &Mac, tenant: Uuid, secret: &RootSecret) -> bool {
        secret.record_matches(&self.message(before, tenant), &self.mac)
    }

    /// What the MAC is over: all parts but the last have a fixed length.
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

/// What the seal of an anchor is over. No record's message begins like it.
fn anchored(tenant: Uuid, chain: Uuid, place: &Place) -> Vec<u8> {
    [
        b"anchor".as_slice(),
        tenant.as_bytes(),
        chain.as_bytes(),
        &place.number.to_be_bytes(),
        &place.mac,
    ]
    .concat()
}

/// Says that what stands before and at this place of a chain was pruned.
pub fn seal(tenant: Uuid, chain: Uuid, place: &Place, secret: &RootSecret) -> Mac {
    secret.sign_record(&anchored(tenant, chain, place))
}

/// Whether that was said by who has the secret.
pub fn is_sealed(
    (tenant, chain): (Uuid, Uuid),
    place: &Place,
    seal: &Mac,
    secret: &RootSecret,
) -> bool {
    secret.record_matches(&anchored(tenant, chain, place), seal)
}

/// A chain that grows.
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

    /// Appends a record. In a chain no moment is before the last one, whatever clocks do.
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

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String can't fail.
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
