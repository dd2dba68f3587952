//! The key of a session: a hash that names whose state a request belongs to.

use aws_lc_rs::digest;

use super::Principal;

/// The session that a request belongs to. A hash, so it reveals neither tenant nor principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey([u8; 16]);

impl SessionKey {
    /// The principal's own session.
    pub(crate) fn own(who: &Principal) -> Self {
        let tenant = who.tenant_id();
        SessionKey::hash(&[tenant.as_bytes(), who.name().as_bytes()])
    }

    /// Its bytes, as the key of state stored for it.
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The same as a number, as the call context carries it.
    pub(crate) fn as_number(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// The session of a handle or label below this one.
    pub(crate) fn child(self, name: impl AsRef<[u8]>) -> Self {
        SessionKey::hash(&[&self.0, name.as_ref()])
    }

    /// There are exactly two parts and the first has a fixed length, so no other pair has the same
    /// concatenation.
    fn hash(parts: &[&[u8]; 2]) -> Self {
        let digest = digest::digest(&digest::SHA256, &parts.concat());
        let mut key = [0; 16];
        key.copy_from_slice(digest.as_ref().first_chunk::<16>().unwrap_or(&[0; 16]));
        SessionKey(key)
    }
}

impl std::fmt::Display for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.as_number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SessionKey {
        pub(crate) fn for_tests(byte: u8) -> Self {
            SessionKey([byte; 16])
        }
    }
}
