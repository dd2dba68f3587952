//! Caches which forms of a request a service rejects.
//!
//! Entries expire. A different service may run at the same URL later,
//! and the service may have rejected the request for another reason.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a rejected form is not tried.
const REFUSED_FOR: Duration = Duration::from_secs(3600);

/// The richest form that the service accepts, as an index into `RequestForm::ALL`.
#[derive(Debug, Default)]
pub(super) struct AcceptedForm(Mutex<Option<Accepted>>);

#[derive(Clone, Copy, Debug)]
struct Accepted {
    /// The service rejected all forms before this one, and accepted this one.
    first: usize,
    until: Instant,
}

impl AcceptedForm {
    /// The first form to try.
    pub(super) fn first(&self) -> usize {
        let accepted = *self.0.lock();
        let accepted = accepted.filter(|accepted| Instant::now() < accepted.until);
        accepted.map_or(0, |accepted| accepted.first)
    }

    /// Records that the service accepted this form, and rejected the forms before it that were
    /// tried.
    pub(super) fn accept(&self, index: usize) {
        if index > self.first() {
            *self.0.lock() = Some(Accepted {
                first: index,
                until: Instant::now() + REFUSED_FOR,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rejected_form_is_tried_again_after_an_hour() {
        let form = AcceptedForm::default();
        assert_eq!(form.first(), 0);
        form.accept(1);
        for _ in 0..59 {
            advance(Duration::from_secs(60)).await;
            form.accept(1);
            assert_eq!(form.first(), 1);
        }
        advance(Duration::from_secs(60)).await;
        assert_eq!(form.first(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_plainest_accepted_form_is_used() {
        let form = AcceptedForm::default();
        form.accept(2);
        form.accept(1);
        assert_eq!(form.first(), 2);
    }
}
