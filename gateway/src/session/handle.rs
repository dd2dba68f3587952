//! The text of a session's handle: 16 bytes of id and 32 of HMAC, in base64url.
//!
//! The id is a UUID of version 7 (RFC 9562), so it contains its time of issue. Tenant and principal
//! are signed but not included: a handle reveals nothing to its holder and is valid for its owner
//! only.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::{caller::Principal, secrets::RootSecret};

/// Lifetime of a handle.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// 48 bytes in base64.
const LENGTH: usize = 64;

/// A handle with valid signature, owner and age. Whether the session has been ended is not checked
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    id: Uuid,
    /// Milliseconds since 1970.
    issued: u64,
}

impl Handle {
    /// A new handle.
    pub(super) fn issue() -> Self {
        let id = Uuid::now_v7();
        Handle {
            id,
            issued: issued(id),
        }
    }

    /// The text that the owner receives.
    pub(super) fn seal(self, secret: &RootSecret, owner: &Principal) -> String {
        let tag = secret.sign_session(&signed(self.id, owner));
        URL_SAFE_NO_PAD.encode([self.id.as_bytes().as_slice(), &tag].concat())
    }

    /// Opens the text of a handle; `None` unless this secret signed it for this owner and it has
    /// not expired.
    pub(super) fn open(secret: &RootSecret, owner: &Principal, text: &str) -> Option<Self> {
        let bytes = (text.len() == LENGTH).then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
        let (id, tag) = bytes.split_first_chunk::<16>()?;
        let id = Uuid::from_bytes(*id);
        let signed_here = secret.session_is_signed(&signed(id, owner), tag);
        let handle = Handle {
            id,
            issued: issued(id),
        };
        (signed_here && now() < handle.expires()).then_some(handle)
    }

    pub(super) fn id(self) -> Uuid {
        self.id
    }

    /// Milliseconds since 1970.
    pub(super) fn issued(self) -> u64 {
        self.issued
    }

    /// Milliseconds since 1970.
    pub(super) fn expires(self) -> u64 {
        self.issued.saturating_add(LIFETIME_MS)
    }
}

/// [`LIFETIME`] in milliseconds.
pub(super) const LIFETIME_MS: u64 = LIFETIME.as_secs() * 1000;

/// The time in milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// When an id was issued, in milliseconds since 1970.
pub(super) fn issued(id: Uuid) -> u64 {
    id.get_timestamp().map_or(0, |timestamp| {
        let (seconds, nanos) = timestamp.to_unix();
        seconds
            .saturating_mul(1000)
            .saturating_add(u64::from(nanos / 1_000_000))
    })
}

/// The signed bytes. Both ids have a fixed length, so no two handles share these bytes.
fn signed(id: Uuid, owner: &Principal) -> Vec<u8> {
    [
        id.as_bytes(),
        owner.tenant_id().as_bytes().as_slice(),
        owner.name().as_bytes(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;

    use super::*;

    impl Handle {
        /// A handle as if it was issued at this millisecond.
        pub(in crate::session) fn issued_at_for_tests(issued: u64) -> Self {
            Handle {
                issued,
                ..Handle::issue()
            }
        }
    }

    fn secret() -> RootSecret {
        RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap()
    }

    #[test]
    fn a_handle_is_valid_only_for_its_owner_under_a_known_secret() {
        let (line, older) = (
            RootSecret::generate_line().unwrap(),
            RootSecret::generate_line().unwrap(),
        );
        let before = RootSecret::parse(&older).unwrap();
        let rotated = RootSecret::parse(&format!("{line}\n{older}")).unwrap();
        let owner = Principal::for_tests(&[Scope::ToolsRead], None);
        let other = Principal::named_for_tests("key:2");
        let handle = Handle::issue();
        let text = handle.seal(&before, &owner);
        assert_eq!(text.len(), LENGTH);
        assert_eq!(Handle::open(&before, &owner, &text), Some(handle));
        assert_eq!(Handle::open(&rotated, &owner, &text), Some(handle));
        assert_eq!(Handle::open(&before, &other, &text), None);
        assert_eq!(Handle::open(&secret(), &owner, &text), None);
    }

    #[test]
    fn a_handle_with_a_changed_character_is_invalid() {
        let (secret, owner) = (secret(), Principal::for_tests(&[Scope::ToolsRead], None));
        let text = Handle::issue().seal(&secret, &owner);
        for index in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(Handle::open(&secret, &owner, &changed), None, "{index}");
        }
        for bad in [
            "",
            "x",
            &format!("{text}A"),
            &text.to_lowercase(),
            &"é".repeat(32),
        ] {
            assert_eq!(Handle::open(&secret, &owner, bad), None, "{bad}");
        }
    }

    #[test]
    fn a_handle_expires_a_day_after_it_was_issued() {
        let (secret, owner) = (secret(), Principal::for_tests(&[Scope::ToolsRead], None));
        let aged = |age: u64| {
            let seconds = (now() - age) / 1000;
            let id = Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, 0));
            let handle = Handle {
                id,
                issued: issued(id),
            };
            Handle::open(&secret, &owner, &handle.seal(&secret, &owner))
        };
        assert!(aged(LIFETIME_MS - 60_000).is_some());
        assert!(aged(LIFETIME_MS + 60_000).is_none());
    }
}
