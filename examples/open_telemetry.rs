//! Locked calls as spans of OpenTelemetry, inside of the request that made them, sent to a collector; here to a stand-in that prints
//! what it receives.
//!
//! ```text
//! cargo run -p examples --features observability --example open_telemetry
//! ```
//!
//! A service has an exporter of its own (OTLP) in the stand-in's place.

use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::io::AsyncBufReadExt;
use tokio::net::TcpListener;
use tracing_subscriber::layer::SubscriberExt;

#[distributed_lock(key = "boleto:<id>", mode = "queue")]
async fn pay(id: u64) -> Result<(), LockError> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}

/// What a service does for one request.
#[tracing::instrument]
async fn request(id: u64) -> Result<(), LockError> {
    pay(id).await
}

/// Sends each span as a line of text to the collector's address.
#[derive(Debug)]
struct Lines(std::net::SocketAddr);

impl SpanExporter for Lines {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(self.0).map_err(failed)?;
        for span in batch {
            let inside = if span.parent_span_id == opentelemetry::trace::SpanId::INVALID {
                "a span"
            } else {
                "inside of it"
            };
            let fields = span.attributes.iter().filter(|field| {
                let wanted = ["key", "mode", "outcome", "wait", "hold", "fencing_token"];
                wanted.contains(&field.key.as_str())
            });
            let fields: Vec<_> = fields
                .map(|field| format!("{}={}", field.key, field.value))
                .collect();
            writeln!(stream, "{inside}: {} {}", span.name, fields.join(" ")).map_err(failed)?;
        }
        Ok(())
    }
}

fn failed(error: std::io::Error) -> opentelemetry_sdk::error::OTelSdkError {
    opentelemetry_sdk::error::OTelSdkError::InternalFailure(error.to_string())
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the program shows what happens")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let spans = SdkTracerProvider::builder()
        .with_simple_exporter(Lines(listener.local_addr()?))
        .build();
    let collector = tokio::spawn(async move {
        let mut seen = 0;
        // a request and a lock for each of two payments
        while seen < 4 {
            let (stream, _) = listener.accept().await?;
            let mut lines = tokio::io::BufReader::new(stream).lines();
            while let Some(line) = lines.next_line().await? {
                println!("collector: {line}");
                seen += 1;
            }
        }
        std::io::Result::Ok(())
    });

    let layer = tracing_opentelemetry::layer().with_tracer(spans.tracer("payments"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    LockManager::memory().install()?;
    let (one, other) = tokio::join!(request(42), request(42));
    one.and(other)?;
    tokio::time::timeout(Duration::from_secs(5), collector).await???;
    Ok(())
}
