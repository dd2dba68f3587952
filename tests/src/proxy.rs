//! A reverse proxy on loopback, as an organisation might run one. It sends each request to the next
//! gateway, whatever its connection, with a key that the client does not know. It records the MCP
//! revisions that clients used.
//!
//! It binds its port before the gateways start, so that its address can be among their allowed origins.
//! Bodies and event streams pass through as they come. If a client disconnects, its request is cancelled.

use std::{
    collections::BTreeSet,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A bound proxy. After [`Proxy::serve`] it serves until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    listener: Option<TcpListener>,
    serving: Option<JoinHandle<io::Result<()>>>,
    revisions: Arc<Mutex<BTreeSet<String>>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

impl Proxy {
    /// Binds a port.
    pub async fn bind() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Proxy {
            address: listener.local_addr().unwrap(),
            listener: Some(listener),
            serving: None,
            revisions: Arc::default(),
        }
    }

    /// Its URL as the origin of a browser's page.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Forwards requests to `gateways` in turn, with `key`. Panics if called twice.
    pub fn serve(&mut self, gateways: Vec<SocketAddr>, key: &str) {
        let key = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        self.forward(gateways, Some(key));
    }

    /// Forwards requests to `addresses` in turn, as they are. Panics if called twice.
    pub fn pass_on(&mut self, addresses: Vec<SocketAddr>) {
        self.forward(addresses, None);
    }

    fn forward(&mut self, gateways: Vec<SocketAddr>, credential: Option<HeaderValue>) {
        let listener = self.listener.take().expect("a proxy serves once");
        let turns = Arc::new(Turns {
            gateways,
            next: AtomicUsize::new(0),
            credential,
            revisions: self.revisions.clone(),
        });
        let router = Router::new().fallback(pass).with_state(turns);
        self.serving = Some(tokio::spawn(
            async move { axum::serve(listener, router).await },
        ));
    }

    /// The values of `MCP-Protocol-Version` so far.
    pub fn revisions(&self) -> BTreeSet<String> {
        self.revisions.lock().clone()
    }
}

/// The next gateway, and what all requests share.
struct Turns {
    gateways: Vec<SocketAddr>,
    next: AtomicUsize,
    credential: Option<HeaderValue>,
    revisions: Arc<Mutex<BTreeSet<String>>>,
}

async fn pass(turns: State<Arc<Turns>>, mut request: Request) -> Response {
    let turn = turns.next.fetch_add(1, Ordering::Relaxed) % turns.gateways.len();
    let headers = request.headers_mut();
    if let Some(revision) = headers.get("mcp-protocol-version") {
        let revision = String::from_utf8_lossy(revision.as_bytes()).into_owned();
        turns.revisions.lock().insert(revision);
    }
    headers.remove(header::CONNECTION);
    if let Some(credential) = &turns.credential {
        headers.insert(header::AUTHORIZATION, credential.clone());
    }
    match forward(turns.gateways[turn], request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// Forwards over a new connection, which ends with the answer's body or with the client's.
async fn forward(to: SocketAddr, request: Request) -> Result<Response, Box<dyn std::error::Error>> {
    let socket = TcpStream::connect(to).await?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?.map(Body::new))
}
