//! Calls that are cancelled in masses: the gateway resets their streams at the pace that a worker
//! allows, and its connection stays.

use std::{sync::Arc, time::Duration};

use archway_proto::{
    catalog::Scope,
    context::TraceContext,
    method::Method,
    pass::{PassMinter, PassVerifier},
};
use futures::{StreamExt, stream};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{
    fixture::PATIENCE,
    worker::{self, ObservedCall, ScriptedWorker},
};
use crate::{
    caller::{Principal, SessionKey},
    metrics::Metrics,
    unread::{AnswerOwner, ConnectionSpace, UnreadAnswers},
    upstream::{CallGuard, Outgoing, Step, Upstream, UpstreamConfig, WorkerCall},
};

/// Resets that reach a worker at once, and then each second: half of what a worker allows.
const BURST: usize = 2048;
const A_SECOND: usize = 500;
/// Calls that are cancelled together.
const BATCH: usize = 50;

/// A gateway's last stop and the worker that it calls, without limits and bulkheads before it.
struct UpstreamFixture {
    upstream: Upstream,
    seen: mpsc::Receiver<ObservedCall>,
    who: Principal,
    owner: AnswerOwner,
}

impl UpstreamFixture {
    async fn start() -> UpstreamFixture {
        let minter = PassMinter::generate().unwrap();
        let (tell, seen) = mpsc::channel(4 * BATCH);
        let verifier = PassVerifier::new(&[minter.public_key()], "shared");
        let config = UpstreamConfig {
            workers: vec![worker::serve(ScriptedWorker::new(verifier, tell)).await],
            pool: "shared".into(),
            worker_ca: None,
            call_deadline: 30,
        };
        let (metrics, who) = (
            Metrics::new(),
            Principal::for_tests(&[Scope::ToolsRead], None),
        );
        UpstreamFixture {
            upstream: Upstream::new(&config, minter, metrics.upstream()).unwrap(),
            seen,
            owner: AnswerOwner {
                unread: Arc::new(UnreadAnswers::new(metrics.unread().clone())),
                tenant: who.tenant_id(),
                connection: ConnectionSpace::default(),
            },
            who,
        }
    }

    async fn call(&self, tool: &str) -> WorkerCall {
        let call = Outgoing {
            who: &self.who,
            method: Method::ToolsCall,
            params: format!(r#"{{"name":"{tool}","arguments":{{}}}}"#).into(),
            project: None,
            idempotent: true,
            repeatable: true,
            session: SessionKey::own(&self.who),
            trace: TraceContext::start(),
            until: Instant::now() + Duration::from_secs(30),
            owner: self.owner.clone(),
        };
        let begun = timeout(PATIENCE, self.upstream.call(call, CallGuard::new(()))).await;
        begun
            .unwrap()
            .unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    /// Begins calls that never end, and drops them once the worker runs all. Returns when the
    /// worker has dropped all.
    async fn cancel_batch(&mut self) {
        let calls = stream::iter(0..BATCH).map(|_| self.call("hang"));
        let calls: Vec<_> = calls.buffer_unordered(BATCH).collect().await;
        for _ in 0..BATCH {
            let seen = timeout(PATIENCE, self.seen.recv()).await;
            assert!(matches!(seen, Ok(Some(ObservedCall::Began))), "{seen:?}");
        }
        drop(calls);
        for _ in 0..BATCH {
            let seen = timeout(PATIENCE, self.seen.recv()).await;
            assert!(matches!(seen, Ok(Some(ObservedCall::Gone(_)))), "{seen:?}");
        }
    }
}

#[tokio::test]
async fn cancelled_calls_are_reset_at_half_of_the_pace_that_workers_allow() {
    let mut fixture = UpstreamFixture::start().await;
    let (begun, mut resets) = (Instant::now(), 0);
    while resets < BURST + 2 * A_SECOND {
        fixture.cancel_batch().await;
        resets += BATCH;
    }
    // However slow the machine is, they take no less.
    let shortest = Duration::from_secs_f64((resets - BURST) as f64 / A_SECOND as f64);
    assert!(begun.elapsed() >= shortest, "{:?}", begun.elapsed());
    let mut echo = fixture.call("echo").await;
    assert!(matches!(echo.next().await, Ok(Step::Result(_))));
}
