//! The cryptography provider of TLS, chosen once for the whole process.
//!
//! Two providers are linked, because each TLS library brings its own. Then rustls has no default, and
//! would panic when it needs one.

/// Makes AWS-LC the TLS provider. Idempotent.
pub fn choose_cryptography() {
    // An error means that a provider was chosen before.
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .ok();
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn the_provider_is_chosen_once() {
        choose_cryptography();
        choose_cryptography();
        assert!(CryptoProvider::get_default().is_some());
    }
}
