//! The text of a session's handle: 16 bytes of id, 32 of HMAC, and the client's name, in base64url.
//!
//! The id is a UUID of version 7 (RFC 9562), so it contains its time of issue. Tenant and principal
//! are signed but not included: a handle reveals nothing to its holder and is valid for its owner
//! only. The name is there because an older client states it once, and any gateway may get its calls.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::{
    caller::{Agent, Principal},
    secrets::RootSecret,
};

/// Lifetime of a handle.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Characters of a handle at least: 48 bytes in base64.
const SHORTEST: usize = 64;
/// Characters of a handle at most: with the longest agent it is 112 bytes.
const LONGEST: usize = 150;

/// A handle with valid signature, owner and age. Whether the session has been ended is not checked
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    id: Uuid,
    /// Milliseconds since 1970.
    issued: u64,
    /// The program that opened the session.
    agent: Agent,
}

impl Handle {
    /// A new handle.
    pub(super) fn issue() -> Self {
        let id = Uuid::now_v7();
        Handle {
            id,
            issued: issued(id),
            agent: Agent::UNKNOWN,
        }
    }

    /// The same handle for a session that this program opens.
    pub(super) fn for_agent(self, agent: Agent) -> Self {
        Handle { agent, ..self }
    }

    /// The text that the owner receives.
    pub(super) fn seal(self, secret: &RootSecret, owner: &Principal) -> String {
        let tag = secret.sign_session(&signed(self.id, owner, self.agent));
        let agent = self.agent.as_str().as_bytes();
        URL_SAFE_NO_PAD.encode([self.id.as_bytes().as_slice(), &tag, agent].concat())
    }

    /// Opens the text of a handle; `None` unless this secret signed it for this owner and it has
    /// not expired.
    pub(super) fn open(secret: &RootSecret, owner: &Principal, text: &str) -> Option<Self> {
        let fits = (SHORTEST..=LONGEST).contains(&text.len());
        let bytes = fits.then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (tag, agent) = rest.split_first_chunk::<32>()?;
        let id = Uuid::from_bytes(*id);
        let name = std::str::from_utf8(agent).ok()?;
        let agent = Agent::cleaned(name);
        let signed_here =
            agent.as_str() == name && secret.session_is_signed(&signed(id, owner, agent), tag);
        let handle = Handle {
            id,
            issued: issued(id),
            agent,
        };
        (signed_here && now() < handle.expires()).then_some(handle)
    }

    pub(super) fn id(self) -> Uuid {
        self.id
    }

    /// The program that opened the session.
    pub(super) fn agent(self) -> Agent {
        self.agent
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

/// The signed bytes. Both ids have a fixed length, and no name contains NUL, so no two handles share
/// these bytes. Without an agent they are those of builds that knew none.
fn signed(id: Uuid, owner: &Principal, agent: Agent) -> Vec<u8> {
    let agent = agent.as_str();
    let separator = if agent.is_empty() { "" } else { "\0" };
    [
        id.as_bytes(),
        owner.tenant_id().as_bytes().as_slice(),
        owner.name().as_bytes(),
        separator.as_bytes(),
        agent.as_bytes(),
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
        assert_eq!(text.len(), SHORTEST);
        assert_eq!(Handle::open(&before, &owner, &text), Some(handle));
        assert_eq!(Handle::open(&rotated, &owner, &text), Some(handle));
        assert_eq!(Handle::open(&before, &other, &text), None);
        assert_eq!(Handle::open(&secret(), &owner, &text), None);
    }

    #[test]
    fn a_handle_with_a_changed_character_is_invalid() {
        let (secret, owner) = (secret(), Principal::for_tests(&[Scope::ToolsRead], None));
        let handle = Handle::issue().for_agent(Agent::cleaned("cursor/1.7"));
        let text = handle.seal(&secret, &owner);
        assert_eq!(Handle::open(&secret, &owner, &text), Some(handle));
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
    fn the_longest_agent_fits_and_a_handle_without_one_is_as_short_as_ever() {
        let (secret, owner) = (secret(), Principal::for_tests(&[Scope::ToolsRead], None));
        let handle = Handle::issue().for_agent(Agent::cleaned(&"a".repeat(100)));
        let text = handle.seal(&secret, &owner);
        assert_eq!(text.len(), LONGEST);
        assert_eq!(Handle::open(&secret, &owner, &text), Some(handle));
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
                agent: Agent::UNKNOWN,
            };
            Handle::open(&secret, &owner, &handle.seal(&secret, &owner))
        };
        assert!(aged(LIFETIME_MS - 60_000).is_some());
        assert!(aged(LIFETIME_MS + 60_000).is_none());
    }
}
