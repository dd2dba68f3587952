//! Connections of gateways: at most 1,024, each with 10 s to open HTTP/2. A connection ends when
//! its gateway does not respond for 15 s or resets calls faster than a gateway ever needs to.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use archway_proto::{MAX_MESSAGE_BYTES, context::INSTANCE, v1::worker_server::WorkerServer};
use axum::serve::{Listener as Accept, ListenerExt};
use futures::{Stream, stream};
use http::{HeaderName, HeaderValue, Response};
use tokio::{
    net::TcpStream,
    sync::{Semaphore, watch},
};
use tonic::{
    body::Body,
    transport::{Server, server::Connected},
};
use tower::util::MapResponseLayer;
use uuid::Uuid;

use super::{Listener, WorkerError, connection::Connection, health::Health, tls::TlsListener};
use crate::service::WorkerService;

/// Maximum number of connections. A gateway has one to each worker.
const MOST_CONNECTIONS: usize = 1024;
/// Maximum number of concurrent calls of one connection. More wait at their gateway.
const MOST_STREAMS: u32 = 1024;
/// Maximum size of a request's headers in bytes: a pass names up to 200 projects of up to 63 bytes.
const MOST_HEADERS: u32 = 64 * 1024;
/// Maximum number of calls of one connection that were cancelled before h2 accepted them. Beyond it
/// h2 takes its peer for an attacker and ends the connection, and with it every tenant's calls. Its
/// default of 20 is a burst of clients that hang up. This allows as many as may be reset at once;
/// [`resets`](super::resets) counts all of them.
const MOST_CANCELLED: usize = 4096;
/// How often a connection's gateway is pinged, and how long it has to respond.
const KEEPALIVE: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves gateways until `health` reports that shutdown was noticed, and then until each gateway
/// has closed its connection.
pub(super) async fn serve(
    service: WorkerService,
    listener: Listener,
    health: &Health,
) -> Result<(), WorkerError> {
    let bound = WorkerError::start("socket");
    match listener {
        Listener::Tcp(listener) => {
            let listener = without_delay(listener).map_err(bound)?;
            serve_on(service, listener, health).await
        }
        Listener::Tls(listener, tls) => {
            let listener = TlsListener::new(without_delay(listener).map_err(bound)?, &tls);
            serve_on(service, listener, health).await
        }
        Listener::Unix(listener) => {
            listener.set_nonblocking(true).map_err(bound)?;
            let listener = tokio::net::UnixListener::from_std(listener).map_err(bound)?;
            serve_on(service, listener, health).await
        }
    }
}

/// Disables Nagle's algorithm on each accepted connection.
fn without_delay(listener: std::net::TcpListener) -> io::Result<impl Accept<Io = TcpStream>> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    Ok(listener.tap_io(|socket| {
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set on a connection");
        }
    }))
}

async fn serve_on<L: Accept<Io: Connected>>(
    service: WorkerService,
    listener: L,
    health: &Health,
) -> Result<(), WorkerError> {
    let worker = WorkerServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let open = watch::Sender::new(0);
    let gateways = open.subscribe();
    let incoming = accept(listener, MOST_CONNECTIONS, open);
    server()
        .layer(MapResponseLayer::new(add_instance_header()))
        .add_service(health.service().await)
        .add_service(worker)
        .serve_with_incoming_shutdown(incoming, health.shutdown_noticed(gateways))
        .await
        .map_err(WorkerError::Serve)
}

/// Adds a header to each response that identifies the process that answered.
fn add_instance_header() -> impl Fn(Response<Body>) -> Response<Body> + Clone {
    // A UUID is always a valid header value.
    let instance = HeaderValue::try_from(Uuid::new_v4().to_string()).ok();
    move |mut answer| {
        let instance = instance.clone();
        let header = instance.map(|instance| (HeaderName::from_static(INSTANCE), instance));
        answer.headers_mut().extend(header);
        answer
    }
}

/// The limits of a connection. [`resets`](super::resets) counts resets that the peer causes like
/// its own, so h2's limit on them is off: h2 sums over the connection's whole life.
fn server() -> Server {
    Server::builder()
        .max_concurrent_streams(MOST_STREAMS)
        .http2_max_header_list_size(MOST_HEADERS)
        .http2_max_pending_accept_reset_streams(Some(MOST_CANCELLED))
        .http2_max_local_error_reset_streams(None)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
}

/// Accepts at most `most` connections at a time. More wait in the listener's queue. `open` holds
/// their number.
fn accept<L: Accept>(
    listener: L,
    most: usize,
    open: watch::Sender<usize>,
) -> impl Stream<Item = Result<Connection<L::Io>, Infallible>> {
    let permits = Arc::new(Semaphore::new(most));
    stream::unfold(
        (listener, permits, open),
        async |(mut listener, permits, open)| {
            // The semaphore is never closed, so `acquire_owned` cannot fail.
            let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
            let (socket, _address) = listener.accept().await;
            let connection = Connection::new(socket, permit, open.clone());
            Some((Ok(connection), (listener, permits, open)))
        },
    )
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, pin::pin};

    use futures::StreamExt;
    use hyper::{body::Bytes, http};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        net::TcpListener,
        time::{Instant, timeout},
    };

    use super::{
        super::{connection::OPENING_TIMEOUT, tls::tests::secure},
        *,
    };

    #[tokio::test]
    async fn a_connection_beyond_the_maximum_waits_until_another_closes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut accepting = pin!(accept(listener, 1, watch::Sender::new(0)));
        let _gateways = [
            TcpStream::connect(address).await.unwrap(),
            TcpStream::connect(address).await.unwrap(),
        ];
        let first = accepting.next().await;
        let second = futures::poll!(accepting.next());
        assert!(second.is_pending());
        drop(first);
        let limit = Duration::from_secs(20);
        assert!(timeout(limit, accepting.next()).await.unwrap().is_some());
    }

    /// Accepts one connection and then waits forever.
    struct Once(Option<DuplexStream>);

    impl Accept for Once {
        type Io = DuplexStream;
        type Addr = ();

        async fn accept(&mut self) -> (Self::Io, Self::Addr) {
            match self.0.take() {
                Some(socket) => (socket, ()),
                None => std::future::pending().await,
            }
        }

        fn local_addr(&self) -> io::Result<Self::Addr> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_does_not_open_with_tls_ends_after_10_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let tls = secure(folder.path());
        // Silence, and the beginning of a handshake.
        for hello in [&b""[..], b"\x16\x03\x01\x02"] {
            let (server_side, mut silent) = duplex(64);
            silent.write_all(hello).await.unwrap();
            let open = watch::Sender::new(0);
            let open_connections = open.subscribe();
            let incoming = accept(TlsListener::new(Once(Some(server_side)), &tls), 1, open);
            let (_reporter, service) = tonic_health::server::health_reporter();
            let started = Instant::now();
            tokio::spawn(server().add_service(service).serve_with_incoming(incoming));
            let end = timeout(10 * OPENING_TIMEOUT, silent.read_to_end(&mut Vec::new())).await;
            end.unwrap().unwrap();
            assert_eq!(started.elapsed().as_secs(), OPENING_TIMEOUT.as_secs());
            assert_eq!(*open_connections.borrow(), 0);
        }
    }

    /// A gateway's side of a connection to a server with the worker's limits. The connection sends
    /// and receives nothing until its second half is polled.
    async fn gateway() -> (
        h2::client::SendRequest<Bytes>,
        h2::client::Connection<TcpStream, Bytes>,
    ) {
        let address = worker(1).await;
        let socket = TcpStream::connect(address).await.unwrap();
        h2::client::handshake(socket).await.unwrap()
    }

    /// A server with the worker's limits that accepts so many connections.
    async fn worker(connections: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_reporter, service) = tonic_health::server::health_reporter();
        let incoming = accept(listener, connections, watch::Sender::new(0));
        tokio::spawn(server().add_service(service).serve_with_incoming(incoming));
        address
    }

    /// Makes a call that is answered.
    async fn is_served(client: &h2::client::SendRequest<Bytes>) {
        let mut ready = client.clone().ready().await.unwrap();
        let request = request().body(()).unwrap();
        let (answer, mut body) = ready.send_request(request, false).unwrap();
        // An empty message, which means the whole server.
        body.send_data(Bytes::from_static(&[0; 5]), true).unwrap();
        assert_eq!(answer.await.unwrap().headers().get("grpc-status"), None);
    }

    fn request() -> http::request::Builder {
        let uri = "http://worker/grpc.health.v1.Health/Check";
        http::Request::post(uri).header("content-type", "application/grpc")
    }

    #[tokio::test]
    async fn bursts_of_cancelled_calls_leave_the_connection_open() {
        let (client, connection) = gateway().await;
        let connection = tokio::spawn(connection);
        for burst in 0..20 {
            let mut ready = client.clone().ready().await.unwrap();
            for _call in 0..64 {
                let sent = ready.send_request(request().body(()).unwrap(), false);
                drop(sent.unwrap_or_else(|error| panic!("burst {burst}: {error}")));
            }
            tokio::task::yield_now().await;
        }
        is_served(&client).await;
        assert!(!connection.is_finished());
    }

    /// Opens and resets streams, 64 at once, up to `most` or until the connection ends. Returns
    /// their number.
    async fn reset_rapidly(client: &h2::client::SendRequest<Bytes>, most: usize) -> usize {
        for sent in (0..most).step_by(64) {
            let mut calls = Vec::new();
            for _call in 0..64 {
                let Ok(mut ready) = client.clone().ready().await else {
                    return sent;
                };
                match ready.send_request(request().body(()).unwrap(), false) {
                    Ok(call) => calls.push(call),
                    Err(_ended) => return sent,
                }
            }
            // All are on the wire before they are reset.
            tokio::task::yield_now().await;
            drop(calls);
            tokio::task::yield_now().await;
        }
        most
    }

    #[tokio::test]
    async fn rapid_resets_end_only_their_own_connection() {
        let address = worker(2).await;
        let attacking = TcpStream::connect(address).await.unwrap();
        let (attacker, attack) = h2::client::handshake(attacking).await.unwrap();
        let attack = tokio::spawn(attack);
        let socket = TcpStream::connect(address).await.unwrap();
        let (client, connection) = h2::client::handshake(socket).await.unwrap();
        let connection = tokio::spawn(connection);
        let resetting = reset_rapidly(&attacker, 20_000);
        let calling = async {
            loop {
                is_served(&client).await;
            }
        };
        let sent = tokio::select! {
            sent = resetting => sent,
            () = calling => unreachable!("calls never end"),
        };
        assert!((4_000..20_000).contains(&sent), "{sent} were reset");
        let ended = timeout(Duration::from_secs(20), attack).await.unwrap();
        let error = ended.unwrap().unwrap_err();
        assert!(error.is_go_away() && error.is_remote(), "{error:?}");
        assert_eq!(error.reason(), Some(h2::Reason::ENHANCE_YOUR_CALM));
        is_served(&client).await;
        assert!(!connection.is_finished());
    }

    /// Opens streams and makes the server reset each for a flow-control error, 64 at once, up to
    /// `most` or until the connection ends.
    async fn provoke_resets(socket: &mut (impl AsyncWriteExt + Unpin), most: u32) {
        // `:method: POST`, `:scheme: http`, `:path: /`, `:authority: w`.
        const REQUEST: [u8; 6] = [0x83, 0x86, 0x84, 0x41, 1, b'w'];
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let opening = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..]].concat();
        socket.write_all(&opening).await.unwrap();
        for sent in (0..most).step_by(64) {
            let mut frames = Vec::new();
            for call in sent..sent + 64 {
                let stream = (2 * call + 1).to_be_bytes();
                let opened = [&[0, 0, 6, 1, 4][..], &stream, &REQUEST].concat();
                // No window may exceed 2^31 - 1 bytes.
                let update = [&[0, 0, 4, 8, 0][..], &stream, &[0x7f, 0xff, 0xff, 0xff]].concat();
                frames.extend([opened, update].concat());
            }
            if socket.write_all(&frames).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn resets_provoked_rapidly_end_the_connection_with_a_reason() {
        let address = worker(1).await;
        let socket = TcpStream::connect(address).await.unwrap();
        let (mut reading, mut writing) = socket.into_split();
        let receiving = tokio::spawn(async move {
            let mut received = Vec::new();
            // The connection may be reset. The bytes before that count.
            reading.read_to_end(&mut received).await.ok();
            received
        });
        let limit = Duration::from_secs(20);
        let provoking = provoke_resets(&mut writing, 40_000);
        timeout(limit, provoking).await.unwrap();
        let received = timeout(limit, receiving).await.unwrap().unwrap();
        let go_away = received.last_chunk::<17>().unwrap();
        let (goaway, calm) = ([0, 0, 8, 7], [0, 0, 0, 11]);
        assert_eq!((&go_away[..4], &go_away[13..]), (&goaway[..], &calm[..]));
        let latest = u32::from_be_bytes(*go_away[9..].first_chunk().unwrap());
        assert!((8_000..80_000).contains(&latest), "{latest}");
    }

    #[tokio::test]
    async fn a_pass_of_200_projects_of_63_bytes_fits_into_the_headers() {
        let (client, connection) = gateway().await;
        tokio::spawn(connection);
        // JSON, then base64.
        let pass = "x".repeat(200 * (63 + 3) * 4 / 3 + 1024);
        let request = request().header("archway-pass", pass).body(()).unwrap();
        let mut ready = client.ready().await.unwrap();
        let (answer, _body) = ready.send_request(request, true).unwrap();
        assert_eq!(answer.await.unwrap().status(), http::StatusCode::OK);
    }
}
