//! A worker's failure where no result can carry it: an error of the protocol.

use archway_proto::{failure::Failure, fault::Fault};
use serde_json::{Value, json};
use tonic::Code;

/// An application's error code: whoever should answer can't at the moment. JSON-RPC's own range is
/// left alone.
pub(crate) const NOT_NOW: i32 = 50300;

/// Its JSON-RPC code.
pub(super) fn code(fault: Fault) -> i32 {
    match fault.grpc() {
        Code::Unavailable | Code::DeadlineExceeded => NOT_NOW,
        Code::Internal => -32603,
        _ => -32602,
    }
}

/// What programs read of it.
pub(super) fn data(failure: &Failure) -> Value {
    let mut data = json!(failure.details);
    data["code"] = json!(failure.code);
    data["suggestion"] = json!(failure.suggestion);
    data
}
