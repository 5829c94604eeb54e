//! A network that changes what is said: words of a newer version in place of this one's.

use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::resp::first_message;
use crate::server::Port;

/// Passes everything on between clients and one server, but replaces words in requests by others of the same length.
#[derive(Debug)]
pub struct Rewriter {
    port: Port,
    stop: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Rewriter {
    /// In front of `server` (`127.0.0.1:port`); each pair is what is looked for, and what stands there instead.
    ///
    /// # Panics
    /// When two words of a pair differ in length.
    #[must_use]
    pub fn before(server: &str, words: &[(&str, &str)]) -> Self {
        let words: Vec<(Vec<u8>, Vec<u8>)> = words
            .iter()
            .map(|(from, to)| {
                assert_eq!(from.len(), to.len(), "{from} and {to} differ in length");
                (from.as_bytes().to_vec(), to.as_bytes().to_vec())
            })
            .collect();
        let port = Port::claim();
        let listener = std::net::TcpListener::bind(("127.0.0.1", port.number()))
            .expect("the port is claimed and free");
        listener
            .set_nonblocking(true)
            .expect("a listener can be set up");
        let (stop, stopped) = oneshot::channel();
        let server = server.to_owned();
        let thread = std::thread::Builder::new()
            .name("rewriter".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime can be made");
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, &server, &words) => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("a thread can be started");
        Self {
            port,
            stop: Some((stop, thread)),
        }
    }

    /// `127.0.0.1:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.number())
    }
}

impl Drop for Rewriter {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.stop.take() {
            let _ = stop.send(());
            drop(thread.join());
        }
    }
}

async fn serve(listener: std::net::TcpListener, server: &str, words: &[(Vec<u8>, Vec<u8>)]) {
    let listener = TcpListener::from_std(listener).expect("the runtime has I/O");
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if let Ok(server) = TcpStream::connect(server).await {
            connections.spawn(carry(client, server, words.to_vec()));
        }
    }
}

/// Ends when either side does.
async fn carry(client: TcpStream, server: TcpStream, words: Vec<(Vec<u8>, Vec<u8>)>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket can be set up");
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = async {
        let mut bytes = Vec::new();
        while from_client.read_buf(&mut bytes).await.is_ok_and(|n| n > 0) {
            while let Ok(Some(length)) = first_message(&bytes) {
                let mut message: Vec<u8> = bytes.drain(..length).collect();
                replace(&mut message, &words);
                if to_server.write_all(&message).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = requests => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}

pub(super) fn replace(message: &mut [u8], words: &[(Vec<u8>, Vec<u8>)]) {
    for (from, to) in words {
        let mut start = 0;
        while let Some(at) = message
            .get(start..)
            .and_then(|rest| rest.windows(from.len()).position(|part| part == from))
        {
            let end = start + at + from.len();
            if let Some(place) = message.get_mut(start + at..end) {
                place.copy_from_slice(to);
            }
            start = end;
        }
    }
}
