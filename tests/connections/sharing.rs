//! Processes of an older version, which knows nothing of sharing, beside those that share a lock. The older one's scripts are kept
//! in `older/`.

use lockruntime::{LockManager, LockRequest, Sharing};
use redis::Value;
use tests::server::Raw;
use tests::{RedisServer, tidy, timing, wire};

const ASK: &str = concat!(
    include_str!("older/prelude.lua"),
    include_str!("older/ask.lua")
);
const RELEASE: &str = concat!(
    include_str!("older/prelude.lua"),
    include_str!("older/release.lua")
);

/// One ticket of the older version.
struct Older {
    raw: Raw,
    keys: [String; 4],
    ticket: String,
}

impl Older {
    fn new(server: &RedisServer, key: &str) -> Self {
        let queue = wire::queue(key);
        let (words, number) = (format!("{queue}:w"), format!("{queue}:n"));
        Self {
            raw: server.raw(),
            keys: [wire::record(key), queue, words, number],
            ticket: format!("{:032x}", rand::random::<u128>()),
        }
    }

    /// The first word of the answer.
    fn ask(&self, mode: &str) -> String {
        let last = (self.raw.time() + timing::patience())
            .as_millis()
            .to_string();
        let millis = |time: std::time::Duration| time.as_millis().to_string();
        let (lease, claim) = (millis(timing::lease()), millis(timing::grace()));
        let name = format!("older:1:2:{}", self.ticket);
        let beat = millis(timing::ticket_life());
        let rest = ",\"key\":\"older\",\"version\":1}";
        self.eval(
            ASK,
            &[
                &self.ticket,
                &name,
                &lease,
                &claim,
                &beat,
                mode,
                "",
                rest,
                &last,
            ],
        )
    }

    fn release(&self) -> String {
        self.eval(RELEASE, &[&self.ticket, ""])
    }

    fn eval(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = vec!["EVAL", script, "4"];
        command.extend(self.keys.iter().map(String::as_str));
        command.extend(arguments);
        let Value::Array(parts) = self.raw.run::<Value>(&command) else {
            panic!("a script answers a list")
        };
        let Value::BulkString(word) = &parts[0] else {
            panic!("{parts:?}")
        };
        String::from_utf8_lossy(word).into_owned()
    }
}

/// Readers and permits keep an older process out, and it gets its turn when the last of them is gone.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_process_is_kept_out_by_all_who_share() {
    let server = RedisServer::start();
    let manager = server.manager();
    for (key, share) in [
        (
            "boleto:older-readers",
            LockRequest::read as fn(LockRequest<'static>) -> _,
        ),
        ("boleto:older-permits", |request| request.permits(3)),
    ] {
        let manager: &'static LockManager = Box::leak(Box::new(manager.clone()));
        let one = share(manager.lock(key)).acquire().await.unwrap();
        let two = share(manager.lock(key)).acquire().await.unwrap();
        let older = Older::new(&server, key);
        assert_eq!(older.ask("reject"), "BUSY");
        assert_eq!(older.ask("queue"), "WAIT");
        assert_eq!(
            older.release(),
            "OTHER",
            "what it doesn't hold it doesn't free"
        );
        // it was here first
        let slips = share(manager.lock(key)).try_acquire().await;
        assert!(slips.unwrap_err().is_busy());
        timing::pass(timing::lease()).await;
        assert!(one.is_held() && two.is_held(), "renewed beside it");
        assert_eq!(older.ask("queue"), "WAIT");
        one.release().await.unwrap();
        assert_eq!(older.ask("queue"), "WAIT", "one still holds it");
        two.release().await.unwrap();
        assert_eq!(older.ask("queue"), "HELD");
        let refused = share(manager.lock(key)).try_acquire().await;
        assert!(refused.unwrap_err().is_busy());
        assert_eq!(older.release(), "FREE");
        tidy::end(&server, key, timing::lease(), 0).await;
    }
}

/// What an older process hands to a reader is held by that one alone, renewed and given back; then the readers share again.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_process_hands_over_to_a_reader() {
    let server = RedisServer::start();
    let (manager, key) = (server.manager(), "boleto:older-hands-over");
    let older = Older::new(&server, key);
    assert_eq!(older.ask("queue"), "HELD");
    let mut waiters = Vec::new();
    for rank in 1..=3 {
        let manager = manager.clone();
        waiters.push(tokio::spawn(async move {
            manager.lock(key).read().acquire().await
        }));
        timing::soon("the tickets stand in the queue", async {
            while server.manager().snapshot(key).await.unwrap().waiting.len() != rank {
                timing::pass(timing::tick()).await;
            }
        })
        .await;
    }
    assert_eq!(older.release(), "PASSED");
    let first = timing::soon("the first reader enters", waiters.remove(0)).await;
    let first = first.unwrap().unwrap();
    timing::pass(timing::lease() * 3 / 2).await;
    assert!(first.is_held(), "renewed");
    let picture = manager.snapshot(key).await.unwrap();
    assert_eq!(picture.held.unwrap().sharing, Sharing::Read);
    assert!(picture.beside.is_empty() && waiters.iter().all(|w| !w.is_finished()));
    first.release().await.unwrap();
    let mut readers = Vec::new();
    for waiter in waiters {
        let reader = timing::soon("both enter", waiter).await;
        readers.push(reader.unwrap().unwrap());
    }
    assert_eq!(older.ask("reject"), "BUSY");
    for reader in readers {
        assert!(reader.is_held());
        reader.release().await.unwrap();
    }
    tidy::end(&server, key, timing::lease(), 0).await;
}
