//! Failures for agents when code could not be checked.

use archway_proto::{chain::Chain, failure::Failure, fault::Fault};
use archway_repo::{
    RepoError,
    syntax::{SyntaxError, large_stack::LargeStackError},
};

use super::RulesError;

impl From<RulesError> for Failure {
    fn from(error: RulesError) -> Failure {
        match error {
            RulesError::Stopped(stopped)
            | RulesError::Run(LargeStackError::Stopped(stopped))
            | RulesError::Parse(SyntaxError::Stopped(stopped)) => {
                RepoError::Stopped(stopped).into()
            }
            RulesError::Parse(SyntaxError::Busy) | RulesError::Run(LargeStackError::Busy) => {
                Failure::new(
                    Fault::Unavailable,
                    "too much other code is checked now",
                    "try again in a few seconds",
                )
                .detail("retry_after_seconds", 2)
            }
            error => {
                tracing::error!(error = %Chain(&error), "code could not be checked");
                Failure::new(
                    Fault::InternalError,
                    "the code could not be checked",
                    "try again; report the trace id if it happens again",
                )
            }
        }
    }
}
