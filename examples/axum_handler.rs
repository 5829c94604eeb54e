//! axum handlers under a lock.
//!
//! ```text
//! cargo run -p examples --features axum --example axum_handler             serves until Ctrl-C
//! cargo run -p examples --features axum --example axum_handler -- --demo   asks itself a few things, then ends
//! ```
//!
//! With `LOCK_URL=redis://…` all copies of this program exclude each other.
//!
//! axum drops a handler when its client closes the connection: its place in the queue, or its lock, is given up at once.

#![expect(clippy::print_stdout, reason = "it is what the example shows")]

use std::error::Error;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use examples::{Bank, Start};
use lockruntime::{LockError, distributed_lock};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Notify;

#[derive(Serialize)]
struct Receipt {
    receipt: u64,
}

#[derive(Deserialize)]
struct Refund {
    account: String,
    cents: u64,
}

/// Queue: payments of one boleto run one after the other, in the order of their arrival. The key takes a path parameter.
#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
async fn pay(State(bank): State<Bank>, Path(id): Path<u64>) -> Result<Json<Receipt>, ApiError> {
    let receipt = bank.charge(format!("boleto {id}")).await?;
    Ok(Json(Receipt { receipt }))
}

/// Queue, but not for long: after a second the answer is 503. The key takes a field of the JSON body; nothing else is needed
/// to answer refusals, since a `LockError` is a response.
#[distributed_lock(key = "account:<refund.account>", lease = "30s", wait = "1s")]
async fn refund(
    State(bank): State<Bank>,
    Json(refund): Json<Refund>,
) -> Result<Response, LockError> {
    Ok(
        match bank
            .charge(format!("refund of {} to {}", refund.cents, refund.account))
            .await
        {
            Ok(receipt) => Json(Receipt { receipt }).into_response(),
            Err(declined) => (StatusCode::PAYMENT_REQUIRED, declined).into_response(),
        },
    )
}

/// Reject: a second request for the same day is answered 409 at once. A handler may also return a plain response.
#[distributed_lock(key = "day:<day>", lease = "30s", mode = "reject")]
async fn close_day(State(bank): State<Bank>, Path(day): Path<String>) -> Response {
    match bank.charge(format!("close {day}")).await {
        Ok(receipt) => Json(Receipt { receipt }).into_response(),
        Err(declined) => (StatusCode::PAYMENT_REQUIRED, declined).into_response(),
    }
}

/// An error type of the application's own needs `From<LockError>`.
enum ApiError {
    Lock(LockError),
    Declined(String),
}

impl From<LockError> for ApiError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<String> for ApiError {
    fn from(reason: String) -> Self {
        Self::Declined(reason)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::Lock(error) => error.into_response(),
            Self::Declined(reason) => (StatusCode::PAYMENT_REQUIRED, reason).into_response(),
        }
    }
}

pub(crate) fn app(bank: Bank) -> Router {
    Router::new()
        .route("/boletos/{id}/pay", post(pay))
        .route("/refunds", post(refund))
        .route("/days/{day}/close", post(close_day))
        .with_state(bank)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let start = Start::from_args()?;
    let locks = examples::locks()?;
    locks.install()?;

    let listener = TcpListener::bind(start.address).await?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}");
    let drain = Arc::new(Notify::new());
    let drained = Arc::clone(&drain);
    let server = tokio::spawn(async move {
        let server = axum::serve(listener, app(Bank::slow(examples::charge_time())));
        server
            .with_graceful_shutdown(async move { drained.notified().await })
            .await
    });

    let ended = start.until_stopped(address).await;
    // First the locks: whoever waits is answered 503 at once, running bodies may end. Only then the server, which would
    // otherwise wait for those who wait.
    locks.shutdown(examples::budget()).await;
    drain.notify_one();
    server.await??;
    ended
}
