//! What happens to locks, as Prometheus scrapes it: a service with contention, and one scrape of it.
//!
//! ```text
//! cargo run -p examples --features observability --example observability
//! ```
//!
//! `ops/` has a Grafana dashboard and alert rules for these names.

use std::time::Duration;

use lockruntime::{Event, LockError, LockManager, distributed_lock};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How long a wait or a hold takes here, in classes of seconds.
const CLASSES: [f64; 5] = [0.001, 0.01, 0.1, 1.0, 10.0];

#[distributed_lock(key = "boleto:<id>", mode = "queue", wait = "40ms")]
async fn pay(id: u64) -> Result<(), LockError> {
    tokio::time::sleep(Duration::from_millis(25)).await;
    Ok(())
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the program shows what happens")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // a service has its own way to answer GET /metrics; the handle renders the text
    let metrics = PrometheusBuilder::new()
        .set_buckets(&CLASSES)?
        .install_recorder()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0; 1024];
        let _read = stream.read(&mut request).await?;
        let text = metrics.render();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(text.as_bytes()).await
    });

    // for those who use neither metrics nor tracing: every event, as it happens
    let locks = LockManager::builder()
        .url("memory://")
        .on_event(|event| {
            if let Event::WaitTimedOut { lock, waited, .. } = event {
                println!("{} was not free within {} ms", lock.key, waited.as_millis());
            }
        })
        .build()?;
    locks.install()?;
    let payments = (0..6).map(|caller| tokio::spawn(pay(caller % 2)));
    for payment in payments.collect::<Vec<_>>() {
        // some give up waiting, as the rates will show
        let _paid = payment.await?;
    }
    locks.shutdown(Duration::from_secs(1)).await;

    let mut scrape = TcpStream::connect(address).await?;
    scrape
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await?;
    let mut text = String::new();
    scrape.read_to_string(&mut text).await?;
    server.await??;
    for line in text.lines().filter(|line| line.starts_with("lockruntime_")) {
        println!("{line}");
    }
    Ok(())
}
