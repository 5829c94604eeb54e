//! A job that every process starts by its own clock.

use std::time::{Duration, SystemTime};

use tests::history::{What, entries};
use tests::process::{Holder, Order, Schedule, Setup};
use tests::register::Register;
use tests::{RedisServer, check, tidy, timing};

use super::HOLDER;

const TICKS: u32 = 3;

/// Three processes whose clocks are a second apart: each tick is run once, by whoever comes to it first, since the lock stays
/// taken for longer than their clocks differ.
#[tokio::test]
async fn one_run_a_tick_whatever_the_clocks_say() {
    let (server, register) = (RedisServer::start(), Register::start());
    let setup = Setup::new(&server, &register);
    let (apart, least) = (timing::millis(1_000), timing::millis(2_300));
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let schedule = |ahead| Schedule {
        id: "schedule".to_owned(),
        ahead,
        first: now + apart * 2 + timing::millis(500),
        every: least + timing::millis(400),
        ticks: TICKS,
        least,
    };
    let mut processes: Vec<_> = (0..3).map(|_| Holder::start(HOLDER, &setup)).collect();
    for (process, ahead) in processes.iter_mut().zip(0..) {
        process.tell(&Order::Schedule(schedule(apart * ahead)));
    }
    let mut ran: Vec<u32> = processes.iter_mut().flat_map(Holder::ticked).collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..TICKS).collect::<Vec<_>>());

    let events = register.events();
    check::assert_exclusive(&events);
    let runs = entries(&events, "boleto:schedule");
    assert_eq!(runs.len(), TICKS as usize);
    for (earlier, later) in runs.iter().zip(runs.iter().skip(1)) {
        assert!(later.at - earlier.at + Duration::from_millis(2) >= least);
        assert!(later.token > earlier.token && later.what == What::Entered);
    }
    tidy::end(&server, "schedule", least, 0).await;
}
