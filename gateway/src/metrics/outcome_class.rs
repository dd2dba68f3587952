//! Whose doing an outcome is. A denial that its client caused is no failure of the service.

use archway_proto::fault::Fault;

/// The class of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeClass {
    /// It has a result.
    Served,
    /// The client asked for what does not exist, what it may not have, or more than its limits allow.
    Denied,
    /// The service could not answer, or not in time.
    Failed,
    /// The client disconnected.
    Cancelled,
}

impl OutcomeClass {
    /// The class of an outcome's name, as metrics and the audit trail have it. A name that this build does not know is a
    /// failure.
    pub(crate) fn of(outcome: &str) -> Self {
        match outcome {
            "ok" => OutcomeClass::Served,
            "refused" => OutcomeClass::Denied,
            "cancelled" => OutcomeClass::Cancelled,
            fault => Fault::from_code(fault).map_or(OutcomeClass::Failed, OutcomeClass::of_fault),
        }
    }

    /// The class of a fault.
    pub(crate) fn of_fault(fault: Fault) -> Self {
        match fault {
            Fault::InvalidArguments
            | Fault::ProjectRequired
            | Fault::ProjectNotFound
            | Fault::FileNotFound
            | Fault::DirectoryNotFound
            | Fault::AccessDenied
            | Fault::FileTooLarge
            | Fault::BinaryFile
            | Fault::InvalidPattern
            | Fault::NotAGitRepository
            | Fault::RevisionNotFound
            | Fault::FileNotTracked
            | Fault::InvalidLineRange
            | Fault::WriteNotAllowed
            | Fault::EntryTooLarge
            | Fault::QuotaExceeded
            | Fault::PatternNotFound
            | Fault::RateLimited => OutcomeClass::Denied,
            Fault::SearchTimeout
            | Fault::DeadlineExceeded
            | Fault::IndexNotReady
            | Fault::EmbeddingUnavailable
            | Fault::CircuitOpen
            | Fault::Unavailable
            | Fault::InternalError => OutcomeClass::Failed,
        }
    }

    /// `served`, `denied`, `failed` or `cancelled`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OutcomeClass::Served => "served",
            OutcomeClass::Denied => "denied",
            OutcomeClass::Failed => "failed",
            OutcomeClass::Cancelled => "cancelled",
        }
    }

    /// The names of all its outcomes.
    pub(crate) fn outcomes(self) -> Vec<&'static str> {
        let faults = Fault::ALL.into_iter().map(Fault::code);
        let all = ["ok", "refused", "cancelled"].into_iter().chain(faults);
        all.filter(|name| OutcomeClass::of(name) == self).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_caused_is_no_failure_of_the_service() {
        for denied in [
            "access_denied",
            "invalid_arguments",
            "file_not_found",
            "rate_limited",
            "refused",
        ] {
            assert_eq!(OutcomeClass::of(denied), OutcomeClass::Denied, "{denied}");
        }
        for failed in [
            "unavailable",
            "deadline_exceeded",
            "circuit_open",
            "of a later build",
        ] {
            assert_eq!(OutcomeClass::of(failed), OutcomeClass::Failed, "{failed}");
        }
    }

    #[test]
    fn no_callee_and_no_work_is_to_blame_for_a_denial() {
        use archway_proto::fault::Blame;
        for fault in Fault::ALL {
            let denied = OutcomeClass::of_fault(fault) == OutcomeClass::Denied;
            assert!(!denied || fault.blame() == Blame::Caller, "{fault}");
        }
        let all = [
            OutcomeClass::Served,
            OutcomeClass::Denied,
            OutcomeClass::Failed,
            OutcomeClass::Cancelled,
        ];
        let names: usize = all.map(|class| class.outcomes().len()).iter().sum();
        assert_eq!(names, Fault::ALL.len() + 3);
    }
}
