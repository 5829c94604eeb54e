//! Callers that take and give back locks all the time, and holders that keep theirs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lockruntime::{FencingToken, LockError, LockGuard, LockManager};
use tests::topology::Topology;
use tests::{logs, timing};
use tokio::task::JoinSet;

use super::{lease, more};

/// What a call came to: when it had its lock, or why it had none. When it returned says less, since it waits for its release.
type Ended = Result<Instant, LockError>;

/// Callers of some keys, until told to stop.
pub(crate) struct Load {
    calls: JoinSet<()>,
    stop: Arc<AtomicBool>,
    ended: Arc<Mutex<Vec<Ended>>>,
}

impl Load {
    /// For each key one caller who waits and one who doesn't.
    pub(crate) fn start(locks: &LockManager, keys: &[String]) -> Self {
        let mut load = Self {
            calls: JoinSet::new(),
            stop: Arc::default(),
            ended: Arc::default(),
        };
        for key in keys {
            let inside = Arc::new(AtomicBool::new(false));
            let last = Arc::new(Mutex::new(None));
            for waits in [true, false] {
                let (locks, key) = (locks.clone(), key.clone());
                let (stop, ended) = (Arc::clone(&load.stop), Arc::clone(&load.ended));
                let (inside, last) = (Arc::clone(&inside), Arc::clone(&last));
                load.calls.spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let body = async {
                            let at = Instant::now();
                            assert!(!inside.swap(true, Ordering::SeqCst), "{key}: two at once");
                            let token = lockruntime::current().unwrap().fencing_token();
                            let before = last.lock().unwrap().replace(token);
                            assert!(before < Some(token), "{key}: {token} after {before:?}");
                            timing::pass(timing::short_body()).await;
                            inside.store(false, Ordering::SeqCst);
                            at
                        };
                        let request = locks.lock(&key);
                        let request = if waits {
                            request
                        } else {
                            request.wait(Duration::ZERO)
                        };
                        let outcome = timing::soon("the call ends", request.run(body)).await;
                        ended.lock().unwrap().push(outcome);
                        timing::pass(timing::short_body()).await;
                    }
                });
            }
        }
        load
    }

    /// How many had their lock so far.
    pub(crate) fn successes(&self) -> usize {
        let ended = self.ended.lock().unwrap();
        ended.iter().filter(|ended| ended.is_ok()).count()
    }

    /// Stops, and returns the longest time in which nobody had a lock.
    pub(crate) async fn stop(mut self, what: &str) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(call) = timing::soon("all calls end", self.calls.join_next()).await {
            call.unwrap();
        }
        let ended = std::mem::take(&mut *self.ended.lock().unwrap());
        let mut errors: BTreeMap<String, usize> = BTreeMap::new();
        let mut times = Vec::new();
        for outcome in ended {
            match outcome {
                Ok(at) => times.push(at),
                Err(error) => {
                    let name: String = format!("{error:?}")
                        .chars()
                        .take_while(char::is_ascii_alphanumeric)
                        .collect();
                    assert!(
                        ["WaitTimedOut", "Backend", "Lost", "NotReplicated"].contains(&&*name),
                        "{error:?}"
                    );
                    *errors.entry(name).or_default() += 1;
                }
            }
        }
        times.sort_unstable();
        let gaps = times.iter().zip(times.iter().skip(1));
        let longest = gaps
            .map(|(one, next)| *next - *one)
            .max()
            .unwrap_or_default();
        say(&format!(
            "{what}: {} calls had their lock; errors {errors:?}; longest gap {longest:?}",
            times.len()
        ));
        longest
    }
}

#[expect(clippy::print_stderr, reason = "figures for people")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Holds of keys, and their tokens.
pub(crate) struct Holds(Vec<(LockGuard, FencingToken)>);

impl Holds {
    pub(crate) async fn take(locks: &LockManager, keys: impl Iterator<Item = String>) -> Self {
        let mut holds = Vec::new();
        for key in keys {
            let guard = locks.lock(&key).lease(lease()).acquire().await.unwrap();
            let token = guard.fencing_token();
            holds.push((guard, token));
        }
        Self(holds)
    }

    /// All are held, under the tokens they had; and given back.
    pub(crate) async fn assert_kept(self, locks: &LockManager) {
        for (guard, token) in self.0 {
            assert!(guard.is_held(), "{token} is lost");
            let seen = locks.snapshot(guard.key().as_str()).await.unwrap();
            assert_eq!(seen.held.map(|held| held.token), Some(token));
            guard.release().await.unwrap();
        }
    }
}

/// Puts a master out of action by `fault` while its locks are in use: holds survive under their tokens, calls go on, and locks are
/// out of reach hardly longer than the servers are. `heal` brings it back, and nothing changes.
pub(crate) async fn survives<T: Topology + 'static>(
    what: &str,
    mut topology: T,
    fault: impl FnOnce(&mut T, usize),
    heal: impl FnOnce(&mut T, usize),
) -> T {
    let locks = topology.manager();
    let victim = topology.master_of("boleto:0");
    // locks of the one that goes
    let mut mine = (0..).map(|number| format!("boleto:{number}"));
    let mut mine = std::iter::from_fn(|| mine.find(|key| topology.master_of(key) == victim));
    let keys: Vec<_> = mine.by_ref().take(4).collect();
    let held: Vec<_> = mine.take(4).collect();
    let holds = Holds::take(&locks, held.into_iter()).await;
    let load = Load::start(&locks, &keys);
    timing::until("it works", timing::patience(), || load.successes() > 50).await;
    let others: Vec<_> = (0..topology.servers().len())
        .filter(|place| *place != victim)
        .collect();
    let start = Instant::now();
    fault(&mut topology, victim);
    let (topology, servers) = tokio::task::spawn_blocking({
        let key = keys.first().cloned().unwrap();
        move || {
            timing::block_until("another takes writes", timing::patience(), || {
                topology.takes_writes(&key, &others)
            });
            (topology, start.elapsed())
        }
    })
    .await
    .unwrap();
    let mut topology = topology;
    let after = load.successes();
    timing::until("it works again", timing::patience(), || {
        load.successes() > after + 50
    })
    .await;
    heal(&mut topology, victim);
    let healed = load.successes();
    timing::until("it goes on", timing::patience(), || {
        load.successes() > healed + 50
    })
    .await;
    timing::pass(timing::lease()).await;
    let gap = load.stop(what).await;
    say(&format!(
        "{what}: no lock for {gap:?}; no write for {servers:?} on the servers themselves"
    ));
    holds.assert_kept(&locks).await;
    assert!(gap <= servers + more(), "{gap:?} of {servers:?}");
    assert_eq!(logs::panics(), Vec::<String>::new());
    timing::soon("it shuts down", locks.shutdown(timing::patience())).await;
    topology
}
