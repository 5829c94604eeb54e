//! The cases over axum.

use std::net::{Ipv4Addr, SocketAddr};

use lockruntime::LockManager;
use lockruntime::web::WithManager;
use tokio::net::TcpListener;

use crate::axum_app::app;
use crate::bank::{self, Visits};
use crate::cases;
use crate::site::{Ground, Site};

/// Serves the example's routes; calls find `locks` as their manager.
async fn serve(locks: Option<LockManager>) -> (SocketAddr, Visits) {
    let (bank, visits) = bank::open();
    let mut router = app(bank);
    if let Some(locks) = locks {
        router = router.layer(WithManager::new(locks));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket");
    tokio::spawn(async { ::axum::serve(listener, router).await });
    (address, visits)
}

async fn site() -> Site {
    let ground = Ground::new();
    let (address, visits) = serve(Some(ground.locks.clone())).await;
    Site::new(ground, address, visits)
}

cases::over!(site, serve);
