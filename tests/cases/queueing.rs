//! The queue, with dead and late ones in it.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tests::fault::Proxy;
use tests::history::{self, What};
use tests::process::{Body, Door, Holder, Setup};
use tests::register::Register;
use tests::wire::Verb;
use tests::{RedisServer, check, tidy, timing, wire};
use tokio::task::JoinSet;

use super::{HOLDER, variant};

/// Dead waiters at the head cost their successors one ticket life and one grace, however many they are.
#[tokio::test]
async fn b36_dead_waiter_at_the_head() {
    for (dead, more) in [(1, timing::millis(0)), (20, timing::millis(200))] {
        let (server, register) = (RedisServer::start(), Register::start());
        let (raw, id) = (server.raw(), format!("b36-{dead}"));
        let setup = Setup::new(&server, &register).lease(timing::long_lease());
        let queue = wire::queue(&format!("boleto:{id}"));
        let queued = |count: u64| {
            timing::block_until("it is queued", timing::patience(), || {
                raw.run::<u64>(&["ZCARD", &queue]) == count
            })
        };
        let mut holders: Vec<_> = (0..4).map(|_| Holder::start(HOLDER, &setup)).collect();
        holders[0].call("holder", &id, Door::Queue, Body::UntilTold);
        let (_, token) = holders[0].entered("holder");
        for number in 1..=dead {
            holders[1].call(
                &format!("dead {number}"),
                &id,
                Door::Queue,
                Body::For(timing::short_body()),
            );
            queued(number);
        }
        for (index, number) in [(2, dead + 1), (3, dead + 2)] {
            holders[index].call("alive", &id, Door::Queue, Body::For(timing::short_body()));
            queued(number);
        }
        holders[1].process().kill();
        holders[0].finish("holder");
        let (second, third) = (holders[2].entered("alive").1, holders[3].entered("alive").1);
        for index in [2, 3] {
            assert_eq!(holders[index].returned("alive"), "");
        }

        let events = register.events();
        check::assert_exclusive(&events);
        let at = |what, token| {
            events
                .iter()
                .find(|event| event.what == what && event.token == token)
                .unwrap()
                .at
        };
        let waited = at(What::Entered, second) - at(What::Left, token);
        let bound = timing::ticket_life() + timing::grace() + more;
        assert!(
            waited <= bound,
            "behind {dead} dead: {waited:?}, allowed are {bound:?}"
        );
        assert!(second < third);
        drop(holders);
        tidy::end(&server, &id, timing::lease(), 0).await;
    }
}

/// A hundred waiters give up: no ticket stays, not even when the network loses every word of their leaving.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b38_timed_out_waiter_leaves_a_ticket() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (near, far, raw) = (
        server.manager(),
        server.manager_at(&proxy.address()),
        server.raw(),
    );
    let guard = near.lock("boleto:b38").acquire().await.unwrap();
    let give_up = async || {
        let mut waiters = JoinSet::new();
        for _ in 0..100 {
            let far = far.clone();
            waiters.spawn(async move {
                far.lock("boleto:b38")
                    .wait(timing::millis(400))
                    .acquire()
                    .await
                    .unwrap_err()
            });
        }
        for error in timing::soon("all give up", waiters.join_all()).await {
            assert_eq!(variant(&error), "WaitTimedOut", "{error}");
        }
    };
    give_up().await;
    timing::until("no ticket is left", timing::moment(), || {
        !raw.has(&wire::queue("boleto:b38"))
    })
    .await;

    let lost = proxy.swallow_requests(|request| Verb::of(request) == Some(Verb::Withdraw));
    give_up().await;
    let start = Instant::now();
    let newcomer = tokio::spawn({
        let near = near.clone();
        async move {
            near.lock("boleto:b38")
                .acquire()
                .await
                .unwrap()
                .release()
                .await
                .unwrap()
        }
    });
    loop {
        let waiting = near.snapshot("boleto:b38").await.unwrap().waiting;
        let mut alive = waiting.iter().filter(|ticket| ticket.alive_for.is_some());
        // the newcomer's is the only one that lives, and nothing dead stands before it
        if waiting.len() == 1 && alive.next().is_some() {
            break;
        }
        let bound = timing::ticket_life() * 2;
        assert!(
            start.elapsed() < bound,
            "not first after {bound:?}: {} tickets",
            waiting.len()
        );
        timing::pass(timing::tick()).await;
    }
    assert!(lost.is_sprung());
    proxy.heal();
    guard.release().await.unwrap();
    timing::soon("the newcomer is through", newcomer)
        .await
        .unwrap();
    tidy::end(&server, "boleto:b38", timing::lease(), 0).await;
}

/// Five processes with ten waiters each, in a known interleaving: they enter in the order in which the server received them.
#[tokio::test]
async fn b40_order_not_fifo() {
    let (server, register) = (RedisServer::start(), Register::start());
    let (raw, monitor) = (server.raw(), server.monitor());
    let start = monitor.mark();
    let setup = Setup::new(&server, &register);
    let queue = wire::queue("boleto:b40");
    let mut holders: Vec<_> = (0..5).map(|_| Holder::start(HOLDER, &setup)).collect();
    let guard = server.manager().lock("boleto:b40").acquire().await.unwrap();
    for waiter in 0..50 {
        // not round robin: the processes take turns of different lengths
        holders[waiter * waiter % 5].call(
            &waiter.to_string(),
            "b40",
            Door::Queue,
            Body::For(timing::short_body()),
        );
        timing::block_until("it is queued", timing::patience(), || {
            raw.run::<usize>(&["ZCARD", &queue]) == waiter + 1
        });
    }
    let numbers: Vec<(String, f64)> = raw.run(&["ZRANGE", &queue, "0", "-1", "WITHSCORES"]);
    guard.release().await.unwrap();
    let owners: Vec<_> = (0..50)
        .map(|waiter: usize| holders[waiter * waiter % 5].entered(&waiter.to_string()).0)
        .collect();
    for holder in holders {
        holder.quit();
    }

    let events = register.events();
    check::assert_exclusive(&events);
    let entered: Vec<_> = history::entries(&events, "boleto:b40")
        .iter()
        .map(|event| event.body.clone())
        .collect();
    assert_eq!(
        entered, owners,
        "the order of entry is the order of the calls"
    );
    let tickets: Vec<_> = numbers
        .iter()
        .map(|(member, _)| member[member.len() - 32..].to_owned())
        .collect();
    assert_eq!(
        entered, tickets,
        "the order of entry is the order of the ticket numbers"
    );
    let arrivals = wire::arrivals(&monitor.since(start));
    check::assert_none(
        "entered out of turn",
        &check::out_of_turn(&arrivals, &events),
    );
    tidy::end(&server, "boleto:b40", timing::lease(), 0).await;
}

/// Every announcement of a hand-over is lost: fifty waiters of two processes enter in order all the same, each within one
/// heartbeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b46_missed_release_message() {
    let server = RedisServer::start();
    let proxy = Proxy::before(&server.address());
    let (near, raw) = (server.manager(), server.raw());
    let managers = [
        server.manager_at(&proxy.address()),
        server.manager_at(&proxy.address()),
    ];
    let monitor = server.monitor();
    proxy.drop_messages();
    let guard = near.lock("boleto:b46").acquire().await.unwrap();
    let spans = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = JoinSet::new();
    for waiter in 0..50_usize {
        // turn by turn, so that every hand-over goes from one process to the other
        let (manager, spans) = (managers[waiter % 2].clone(), Arc::clone(&spans));
        waiters.spawn(async move {
            let body = async {
                let entered = Instant::now();
                timing::pass(timing::millis(10)).await;
                spans
                    .lock()
                    .unwrap()
                    .push((waiter, entered, Instant::now()));
            };
            manager.lock("boleto:b46").run(body).await.unwrap();
        });
        let queue = wire::queue("boleto:b46");
        timing::until("it is queued", timing::patience(), || {
            raw.run::<usize>(&["ZCARD", &queue]) == waiter + 1
        })
        .await;
    }
    let start = monitor.mark();
    guard.release().await.unwrap();
    timing::soon("all are through", waiters.join_all()).await;
    assert!(
        monitor
            .since(start)
            .iter()
            .any(|seen| seen.name() == "publish"),
        "nothing was announced, so nothing was lost"
    );
    let spans = spans.lock().unwrap().clone();
    assert_eq!(
        spans.iter().map(|(waiter, ..)| *waiter).collect::<Vec<_>>(),
        (0..50).collect::<Vec<_>>()
    );
    for pair in spans.windows(2) {
        let gap = pair[1].1 - pair[0].2;
        assert!(
            gap <= timing::heartbeat() + timing::moment() / 2,
            "waiter {} entered after {gap:?}",
            pair[1].0
        );
    }
    tidy::end(&server, "boleto:b46", timing::lease(), 0).await;
}
