//! The main job: four processes with 25 tasks each make 2,000 payments over 10 boletos, on one Redis.
//!
//! The register outside, which nothing disturbs, has the order in which bodies entered and left, and the balances that they
//! read, wait on for 1 to 5 ms and write back. The server's own list of commands has the order in which the calls arrived.

use std::thread;

use tests::process::{Door, Holder, Order, Setup};
use tests::register::Register;
use tests::{RedisServer, check, history, tidy, timing, wire};

const PROCESSES: usize = 4;
const TASKS: u64 = 25;
const PAYMENTS: u64 = 20;
const BOLETOS: u64 = 10;
const ALL: usize = 2_000;

/// Lets all processes pay, and returns when they are through.
fn pay(server: &RedisServer, register: &Register, door: Door) {
    let setup = Setup::new(server, register).with_defaults();
    let mut holders: Vec<_> = (0..PROCESSES)
        .map(|_| Holder::start(env!("CARGO_BIN_EXE_holder"), &setup))
        .collect();
    let order = Order::Pay {
        tasks: TASKS,
        payments: PAYMENTS,
        boletos: BOLETOS,
        door,
    };
    for holder in &mut holders {
        holder.tell(&order);
    }
    thread::scope(|scope| {
        for mut holder in holders {
            scope.spawn(move || {
                assert_eq!(holder.paid(), Vec::<String>::new());
                holder.quit();
            });
        }
    });
}

#[tokio::test]
async fn two_thousand_payments_one_at_a_time_in_the_order_of_arrival() {
    let (server, register) = (RedisServer::start(), Register::start());
    let monitor = server.monitor();
    let start = monitor.mark();
    pay(&server, &register, Door::Queue);
    let arrivals = wire::arrivals(&monitor.since(start));
    let events = register.events();

    check::assert_exclusive(&events);
    let keys = history::keys(&events);
    assert_eq!(keys.len(), 10);
    assert_eq!(
        keys.iter()
            .map(|key| history::entries(&events, key).len())
            .sum::<usize>(),
        ALL
    );
    assert_eq!(check::lost_updates(&events, |key| register.balance(key)), 0);
    assert_eq!(arrivals.len(), ALL);
    check::assert_none(
        "entered out of turn",
        &check::out_of_turn(&arrivals, &events),
    );
    tidy::end(&server, "boleto:", timing::lease(), 0).await;
}

/// The counter-proof: the same work without the attribute goes wrong, so the run above could have seen it.
#[tokio::test]
async fn without_the_attribute_payments_overlap_and_get_lost() {
    let (server, register) = (RedisServer::start(), Register::start());
    pay(&server, &register, Door::Unlocked);
    let events = register.events();
    let (overlaps, lost) = (
        check::overlaps(&events).len(),
        check::lost_updates(&events, |key| register.balance(key)),
    );
    assert_eq!(check::nonsense(&events), Vec::<String>::new());
    assert!(overlaps > 100, "{overlaps} overlaps");
    assert!(lost > 100, "{lost} lost updates");
}
