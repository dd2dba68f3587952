//! Computes what PostgreSQL stores of a password on the client, so that the password is never sent.
//! SCRAM-SHA-256 (RFC 5802, RFC 7677), in the form of `pg_authid.rolpassword`:
//! `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.

use std::num::NonZeroU32;

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::{hmac, pbkdf2, rand};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret, SecretString};

/// PostgreSQL's default, and the minimum of RFC 7677.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).unwrap();

/// The verifier of an ASCII password, with a new random salt.
///
/// # Errors
/// If the random number generator fails.
pub(super) fn verifier(password: &SecretString) -> Result<SecretString, Unspecified> {
    let mut salt = [0; 16];
    rand::fill(&mut salt)?;
    Ok(salted(password, &salt))
}

fn salted(password: &SecretString, salt: &[u8]) -> SecretString {
    let mut salted = [0; SHA256_OUTPUT_LEN];
    let password = password.expose_secret().as_bytes();
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        ITERATIONS,
        salt,
        password,
        &mut salted,
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let stored_key = digest(&SHA256, hmac::sign(&key, b"Client Key").as_ref());
    let server_key = hmac::sign(&key, b"Server Key");
    format!(
        "SCRAM-SHA-256${ITERATIONS}:{}${}:{}",
        STANDARD.encode(salt),
        STANDARD.encode(stored_key),
        STANDARD.encode(server_key)
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677_verifies() {
        // Section 3: user "user", password "pencil". The server's signature is HMAC(ServerKey,
        // AuthMessage).
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = salted(&"pencil".into(), &salt);
        let (_, server_key) = verifier.expose_secret().rsplit_once(':').unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(server_key).unwrap());
        let message = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
            c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = STANDARD.encode(hmac::sign(&key, message.as_bytes()));
        assert_eq!(signature, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn each_verifier_has_its_own_salt() {
        let [one, other] = [(), ()].map(|()| verifier(&"sesame".into()).unwrap());
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert!(one.expose_secret().starts_with("SCRAM-SHA-256$4096:"));
    }
}
