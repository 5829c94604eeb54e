//! The network between one process and the server fails; everybody else's works.

use std::time::Instant;

use tests::fault::Proxy;
use tests::history::What;
use tests::process::{Body, Setup};
use tests::register::Register;
use tests::{RedisServer, check, tidy, timing, wire};

use super::{event, expiry, holding, last_sign, queued};

/// Cut off for longer than a lease: the body is stopped before the key expires, and the call says that the lock was lost.
async fn cut_off(id: &str, cut: impl FnOnce(&Proxy)) {
    let (server, register) = (RedisServer::start(), Register::start());
    let proxy = Proxy::before(&server.address());
    let (raw, setup) = (server.raw(), Setup::new(&server, &register));
    let far = setup.clone().through(&server, &proxy.address());
    let (mut holder, token) = holding(&far, id, Body::UntilTold);
    let mut rival = queued(
        &setup,
        &raw,
        id,
        "rival",
        1,
        Body::For(timing::short_body()),
    );
    cut(&proxy);
    let expiry = expiry(&raw, id);
    let error = holder.returned("holder");
    assert!(error.starts_with("Lost: "), "{error}");
    let (_, next) = rival.entered("rival");
    assert_eq!(rival.returned("rival"), "");
    proxy.heal();
    holder.quit();

    let events = register.events();
    check::assert_exclusive(&events);
    let (last, entered) = (
        last_sign(&events, token),
        event(&events, What::Entered, next),
    );
    assert!(
        last.at < expiry,
        "the body ran {:?} past its lease",
        last.at - expiry
    );
    assert!(last.at < entered.at && entered.at + timing::millis(2) >= expiry);
    tidy::end(&server, id, timing::lease(), 0).await;
}

#[tokio::test]
async fn refused_for_longer_than_a_lease() {
    cut_off("refused", Proxy::refuse).await;
}

#[tokio::test]
async fn black_holed_for_longer_than_a_lease() {
    cut_off("black-holed", Proxy::black_hole).await;
}

/// The network goes just before the body ends: the value isn't held up for longer than the release may take.
#[tokio::test]
async fn a_value_is_returned_although_the_release_gets_lost() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let manager = server.manager_at(&proxy.address());
    let record = wire::record("boleto:black-holed-end");
    let mut ended = None;
    let body = async {
        proxy.black_hole();
        ended = Some(Instant::now());
        7
    };
    let value = manager
        .lock("boleto:black-holed-end")
        .lease(timing::long_lease())
        .run(body)
        .await
        .unwrap();
    let took = ended.unwrap().elapsed();
    assert_eq!(value, 7);
    // release_timeout is a setting of its own, 1 s
    assert!(took < std::time::Duration::from_millis(1_200), "{took:?}");
    assert!(server.raw().has(&record));
    proxy.heal();
    // the keeper goes on, long before the lease would end
    tidy::end(&server, "boleto:black-holed-end", timing::lease(), 0).await;
}
