//! Pages that stay up to date: a stream of events with a page's live part, whenever it has changed.
//!
//! A feed reads Postgres every few seconds for all who look at the same page, and ends with the last of them. A stream
//! ends after a minute, and sooner with its reader's session or with the gateway. Browsers then ask again by themselves, so
//! whoever signed out elsewhere sees a minute more at most. A stream that nobody reads is closed by `server`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Response, Sse,
    sse::{Event, KeepAlive},
};
use futures::Stream;
use http::{HeaderName, StatusCode, header};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout_at},
};

use super::{
    Admin,
    address::{Place, Query},
    filter, page,
};
use archway_proto::misleading::escape;

/// The path of the script.
pub(super) const SCRIPT_PATH: &str = "/console/live.js";
/// The script.
const SCRIPT: &str = include_str!("live.js");
/// The prefix of the paths of streams, before that of a page.
const STREAMS: &str = "/console/live";
/// Streams of a gateway at a time: the admin port has 64 connections, and probes need some.
const MOST_STREAMS: usize = 24;
/// How long a stream may take.
const LIFE: Duration = Duration::from_secs(60);
/// After how long without an event one says that the stream is alive.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a browser waits before it asks again.
const AGAIN: Duration = Duration::from_secs(1);

/// The latest live part of a page; none before the first answer.
type Latest = watch::Sender<Option<Arc<str>>>;

/// The streams of a gateway.
pub(super) struct Feeds {
    streams: Arc<Semaphore>,
    /// By the path of the stream. At most as many as streams.
    open: Mutex<HashMap<String, Arc<Latest>>>,
}

impl Default for Feeds {
    fn default() -> Self {
        Feeds {
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            open: Mutex::default(),
        }
    }
}

/// The path of the stream of a page; `None` if the page does not change by itself.
pub(super) fn stream_of(place: &Place, query: &Query) -> Option<String> {
    match place {
        _ if query.has(super::NO_REFRESH) => None,
        Place::Overview => Some(STREAMS.to_owned()),
        // An older page of calls stays as it is.
        Place::Calls if !query.has("before") => {
            let path = Place::Calls.with(&filter::kept(query));
            Some(path.replacen("/console", STREAMS, 1))
        }
        _ => None,
    }
}

/// The page whose stream has this path.
fn page_of(path: &str) -> Option<Place> {
    let page = path.strip_prefix(STREAMS)?;
    let place = Place::parse(&format!("/console{page}"))?;
    matches!(place, Place::Overview | Place::Calls).then_some(place)
}

/// The answer to a request for the script or a stream; `None` for all others. `ends` is when the reader's session does.
pub(super) fn answer(
    admin: &Arc<Admin>,
    feeds: &Feeds,
    (path, query): (&str, Option<&str>),
    ends: Option<Instant>,
) -> Option<Response> {
    if path == SCRIPT_PATH {
        let kind = (header::CONTENT_TYPE, "text/javascript; charset=utf-8");
        let mut headers = page::headers();
        headers[0] = kind;
        return Some((headers, SCRIPT).into_response());
    }
    let place = page_of(path)?;
    let query = Query::parse(query);
    let name = stream_of(&place, &query)?;
    let Ok(permit) = feeds.streams.clone().try_acquire_owned() else {
        let why = "too many pages are live at this gateway\n";
        return Some((StatusCode::SERVICE_UNAVAILABLE, why).into_response());
    };
    let latest = feeds.join(admin, name, (place, query));
    let ends = ends.map_or_else(
        || Instant::now() + LIFE,
        |end| end.min(Instant::now() + LIFE),
    );
    let stream = Sse::new(events(latest, ends, permit));
    // An event, since scripts see no comments.
    let alive = Event::default().event("alive").data("");
    let stream = stream.keep_alive(KeepAlive::new().interval(HEARTBEAT).event(alive));
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        // Else nginx holds events back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Some((headers, stream).into_response())
}

/// An event whenever the page has changed, until `ends` or until the feed does.
fn events(
    latest: watch::Receiver<Option<Arc<str>>>,
    ends: Instant,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, std::convert::Infallible>> {
    futures::stream::unfold((latest, permit), move |(mut latest, permit)| async move {
        loop {
            // An error means that the time is over, or that the gateway is about to end.
            timeout_at(ends, latest.changed()).await.ok()?.ok()?;
            let html = latest.borrow_and_update().clone();
            if let Some(html) = html {
                let event = Event::default().retry(AGAIN).data(html);
                return Some((Ok(event), (latest, permit)));
            }
        }
    })
}

impl Feeds {
    /// Follows the feed of a page. The first one begins it.
    fn join(
        &self,
        admin: &Arc<Admin>,
        name: String,
        page: (Place, Query),
    ) -> watch::Receiver<Option<Arc<str>>> {
        let mut open = self.open.lock();
        let feed = open.get(&name).cloned().unwrap_or_else(|| {
            let feed = Arc::new(watch::Sender::new(None));
            open.insert(name.clone(), feed.clone());
            tokio::spawn(fill(admin.clone(), feed.clone(), name, page));
            feed
        });
        let mut latest = feed.subscribe();
        latest.mark_changed();
        latest
    }

    /// Ends a feed, unless somebody follows it.
    fn ended(&self, name: &str, feed: &Latest) -> bool {
        let mut open = self.open.lock();
        let is_over = feed.receiver_count() == 0;
        if is_over {
            open.remove(name);
        }
        is_over
    }
}

/// Reads a page again and again for as long as somebody follows.
async fn fill(admin: Arc<Admin>, feed: Arc<Latest>, name: String, (place, query): (Place, Query)) {
    let Some(console) = &admin.console else {
        return;
    };
    while !console.feeds.ended(&name, &feed) {
        if admin.draining.is_cancelled() {
            // Its streams end with it.
            console.feeds.open.lock().remove(&name);
            return;
        }
        let content = Box::pin(console.content(&admin, &place, &query)).await;
        if let Some(content) = content {
            let html = content.live.into_string();
            let html: Arc<str> = escape(&html).0.into();
            feed.send_if_modified(|latest| {
                let is_new = latest.as_ref() != Some(&html);
                *latest = Some(html);
                is_new
            });
        }
        tokio::select! {
            () = sleep(Duration::from_secs(page::REFRESH.into())) => {}
            () = feed.closed() => {}
            () = admin.draining.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_with_its_readers_session_and_frees_its_place() {
        let places = Arc::new(Semaphore::new(1));
        let permit = places.clone().try_acquire_owned().unwrap();
        let sender: Latest = watch::Sender::new(None);
        let began = Instant::now();
        let session = Duration::from_secs(20);
        let events = events(sender.subscribe(), began + session, permit);
        let tell = async {
            for number in 0..100 {
                sleep(Duration::from_secs(3)).await;
                sender.send_replace(Some(number.to_string().into()));
            }
        };
        let told = tokio::select! {
            told = events.count() => told,
            () = tell => 0,
        };
        assert_eq!((told, began.elapsed()), (6, session));
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn the_overview_and_the_first_page_of_calls_have_streams() {
        let of = |path: &str, query: &str| {
            let place = Place::parse(path).unwrap();
            stream_of(&place, &Query::parse(Some(query)))
        };
        assert_eq!(of("/console", "").as_deref(), Some("/console/live"));
        let calls = of("/console/calls", "tool=a+b&hours=1&x=y").unwrap();
        assert_eq!(calls, "/console/live/calls?tool=a+b&hours=1");
        for path in ["/console/live", "/console/live/calls"] {
            assert!(page_of(path).is_some(), "{path}");
        }
        for none in ["/console/live/tenants", "/console/livecalls", "/console"] {
            assert_eq!(page_of(none), None, "{none}");
        }
        assert_eq!(of("/console", "still"), None);
        assert_eq!(of("/console/calls", "before=1"), None);
        assert_eq!(of("/console/tenants", ""), None);
    }
}
