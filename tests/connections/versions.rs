//! Rolling deploys: processes of this version and of a newer one on the same locks.
//!
//! The newer one is this one behind a network that writes a newer record: another version number, and fields that this
//! version doesn't know.

use std::sync::Arc;
use std::time::Instant;

use lockruntime::LockManager;
use tests::fault::Rewriter;
use tests::{RedisServer, tidy, timing, wire};

use super::contend;

/// What a newer version's record has in the place of a name, and after it.
const NEWER_FIELDS: &str = r#"pay","shard":{"zone":[1,2]},"note":""#;
const OLDER_VERSION: &str = r#""version":1}"#;
const NEWER_VERSION: &str = r#""version":7}"#;

/// A name of the same length, to be replaced.
fn name() -> String {
    "=".repeat(NEWER_FIELDS.len())
}

struct Scene {
    server: RedisServer,
    older: LockManager,
    newer: LockManager,
    _network: Rewriter,
}

impl Scene {
    fn start() -> Self {
        let server = RedisServer::start();
        let network = Rewriter::before(
            &server.address(),
            &[(&name(), NEWER_FIELDS), (OLDER_VERSION, NEWER_VERSION)],
        );
        Self {
            older: server.manager(),
            newer: server.manager_at(&network.address()),
            _network: network,
            server,
        }
    }

    fn record(&self, key: &str) -> Option<String> {
        self.server.raw().run(&["GET", &wire::record(key)])
    }

    async fn until_waiting(&self, key: &str, count: usize) {
        timing::soon("the tickets stand in the queue", async {
            while self.older.snapshot(key).await.unwrap().waiting.len() != count {
                timing::pass(timing::tick()).await;
            }
        })
        .await;
    }
}

/// It is busy for the older ones, shown to them with its version, renewed as it stands, and given on in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_holder_is_respected_and_shown() {
    let scene = Scene::start();
    let key = "boleto:newer-holder";
    let guard = scene
        .newer
        .lock(key)
        .name_of(&name())
        .acquire()
        .await
        .unwrap();
    let written = scene.record(key).unwrap();
    assert!(
        written.contains(NEWER_VERSION) && written.contains(r#""shard":{"zone":[1,2]}"#),
        "{written}"
    );
    let busy = scene.older.lock(key).try_acquire().await.unwrap_err();
    assert!(busy.is_busy(), "{busy}");
    let held = scene.older.snapshot(key).await.unwrap().held.unwrap();
    assert_eq!((held.version, held.token), (7, guard.fencing_token()));
    assert_eq!(held.holder.unwrap().name_of, "pay");
    let timed_out = scene
        .older
        .lock(key)
        .wait(timing::lease() * 3 / 2)
        .acquire()
        .await
        .unwrap_err();
    assert!(timed_out.is_busy(), "{timed_out}");
    assert_eq!(
        scene.record(key),
        Some(written),
        "it was renewed, and not touched"
    );
    let next = {
        let older = scene.older.clone();
        tokio::spawn(async move { older.lock(key).acquire().await })
    };
    scene.until_waiting(key, 1).await;
    guard.release().await.unwrap();
    let next = timing::soon("the older one enters", next)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        scene
            .newer
            .snapshot(key)
            .await
            .unwrap()
            .held
            .unwrap()
            .version,
        1
    );
    next.release().await.unwrap();
    tidy::end(&scene.server, key, timing::lease(), 0).await;
}

/// The older one hands over to a newer waiter with the newer one's own record, whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_waiter_is_given_its_own_record() {
    let scene = Scene::start();
    let key = "boleto:newer-waiter";
    let guard = scene.older.lock(key).acquire().await.unwrap();
    let newer = {
        let newer = scene.newer.clone();
        tokio::spawn(async move { newer.lock(key).name_of(&name()).acquire().await })
    };
    scene.until_waiting(key, 1).await;
    // an older one that gives up behind it leaves it where it stands
    let timed_out = scene
        .older
        .lock(key)
        .wait(timing::millis(50))
        .acquire()
        .await;
    assert!(timed_out.unwrap_err().is_busy());
    scene.until_waiting(key, 1).await;
    guard.release().await.unwrap();
    let newer = timing::soon("the newer one enters", newer)
        .await
        .unwrap()
        .unwrap();
    let written = scene.record(key).unwrap();
    assert!(
        written.contains(NEWER_VERSION) && written.contains(NEWER_FIELDS),
        "{written}"
    );
    newer.release().await.unwrap();
    tidy::end(&scene.server, key, timing::lease(), 0).await;
}

/// A newer holder that is gone for good keeps its lock for its lease, whatever the older ones do: they enter then, not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_record_is_never_deleted() {
    let scene = Scene::start();
    let key = "boleto:newer-dead";
    let guard = scene
        .newer
        .lock(key)
        .name_of(&name())
        .acquire()
        .await
        .unwrap();
    // copied under its key again, as a process leaves it that is killed: nobody renews this one
    let written = scene.record(key).unwrap();
    guard.release().await.unwrap();
    let lease = timing::lease();
    let monitor = scene.server.monitor();
    let mark = monitor.mark();
    let raw = scene.server.raw();
    let millis = lease.as_millis().to_string();
    raw.run::<()>(&["SET", &wire::record(key), &written, "PX", &millis]);
    let start = Instant::now();
    let entered = timing::soon("the lease ends", scene.older.lock(key).acquire()).await;
    assert!(
        start.elapsed() >= lease - timing::tick(),
        "{:?}",
        start.elapsed()
    );
    entered.unwrap().release().await.unwrap();
    let record = wire::record(key);
    let deleted: Vec<_> = monitor
        .since(mark)
        .into_iter()
        .filter(|command| command.name() == "del" && command.has(&record))
        .collect();
    assert_eq!(deleted.len(), 1, "only its own: {deleted:?}");
    tidy::end(&scene.server, key, timing::lease(), 0).await;
}

/// Both versions under load: one at a time, everybody gets in.
#[tokio::test(flavor = "multi_thread")]
async fn both_versions_contend() {
    let scene = Scene::start();
    let seen = {
        let raw = scene.server.raw();
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let record = wire::record("boleto:both");
        let watching = std::thread::spawn(move || {
            let mut versions = std::collections::HashSet::new();
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                if let Some(text) = raw.run::<Option<String>>(&["GET", &record]) {
                    let fields: serde_json::Value = serde_json::from_str(&text).unwrap();
                    versions.insert(fields["version"].as_u64());
                }
            }
            versions
        });
        contend([&scene.older, &scene.newer], "boleto:both").await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        watching.join().unwrap()
    };
    assert_eq!(seen.len(), 2, "both held it: {seen:?}");
    tidy::end(&scene.server, "boleto:both", timing::lease(), 0).await;
}
