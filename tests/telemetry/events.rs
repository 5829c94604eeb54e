//! The hook, event by event.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockruntime::{Event, LockManager, LockManagerBuilder, OnLost};
use tests::{RedisServer, logs, timing, wire};

/// The names of a manager's events, in order, with what matters of some of them.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn listen(&self, builder: LockManagerBuilder) -> LockManager {
        let list = Arc::clone(&self.0);
        let locks = builder.on_event(move |event| list.lock().unwrap().push(word(event)));
        locks.build().unwrap()
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn soon(&self, word: &str) {
        timing::until(word, timing::patience(), || {
            self.all().iter().any(|told| told == word)
        })
        .await;
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the names of the others are enough"
)]
fn word(event: &Event<'_>) -> String {
    match event {
        Event::Waiting { rank, joined, .. } => format!("Waiting {rank} {joined}"),
        Event::Released { dropped, .. } => format!("Released {dropped}"),
        Event::Lost { runs_on, .. } => format!("Lost {runs_on}"),
        Event::Backend { up, .. } => format!("Backend {up}"),
        // the variant's name
        _ => format!("{event:?}")
            .split([' ', '{'])
            .next()
            .unwrap()
            .to_owned(),
    }
}

fn memory() -> LockManagerBuilder {
    logs::listen();
    LockManager::builder()
        .url("memory://")
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
}

#[tokio::test]
async fn a_call_is_told_from_its_grant_to_its_release() {
    let told = Told::default();
    let locks = told.listen(memory());
    locks
        .lock("a")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    assert_eq!(told.all(), ["Acquired", "Released false"]);
    drop(locks.lock("a").acquire().await.unwrap());
    told.soon("Released true").await;
}

#[tokio::test]
async fn contention_is_told() {
    let told = Told::default();
    let locks = told.listen(memory());
    let guard = locks.lock("a").acquire().await.unwrap();
    locks.lock("a").try_acquire().await.unwrap_err();
    locks
        .lock("a")
        .wait(timing::millis(30))
        .acquire()
        .await
        .unwrap_err();
    told.soon("Withdrawn").await;
    // the caller and the keeper, which withdraws, tell of the end each at its own time
    let mut all = told.all();
    all[3..].sort();
    let words = [
        "Acquired",
        "Busy",
        "Waiting 0 true",
        "WaitTimedOut",
        "Withdrawn",
    ];
    assert_eq!(all, words);
    // two wait: the second is told of its place, and of the better one
    let (one, two) = (locks.lock("a").acquire(), locks.lock("a").acquire());
    let release = async {
        told.soon("Waiting 1 true").await;
        guard.release().await.unwrap();
    };
    let one = async { one.await.unwrap().release().await.unwrap() };
    let two = async { two.await.unwrap().release().await.unwrap() };
    timing::soon("both enter", async { tokio::join!(one, two, release) }).await;
    // a waiter whose call goes away is withdrawn
    let guard = locks.lock("b").acquire().await.unwrap();
    let withdrawn = |told: &Told| {
        told.all()
            .iter()
            .filter(|word| *word == "Withdrawn")
            .count()
    };
    let before = withdrawn(&told);
    let gone = tokio::time::timeout(timing::millis(30), locks.lock("b").acquire()).await;
    gone.unwrap_err();
    timing::until("it is withdrawn", timing::patience(), || {
        withdrawn(&told) > before
    })
    .await;
    guard.release().await.unwrap();
}

#[tokio::test]
async fn losses_caps_and_outages_are_told() {
    let told = Told::default();
    let mut server = RedisServer::start();
    let locks = told.listen(server.manager_builder());
    let raw = server.raw();
    for (on_lost, word) in [
        (OnLost::Cancel, "Lost false"),
        (OnLost::Continue, "Lost true"),
    ] {
        let call = locks.lock("told:lost").on_lost(on_lost).run(async {
            raw.run::<()>(&["DEL", &wire::record("told:lost")]);
            told.soon(word).await;
        });
        assert_eq!(
            timing::soon("it ends", call).await.is_err(),
            on_lost == OnLost::Cancel
        );
    }
    let lines = logs::warnings_about(&["told:lost"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("its body is stopped"), "{lines:?}");
    assert!(
        lines[1].contains("runs on") && !lines[1].contains("stopped"),
        "{lines:?}"
    );

    let cap = timing::millis(20);
    locks
        .lock("a")
        .max_hold(cap)
        .run(std::future::pending::<()>())
        .await
        .unwrap_err();
    assert!(
        told.all().contains(&"CapReached".to_owned()),
        "{:?}",
        told.all()
    );

    let guard = locks.lock("a").acquire().await.unwrap();
    told.soon("Renewed").await;
    server.kill();
    told.soon("RenewalFailed").await;
    told.soon("Backend false").await;
    drop(guard);
    told.soon("ReleaseFailed").await;
    server.restart();
    timing::until("it is told to be back", timing::patience(), || {
        told.all()
            .iter()
            .filter(|word| *word == "Backend true")
            .count()
            == 2
    })
    .await;
}

#[tokio::test]
async fn what_is_stuck_is_told_once() {
    let told = Told::default();
    let after = timing::millis(40);
    let locks = told.listen(memory().warn_after(after).warn_queue(1));
    let guard = locks.lock("told:stuck").acquire().await.unwrap();
    let (one, two) = (
        locks.lock("told:stuck").acquire(),
        locks.lock("told:stuck").acquire(),
    );
    let look = async {
        for word in ["StuckHold", "StuckWait", "LongQueue"] {
            told.soon(word).await;
        }
        // time for more of it
        timing::pass(after * 3).await;
        guard.release().await.unwrap();
    };
    let one = async { one.await.unwrap().release().await.unwrap() };
    let two = async { two.await.unwrap().release().await.unwrap() };
    timing::soon("all are through", async { tokio::join!(one, two, look) }).await;
    let count = |word: &str| told.all().iter().filter(|told| *told == word).count();
    assert_eq!(
        (count("StuckHold"), count("StuckWait"), count("LongQueue")),
        (1, 2, 1),
        "{:?}",
        told.all()
    );
    assert_eq!(logs::warnings_about(&["told:stuck"]).len(), 4);
}

/// Whatever a hook does, in a caller's task or in the keeper's thread, the lock works on.
#[tokio::test]
async fn a_hook_that_panics_harms_no_lock() {
    let server = RedisServer::start();
    let locks = server
        .manager_builder()
        .on_event(|_| panic!("the hook's own affair"))
        .build()
        .unwrap();
    let guard = locks.lock("a").acquire().await.unwrap();
    // two renewals at least
    timing::pass(timing::lease()).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    locks.lock("a").run(async {}).await.unwrap();
    locks.shutdown(Duration::from_secs(1)).await;
    assert_eq!(logs::panics(), Vec::<String>::new());
}
