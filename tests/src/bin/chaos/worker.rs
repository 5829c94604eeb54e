//! A worker: a process whose tasks call annotated functions over and over, and write down what happens.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use lockruntime::{Hold, LockError, LockManager, distributed_lock};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use tests::chaos::journal::{Journal, Share, What, Wish};
use tests::chaos::{key, nanos, now};
use tests::register::Witness;
use tests::timing;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How a worker is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) register: String,
    pub(crate) journal: PathBuf,
    /// `<worker>.<life>`
    pub(crate) process: String,
    pub(crate) seed: u64,
    pub(crate) tasks: u64,
    pub(crate) locked: bool,
}

const KEYS: u64 = 3;
/// A key of readers and writers.
const READ: u64 = KEYS + 1;
/// A key of so many permits.
const COUNTED: u64 = KEYS + 2;
const PERMITS: u32 = 2;

/// A poll that takes longer than this is written down.
const LONG_POLL: u64 = 2_000_000;

pub(crate) fn main(setup: &str) {
    let setup: Setup =
        serde_json::from_str(setup).expect("the setup is JSON, as the driver writes it");
    // the panics of bodies are meant
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        if !text.contains(MEANT) {
            crate::complain(&text);
        }
    }));
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        // the end of standard input is the end of the run
        let mut line = String::new();
        drop(std::io::stdin().lock().read_line(&mut line));
        stop.send_replace(true);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(work(setup, stopped));
    runtime.shutdown_background();
}

async fn work(setup: Setup, stopped: watch::Receiver<bool>) {
    let manager = LockManager::builder()
        .url(&setup.url)
        .heartbeat(timing::heartbeat())
        .grace(timing::grace())
        .build()
        .expect("the URL is the kit's");
    manager
        .clone()
        .install()
        .expect("it is the first of this process");
    let house = Arc::new(House {
        journal: Journal::open(&setup.journal),
        witness: Witness::connect(&setup.register).await,
        process: setup.process.clone(),
        locked: setup.locked,
        shares: manager.capabilities().shares,
        count: AtomicU64::new(0),
    });
    watch_for_stalls(&setup.journal);
    let mut tasks = JoinSet::new();
    for task in 0..setup.tasks {
        let (house, stopped) = (Arc::clone(&house), stopped.clone());
        let mut random = StdRng::seed_from_u64(setup.seed.wrapping_add(task));
        tasks.spawn(async move {
            while !*stopped.borrow() {
                let think = random.random_range(0..60);
                timing::pass(timing::millis(think)).await;
                house.call(&mut random).await;
            }
        });
    }
    tasks.join_all().await;
    manager.shutdown(timing::patience()).await;
}

/// Writes down when this process hardly ran: a pause that is nobody's fault explains what follows from it.
fn watch_for_stalls(journal: &Path) {
    let journal = Journal::open(journal);
    std::thread::spawn(move || {
        let mut last = now();
        loop {
            timing::block(Duration::from_millis(10));
            let this = now();
            if this - last > 60_000_000 {
                journal.note_at(this, "-", What::Stall { from: last });
            }
            last = this;
        }
    });
}

/// What all calls of this process share.
struct House {
    journal: Journal,
    witness: Witness,
    process: String,
    locked: bool,
    /// The storage lets several hold a lock.
    shares: bool,
    count: AtomicU64,
}

/// What a body does between its read and its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    Early,
    Panic,
    Cancel,
    Blocking,
}

const MEANT: &str = "this panic is part of the run";

/// What a body returns when it leaves early, or why it never began.
#[derive(Debug)]
enum Trouble {
    Early,
    Lock(LockError),
}

impl From<LockError> for Trouble {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

/// One call and what it needs.
struct Call {
    house: Arc<House>,
    name: String,
    key: u64,
    share: Share,
    lease: Duration,
    length: Duration,
    way: Way,
}

#[distributed_lock(key = "chaos:<key>", lease = lease, mode = "queue")]
async fn in_turn(key: u64, lease: Duration, call: Call) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

#[distributed_lock(key = "chaos:<key>", lease = lease, mode = "queue", wait = wait)]
async fn in_turn_soon(
    key: u64,
    lease: Duration,
    wait: Duration,
    call: Call,
) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

#[distributed_lock(key = "chaos:<key>", lease = lease, mode = "reject")]
async fn or_not_at_all(key: u64, lease: Duration, call: Call) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

#[distributed_lock(key = "chaos:<key>", lease = lease, access = "read")]
async fn as_reader(key: u64, lease: Duration, call: Call) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

#[distributed_lock(key = "chaos:<key>", lease = lease, access = "write")]
async fn as_writer(key: u64, lease: Duration, call: Call) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

#[distributed_lock(key = "chaos:<key>", lease = lease, permits = PERMITS)]
async fn by_permit(key: u64, lease: Duration, call: Call) -> Result<(), Trouble> {
    call.body(lockruntime::current()).await
}

/// What a call takes.
fn aim(random: &mut StdRng, shares: bool) -> (u64, Share) {
    match random.random_range(0..10) {
        0..2 if shares => (READ, Share::Readers),
        2 if shares => (READ, Share::Alone),
        3..5 if shares => (COUNTED, Share::Permits(PERMITS as usize)),
        _ => (random.random_range(1..=KEYS), Share::Alone),
    }
}

impl House {
    async fn call(self: &Arc<Self>, random: &mut StdRng) {
        let lease = random.random_range(600..=2_000);
        let length = match random.random_range(0..100) {
            0..80 => random.random_range(0..25),
            80..93 => lease * random.random_range(10..70) / 100,
            _ => lease * random.random_range(100..200) / 100,
        };
        let way = match random.random_range(0..100) {
            0..50 => Way::Plain,
            50..57 => Way::Early,
            57..63 => Way::Panic,
            63..88 => Way::Cancel,
            _ => Way::Blocking,
        };
        let door = random.random_range(0..10);
        let patience = timing::millis(random.random_range(0..500));
        let name = format!("c{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (aim, share) = aim(random, self.shares);
        let call = Call {
            house: Arc::clone(self),
            name: name.clone(),
            key: aim,
            share,
            lease: timing::millis(lease),
            length: timing::millis(length),
            way,
        };
        self.journal.note(
            &name,
            What::Want(Wish {
                key: key(call.key),
                queues: door < 8 || aim > KEYS,
                share,
                lease: u64::try_from(call.lease.as_millis()).unwrap_or(u64::MAX),
                body: format!("{way:?}").to_lowercase(),
            }),
        );
        let locked = self.locked;
        let mut running = tokio::spawn(async move {
            let (key, lease) = (call.key, call.lease);
            match door {
                _ if !locked => call.body(None).await,
                _ if share == Share::Readers => as_reader(key, lease, call).await,
                _ if key == READ => as_writer(key, lease, call).await,
                _ if key == COUNTED => by_permit(key, lease, call).await,
                0..5 => in_turn(key, lease, call).await,
                5..8 => in_turn_soon(key, lease, timing::millis(1_500), call).await,
                _ => or_not_at_all(key, lease, call).await,
            }
        });
        let in_time = if way == Way::Cancel {
            tokio::time::timeout(patience, &mut running).await.ok()
        } else {
            None
        };
        let joined = match in_time {
            Some(joined) => joined,
            None => {
                if way == Way::Cancel {
                    running.abort();
                }
                running.await
            }
        };
        let how = match joined {
            Ok(Ok(())) => "ok".to_owned(),
            Ok(Err(Trouble::Early)) => "early".to_owned(),
            Ok(Err(Trouble::Lock(error))) => name_of(&error),
            Err(error) if error.is_cancelled() => "cancelled".to_owned(),
            Err(_) => "panicked".to_owned(),
        };
        self.journal.note(&name, What::Left { how });
    }
}

/// The variant's name.
fn name_of(error: &LockError) -> String {
    format!("{error:?}")
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}

impl Call {
    async fn body(self, hold: Option<Hold>) -> Result<(), Trouble> {
        let (token, owner) = hold.as_ref().map_or_else(
            || (0, format!("{:032x}", rand::random::<u128>())),
            |hold| (hold.fencing_token().get(), hold.owner_token().to_string()),
        );
        let (house, name) = (Arc::clone(&self.house), self.name.clone());
        Watched {
            body: Box::pin(self.inner(token)),
            house,
            name,
            deadline: hold
                .as_ref()
                .map_or(u64::MAX, |hold| now() + nanos(hold.remaining())),
            hold,
            begin: Some((token, owner)),
            ended: false,
        }
        .await
    }

    async fn inner(self, token: u64) -> Result<(), Trouble> {
        let (witness, key) = (self.house.witness.clone(), key(self.key));
        let id = format!("{}/{}", self.house.process, self.name);
        // the store takes one holder's token at a time
        let stores = self.share == Share::Alone;
        let value = if stores {
            match witness.open(&key, token, &id).await {
                Some(value) => value,
                None => return Ok(()),
            }
        } else {
            0
        };
        let until = now() + nanos(self.length);
        let stay = async {
            while now() < until {
                timing::pass(
                    Duration::from_nanos(until.saturating_sub(now())).min(timing::tick() * 2),
                )
                .await;
            }
        };
        match self.way {
            Way::Plain | Way::Cancel => stay.await,
            Way::Early => {
                stay.await;
                return Err(Trouble::Early);
            }
            Way::Panic => {
                stay.await;
                panic!("{MEANT}");
            }
            Way::Blocking => {
                let (runtime, length) = (tokio::runtime::Handle::current(), self.length);
                let blocked = tokio::task::spawn_blocking(move || {
                    timing::block(length);
                    // nothing stops this when the lock is lost: the store has to refuse it
                    if stores {
                        runtime.block_on(witness.put(&key, token, &id, value + 1));
                    }
                });
                stay.await;
                blocked.await.expect("the thread doesn't panic");
                return Ok(());
            }
        }
        if stores {
            witness.put(&key, token, &id, value + 1).await;
        }
        Ok(())
    }
}

/// A body whose polls are written down.
struct Watched<F> {
    body: Pin<Box<F>>,
    house: Arc<House>,
    name: String,
    hold: Option<Hold>,
    /// The latest deadline that was seen.
    deadline: u64,
    /// What the first poll has to write.
    begin: Option<(u64, String)>,
    ended: bool,
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let from = now();
        let left = self
            .hold
            .as_ref()
            .map_or(u64::MAX / 2, |hold| nanos(hold.remaining()));
        // a lock that is known to be lost has nothing left, whatever its deadline was
        let late = if left == 0 {
            from.saturating_sub(self.deadline).div_ceil(1_000)
        } else {
            0
        };
        if left > 0 {
            self.deadline = from + left;
        }
        if let Some((token, owner)) = self.begin.take() {
            self.house
                .journal
                .note_at(from, &self.name, What::Begin { token, owner });
        }
        self.house
            .journal
            .note_at(from, &self.name, What::Poll { late });
        let polled = self.body.as_mut().poll(context);
        let to = now();
        if polled.is_ready() {
            self.ended = true;
            self.house.journal.note_at(to, &self.name, What::End);
        } else if to - from > LONG_POLL {
            self.house
                .journal
                .note_at(to, &self.name, What::Long { from });
        }
        polled
    }
}

impl<F> Drop for Watched<F> {
    fn drop(&mut self) {
        if !self.ended {
            self.house.journal.note(&self.name, What::Cut);
        }
    }
}
