//! actix-web handlers under a lock.
//!
//! ```text
//! cargo run -p examples --features actix --example actix_handler             serves until Ctrl-C
//! cargo run -p examples --features actix --example actix_handler -- --demo   asks itself a few things, then ends
//! ```
//!
//! With `LOCK_URL=redis://…` all copies of this program exclude each other.

#![expect(clippy::print_stdout, reason = "it is what the example shows")]

use std::error::Error;
use std::fmt;

use actix_web::web::{Data, Json, Path, ServiceConfig};
use actix_web::{App, HttpResponse, HttpServer, ResponseError, post};
use examples::{Bank, Start};
use lockruntime::{LockError, distributed_lock};
use serde::{Deserialize, Serialize};

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
#[post("/boletos/{id}/pay")]
#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
async fn pay(bank: Data<Bank>, id: Path<u64>) -> Result<Json<Receipt>, ApiError> {
    let receipt = bank.charge(format!("boleto {id}")).await?;
    Ok(Json(Receipt { receipt }))
}

/// Queue, but not for long: after a second the answer is 503. The key takes a field of the JSON body; nothing else is needed
/// to answer refusals, since a `LockError` is a `ResponseError`.
#[post("/refunds")]
#[distributed_lock(key = "account:<refund.account>", lease = "30s", wait = "1s")]
async fn refund(bank: Data<Bank>, Json(refund): Json<Refund>) -> actix_web::Result<Json<Receipt>> {
    let charge = bank
        .charge(format!("refund of {} to {}", refund.cents, refund.account))
        .await;
    let receipt = charge.map_err(ApiError::Declined)?;
    Ok(Json(Receipt { receipt }))
}

/// Reject: a second request for the same day is answered 409 at once. A handler may also return a plain response.
#[post("/days/{day}/close")]
#[distributed_lock(key = "day:<path.0>", lease = "30s", mode = "reject")]
async fn close_day(bank: Data<Bank>, path: Path<(String,)>) -> HttpResponse {
    let (day,) = path.into_inner();
    match bank.charge(format!("close {day}")).await {
        Ok(receipt) => HttpResponse::Ok().json(Receipt { receipt }),
        Err(declined) => HttpResponse::PaymentRequired().body(declined),
    }
}

/// An error type of the application's own needs `From<LockError>`.
#[derive(Debug)]
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

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(error) => error.fmt(f),
            Self::Declined(reason) => f.write_str(reason),
        }
    }
}

impl ResponseError for ApiError {
    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Lock(error) => error.error_response(),
            Self::Declined(reason) => HttpResponse::PaymentRequired().body(reason.clone()),
        }
    }
}

pub(crate) fn app(bank: Bank) -> impl FnOnce(&mut ServiceConfig) {
    move |config| {
        config
            .app_data(Data::new(bank))
            .service(pay)
            .service(refund)
            .service(close_day);
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let start = Start::from_args()?;
    let locks = examples::locks()?;
    locks.install()?;

    let bank = Bank::slow(examples::charge_time());
    let server = HttpServer::new(move || App::new().configure(app(bank.clone())))
        // Else a handler goes on after its client closed the connection, since the client may have closed its half only: it
        // would wait in the queue, and hold the lock, for nobody.
        .h1_allow_half_closed(false)
        // the locks come first, see below
        .disable_signals()
        .bind(start.address)?;
    let address = *server
        .addrs()
        .first()
        .ok_or("the server is bound to no address")?;
    println!("listening on http://{address}");
    let server = server.run();
    let handle = server.handle();
    let server = actix_web::rt::spawn(server);

    let ended = start.until_stopped(address).await;
    // First the locks: whoever waits is answered 503 at once, running bodies may end. Only then the server, which would
    // otherwise wait for those who wait.
    locks.shutdown(examples::budget()).await;
    handle.stop(true).await;
    server.await??;
    ended
}
