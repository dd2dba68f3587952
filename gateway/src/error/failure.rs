//! A worker's failure as a protocol error, where no result can carry it.

use archway_proto::{failure::Failure, fault::Fault};
use serde_json::{Value, json};
use tonic::Code;

/// An application error code: the caller exceeded a limit. Outside JSON-RPC's own range.
pub(super) const RATE_LIMITED: i32 = 42900;
/// An application error code: the service cannot answer at the moment. Outside JSON-RPC's own
/// range.
pub(crate) const NOT_NOW: i32 = 50300;

/// The JSON-RPC code of a fault.
pub(super) fn code(fault: Fault) -> i32 {
    match fault.grpc() {
        Code::Unavailable | Code::DeadlineExceeded => NOT_NOW,
        Code::Internal => -32603,
        _ => -32602,
    }
}

/// The failure as error data for programs.
pub(super) fn data(failure: &Failure) -> Value {
    let mut data = json!(failure.details);
    data["code"] = json!(failure.code);
    data["suggestion"] = json!(failure.suggestion);
    data
}
