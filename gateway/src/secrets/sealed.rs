//! What clients and browsers keep for the gateways without being able to read or change it: cursors, and cookies of the
//! operator's page.

use aws_lc_rs::{
    aead::{Aad, NONCE_LEN, Nonce},
    rand,
};

use super::{RootSecret, SecretError};

impl RootSecret {
    /// Encrypts a cursor, bound to `context`: 16 bytes longer than `plain`, as the nonce is not sent with it.
    pub(crate) fn seal_cursor(
        &self,
        context: &[u8; 32],
        plain: &[u8],
    ) -> Result<Vec<u8>, SecretError> {
        let (mut sealed, key) = (plain.to_vec(), &self.newest.cursors);
        key.seal_in_place_append_tag(nonce_of(context), Aad::from(context), &mut sealed)?;
        Ok(sealed)
    }

    /// Decrypts a cursor sealed for the same `context` under any line.
    pub(crate) fn open_cursor(&self, context: &[u8; 32], sealed: &[u8]) -> Option<Vec<u8>> {
        self.lines().find_map(|line| {
            let (mut bytes, nonce) = (sealed.to_vec(), nonce_of(context));
            let plain = line
                .cursors
                .open_in_place(nonce, Aad::from(context), &mut bytes);
            Some(plain.ok()?.to_vec())
        })
    }

    /// Encrypts what a browser keeps for the operator's page, bound to `context`: 28 bytes longer than `plain`.
    pub(crate) fn seal_cookie(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        let mut sealed = vec![0; NONCE_LEN];
        rand::fill(&mut sealed)?;
        let nonce = Nonce::try_assume_unique_for_key(&sealed)?;
        let mut bytes = plain.to_vec();
        let key = &self.newest.cookies;
        key.seal_in_place_append_tag(nonce, Aad::from(context), &mut bytes)?;
        sealed.append(&mut bytes);
        Ok(sealed)
    }

    /// Decrypts what was sealed for the same `context` under any line.
    pub(crate) fn open_cookie(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        self.lines().find_map(|line| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut bytes = sealed.to_vec();
            let key = &line.cookies;
            let plain = key.open_in_place(nonce, Aad::from(context), &mut bytes);
            Some(plain.ok()?.to_vec())
        })
    }
}

/// The nonce of all cursors of one context. Under AES-GCM-SIV (RFC 8452, 9) a nonce that repeats reveals which of
/// the texts are equal, and nothing else.
fn nonce_of(context: &[u8; 32]) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce.copy_from_slice(&context[..NONCE_LEN]);
    Nonce::assume_unique_for_key(nonce)
}
