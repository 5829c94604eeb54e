//! The page that shows holds and queues live, through its router.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

use std::net::SocketAddr;

use lockruntime::LockManager;
use lockruntime::web::Dashboard;
use serde_json::{Value, json};
use tests::{RedisServer, timing};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Serves a router until the test ends.
pub(crate) async fn serve(router: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// Status and content of an answer.
async fn ask(address: SocketAddr, head: &str, content: &str) -> (u16, String) {
    ask_from("same-origin", address, head, content).await
}

/// As a browser asks for a page of this site.
async fn ask_from(site: &str, address: SocketAddr, head: &str, content: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = content.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nsec-fetch-site: {site}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{content}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timing::soon("the answer", stream.read_to_string(&mut answer))
        .await
        .unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// What an open page is told, one look after the other.
struct Live(tokio::io::Lines<BufReader<TcpStream>>);

impl Live {
    async fn open(address: SocketAddr, path: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(BufReader::new(stream).lines())
    }

    async fn next(&mut self) -> Value {
        loop {
            let line = timing::soon("a look", self.0.next_line())
                .await
                .unwrap()
                .unwrap();
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

/// The page itself.
pub(crate) async fn page(address: SocketAddr) -> String {
    let (_status, answer) = ask(address, "GET /", "").await;
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn the_page_stands_alone() {
    let address = serve(Dashboard::new(LockManager::memory()).into_router()).await;
    let (status, answer) = ask(address, "GET /", "").await;
    assert_eq!(status, 200);
    assert!(
        answer.contains("content-security-policy: default-src 'none'"),
        "{answer}"
    );
    let page = answer.split_once("\r\n\r\n").unwrap().1;
    for elsewhere in [
        "http://",
        "https://",
        "//cdn",
        "@import",
        "<link rel=\"stylesheet\"",
    ] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
}

#[tokio::test]
async fn locks_appear_and_vanish() {
    let server = RedisServer::start();
    let locks = server.manager();
    let dashboard = Dashboard::new(server.manager()).into_router();
    let address = serve(axum::Router::new().nest("/admin/locks", dashboard)).await;
    let mut live = Live::open(address, "/admin/locks/live").await;
    assert_eq!(live.next().await["locks"], json!([]));
    let guard = locks.lock("boleto:42").acquire().await.unwrap();
    let shown = live.next().await;
    assert_eq!(shown["locks"][0]["key"], "boleto:42", "{shown}");
    assert_eq!(shown["mayRelease"], false);
    let (status, answer) = ask(address, "GET /admin/locks/lock?key=boleto:42", "").await;
    assert_eq!(status, 200);
    assert!(
        answer.contains(&guard.owner_token().to_string()),
        "{answer}"
    );
    guard.release().await.unwrap();
    let shown = live.next().await;
    assert_eq!(shown["locks"], json!([]));
    let ended: u64 = shown["ended"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(ended, 1, "{shown}");
}

#[tokio::test]
async fn it_reads_only_unless_asked_otherwise() {
    let locks = LockManager::memory();
    let guard = locks.lock("boleto:42").acquire().await.unwrap();
    let right = json!({ "key": "boleto:42", "owner": guard.owner_token().to_string() }).to_string();
    let wrong = json!({ "key": "boleto:42", "owner": "0".repeat(32) }).to_string();
    let reads = serve(Dashboard::new(locks.clone()).into_router()).await;
    let acts = serve(Dashboard::new(locks.clone()).allow_release().into_router()).await;
    assert_eq!(ask(reads, "POST /release", &right).await.0, 403);
    assert_eq!(ask(acts, "POST /release", &wrong).await.0, 409);
    for elsewhere in ["cross-site", "same-site"] {
        let (status, _) = ask_from(elsewhere, acts, "POST /release", &right).await;
        assert_eq!(status, 403, "{elsewhere}");
    }
    assert!(guard.is_held());
    assert!(locks.snapshot("boleto:42").await.unwrap().held.is_some());
    assert_eq!(ask(acts, "POST /release", &right).await.0, 200);
    assert!(locks.snapshot("boleto:42").await.unwrap().held.is_none());
    drop(guard);
}
