//! A body that runs for many leases.

use tests::history::What;
use tests::process::{Body, Setup};
use tests::register::Register;
use tests::{RedisServer, check, tidy, timing, wire};

use super::{event, holding, queued};

/// Ten leases with a rival queued throughout: one token, and three renewals a lease, not many more and not fewer.
#[tokio::test]
async fn a_body_of_ten_leases_keeps_its_lock() {
    let (server, register) = (RedisServer::start(), Register::start());
    let lease = timing::short_lease();
    let (raw, setup) = (server.raw(), Setup::new(&server, &register).lease(lease));
    let monitor = server.monitor();
    let start = monitor.mark();
    let (mut holder, token) = holding(&setup, "long-body", Body::For(lease * 10));
    let mut rival = queued(
        &setup,
        &raw,
        "long-body",
        "rival",
        1,
        Body::For(timing::short_body()),
    );
    assert_eq!(holder.returned("holder"), "");
    let seen = monitor.since(start);
    let (_, next) = rival.entered("rival");
    assert_eq!(rival.returned("rival"), "");

    let events = register.events();
    check::assert_exclusive(&events);
    assert!(next > token);
    let held = event(&events, What::Left, token).at - event(&events, What::Entered, token).at;
    assert!(held >= lease * 10);
    let renewals = wire::renewals(&seen, "boleto:long-body");
    assert!(
        (27..=35).contains(&renewals),
        "{renewals} renewals in {held:?}"
    );
    tidy::end(&server, "long-body", timing::lease(), 0).await;
}
