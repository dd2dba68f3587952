//! Which cryptography TLS uses, said once for the whole process.
//!
//! Two implementations are linked in, since the libraries that speak TLS each bring theirs; rustls
//! then takes neither by itself, and whoever asked it to would panic.

/// Has TLS use AWS-LC, as everything else here does. To call it again changes nothing.
pub fn choose_cryptography() {
    // An error says that it was chosen before.
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .ok();
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn it_is_chosen_once_and_for_all() {
        choose_cryptography();
        choose_cryptography();
        assert!(CryptoProvider::get_default().is_some());
    }
}
