//! The builds that wait: one tenant after the other takes its turn.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// Builds that wait. What does not fit is requested again by a later search.
const MAX_WAITING: usize = 1024;

/// The builds that wait.
pub(super) struct BuildQueue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
}

struct QueueState<T> {
    /// The tenants with waiting builds, in the order of their turns.
    tenants: VecDeque<(String, VecDeque<T>)>,
    waiting: usize,
    is_closed: bool,
}

impl<T> BuildQueue<T> {
    pub(super) fn new() -> BuildQueue<T> {
        BuildQueue {
            state: Mutex::new(QueueState {
                tenants: VecDeque::new(),
                waiting: 0,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds a build of a tenant; false if the queue is full.
    pub(super) fn push(&self, tenant: &str, build: T) -> bool {
        let mut state = self.state.lock();
        if state.waiting == MAX_WAITING {
            return false;
        }
        state.waiting += 1;
        match state.tenants.iter_mut().find(|(name, _)| name == tenant) {
            Some((_, builds)) => builds.push_back(build),
            None => {
                let first = VecDeque::from([build]);
                state.tenants.push_back((tenant.to_owned(), first));
            }
        }
        self.changed.notify_one();
        true
    }

    /// The next build; waits for one. `None` once the queue is closed.
    pub(super) fn pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some((tenant, mut builds)) = state.tenants.pop_front() {
                let next = builds.pop_front();
                if !builds.is_empty() {
                    state.tenants.push_back((tenant, builds));
                }
                if next.is_some() {
                    state.waiting -= 1;
                    return next;
                }
            } else {
                self.changed.wait(&mut state);
            }
        }
    }

    /// Drops all builds and ends every wait.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.tenants.clear();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_take_turns_and_a_full_queue_refuses() {
        let queue = BuildQueue::new();
        for (tenant, build) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5)] {
            assert!(queue.push(tenant, build));
        }
        let order: Vec<_> = (0..5).map(|_| queue.pop().unwrap()).collect();
        assert_eq!(order, [1, 4, 5, 2, 3]);
        assert!((0..MAX_WAITING).all(|build| queue.push("a", build)));
        assert!(!queue.push("b", 0));
        queue.close();
        assert_eq!(queue.pop(), None);
    }
}
