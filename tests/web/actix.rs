//! The cases over actix-web, and what its default does.

use std::net::{Ipv4Addr, SocketAddr};

use actix_web::middleware::Condition;
use actix_web::{App, HttpServer};
use lockruntime::LockManager;
use lockruntime::web::WithManager;
use tests::timing;

use crate::actix_app::app;
use crate::bank::{self, Visits};
use crate::cases;
use crate::client::{Close, Outcome};
use crate::site::{Ground, Site};

/// Serves the example's routes; calls find `locks` as their manager.
async fn serve_with(locks: Option<LockManager>, half_closed: bool) -> (SocketAddr, Visits) {
    let (bank, visits) = bank::open();
    let server = HttpServer::new(move || {
        // the middleware is made either way
        let with_manager = WithManager::new(locks.clone().unwrap_or_else(LockManager::memory));
        App::new()
            .configure(app(bank.clone()))
            .wrap(Condition::new(locks.is_some(), with_manager))
    });
    let server = server
        .h1_allow_half_closed(half_closed)
        .workers(1)
        .disable_signals()
        .bind((Ipv4Addr::LOCALHOST, 0))
        .expect("loopback has a free port");
    let address = *server.addrs().first().expect("a bound socket");
    tokio::spawn(server.run());
    (address, visits)
}

async fn serve(locks: Option<LockManager>) -> (SocketAddr, Visits) {
    serve_with(locks, false).await
}

async fn site() -> Site {
    let ground = Ground::new();
    let (address, visits) = serve(Some(ground.locks.clone())).await;
    Site::new(ground, address, visits)
}

cases::over!(site, serve);

/// Why the example sets `h1_allow_half_closed(false)`: left alone, the handler runs for a client that is gone.
#[tokio::test]
async fn by_default_a_handler_outlives_a_plain_close() {
    let ground = Ground::new();
    let (address, visits) = serve_with(Some(ground.locks.clone()), true).await;
    let mut site = Site::new(ground, address, visits);
    let holder = site.post("/boletos/1/pay").await;
    let first = site.visits.next("boleto 1").await;
    let waiter = site.post("/boletos/1/pay").await;
    site.until_waiting("boleto:1", 1).await;
    holder.close(Close::Fin);
    waiter.close(Close::Fin);

    // a request that came and went since: the worker has seen both closes
    let other = site.post("/boletos/2/pay").await;
    site.visits.next("boleto 2").await.finish(20).await;
    other.expect(200).await;

    assert!(site.is_held("boleto:1"));
    first.finish(10).await;
    site.visits.next("boleto 1").await.finish(11).await;
    timing::until("the lock is free", timing::patience(), || {
        !site.is_held("boleto:1")
    })
    .await;
}
