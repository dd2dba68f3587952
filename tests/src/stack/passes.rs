//! The stack's pass key, and its workers' doors: for tests that call a worker without a gateway.

use std::net::SocketAddr;

use archway_proto::pass::PassMinter;
use aws_lc_rs::signature::Ed25519KeyPair;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::Value;

use super::Stack;

/// The private key that gateways sign passes with.
pub(super) struct PassKey {
    pkcs8: Vec<u8>,
}

impl PassKey {
    /// A new one.
    pub(super) fn generate() -> PassKey {
        let pair = Ed25519KeyPair::generate().unwrap();
        let pkcs8 = pair.to_pkcs8v1().unwrap().as_ref().to_vec();
        PassKey { pkcs8 }
    }

    /// What mints with it.
    pub(super) fn minter(&self) -> PassMinter {
        PassMinter::from_pkcs8(&self.pkcs8).unwrap()
    }
}

impl Stack {
    /// Where the workers listen for gRPC.
    pub fn workers(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What gateways mint passes with.
    pub fn minter(&self) -> PassMinter {
        self.pass_key.minter()
    }

    /// Whatever is claimed, signed as gateways sign.
    pub fn signed(&self, claims: &Value) -> String {
        let key = EncodingKey::from_ed_der(&self.pass_key.pkcs8);
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), claims, &key).unwrap()
    }
}
