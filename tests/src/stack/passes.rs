//! The stack's pass key and its workers' addresses, for tests that call a worker without a gateway.

use std::net::SocketAddr;

use archway_proto::pass::PassMinter;
use aws_lc_rs::signature::Ed25519KeyPair;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::Value;

use super::Stack;

/// The private key with which gateways sign passes.
pub(super) struct PassKey {
    pkcs8: Vec<u8>,
}

impl PassKey {
    /// Generates a key.
    pub(super) fn generate() -> PassKey {
        let pair = Ed25519KeyPair::generate().unwrap();
        let pkcs8 = pair.to_pkcs8v1().unwrap().as_ref().to_vec();
        PassKey { pkcs8 }
    }

    /// A minter with this key.
    pub(super) fn minter(&self) -> PassMinter {
        PassMinter::from_pkcs8(&self.pkcs8).unwrap()
    }
}

impl Stack {
    /// The gRPC addresses of the workers.
    pub fn workers(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A minter with the gateways' key.
    pub fn minter(&self) -> PassMinter {
        self.pass_key.minter()
    }

    /// Any claims, signed with the gateways' key.
    pub fn signed(&self, claims: &Value) -> String {
        let key = EncodingKey::from_ed_der(&self.pass_key.pkcs8);
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), claims, &key).unwrap()
    }
}
