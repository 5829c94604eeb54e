//! A process that takes locks when told to, and can be killed. One order a line on standard input, one report a line on
//! standard output, both JSON; see `tests::process`.

use std::collections::HashMap;
use std::future::pending;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use lockruntime::{LockError, LockManager, distributed_lock};
use rand::RngExt;
use tests::history::What;
use tests::process::{Body, Call, Door, Order, Report, Schedule, Setup};
use tests::register::Witness;
use tests::timing;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

#[tokio::main]
async fn main() {
    let setup = std::env::args()
        .nth(1)
        .expect("the first argument is the setup, as tests::process::Holder writes it");
    let setup: Setup = serde_json::from_str(&setup)
        .expect("the setup is JSON, as tests::process::Holder writes it");
    let manager = LockManager::builder()
        .url(&setup.url)
        .lease(setup.lease)
        .heartbeat(setup.heartbeat)
        .grace(setup.grace)
        .build()
        .expect("the URL is the kit's");
    manager.install().expect("it is the first of this process");
    let house = Arc::new(House {
        witness: Witness::connect(&setup.register).await,
        manager,
    });
    let mut running: HashMap<String, Running> = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    report(&Report::Ready);
    // the end of standard input is the end of the tests
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line).expect("an order, as tests::process::Holder writes it") {
            Order::Call(call) => {
                let (finish, told) = watch::channel(false);
                let name = call.name.clone();
                let house = Arc::clone(&house);
                let task = tokio::spawn(async move {
                    let error = house
                        .run(&call, told)
                        .await
                        .err()
                        .map(describe)
                        .unwrap_or_default();
                    report(&Report::Returned {
                        name: call.name,
                        error,
                    });
                });
                running.insert(
                    name,
                    Running {
                        finish,
                        abort: task.abort_handle(),
                    },
                );
            }
            Order::Finish(name) => drop(
                running
                    .get(&name)
                    .expect("the call was started")
                    .finish
                    .send_replace(true),
            ),
            Order::Cancel(name) => running
                .remove(&name)
                .expect("the call was started")
                .abort
                .abort(),
            Order::Pay {
                tasks,
                payments,
                boletos,
                door,
            } => {
                let errors = house.pay_all(tasks, payments, boletos, door).await;
                report(&Report::Paid { errors });
            }
            Order::Schedule(schedule) => {
                let ran = follow(&schedule, &house.witness).await;
                report(&Report::Ticked { ran });
            }
            Order::Quit => {
                house.manager.shutdown(timing::patience()).await;
                return;
            }
        }
    }
}

/// What all calls of this process share.
struct House {
    witness: Witness,
    manager: LockManager,
}

/// A call that was started.
struct Running {
    finish: watch::Sender<bool>,
    abort: AbortHandle,
}

/// What a body needs.
struct Work<'a> {
    call: &'a Call,
    witness: &'a Witness,
    told: watch::Receiver<bool>,
}

impl House {
    async fn run(&self, call: &Call, told: watch::Receiver<bool>) -> Result<(), LockError> {
        let work = Work {
            call,
            witness: &self.witness,
            told,
        };
        match call.door {
            Door::Queue => in_turn(&call.id, work).await,
            Door::Reject => or_not_at_all(&call.id, work).await,
            Door::Guard => {
                let guard = self.manager.lock(&key(&call.id)).acquire().await?;
                work.under(
                    &guard.owner_token().to_string(),
                    guard.fencing_token().get(),
                )
                .await;
                guard.release().await
            }
            Door::AtLeast(least) => {
                let key = key(&call.id);
                let request = self.manager.lock(&key).min_hold(least);
                request.run(work.under_current()).await
            }
            Door::Permits(permits) => by_permit(&call.id, permits, work).await,
            Door::Read => as_reader(&call.id, work).await,
            Door::Write => as_writer(&call.id, work).await,
            Door::Unlocked => {
                let body: u128 = rand::rng().random();
                work.under(&format!("{body:032x}"), 0).await;
                Ok(())
            }
        }
    }

    async fn pay_all(
        self: &Arc<Self>,
        tasks: u64,
        payments: u64,
        boletos: u64,
        door: Door,
    ) -> Vec<String> {
        let mut running = JoinSet::new();
        for task in 0..tasks {
            let house = Arc::clone(self);
            running.spawn(async move {
                let mut errors = Vec::new();
                for payment in 0..payments {
                    let id = ((task * 7 + payment) % boletos).to_string();
                    let call = Call {
                        name: String::new(),
                        id,
                        door,
                        body: Body::Payment,
                    };
                    errors.extend(
                        house
                            .run(&call, watch::channel(false).1)
                            .await
                            .err()
                            .map(describe),
                    );
                }
                errors
            });
        }
        running.join_all().await.into_iter().flatten().collect()
    }
}

/// Starts the job at each tick of a clock that is `ahead`. The ticks at which it ran.
async fn follow(schedule: &Schedule, witness: &Witness) -> Vec<u32> {
    let mut ran = Vec::new();
    for tick in 0..schedule.ticks {
        let due = schedule.first + schedule.every * tick;
        let clock = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970") + schedule.ahead;
        timing::pass(due.saturating_sub(clock)).await;
        ran.extend(job(&schedule.id, schedule.least, tick, witness).await);
    }
    ran
}

/// What a scheduler calls: not run where another process runs it already, or did a moment ago.
#[distributed_lock(key = "boleto:<id>", mode = "skip", min_hold = least)]
async fn job(id: &str, least: Duration, tick: u32, witness: &Witness) -> Option<u32> {
    let hold = lockruntime::current().expect("the body of a locked function has a hold");
    let (owner, token) = (hold.owner_token().to_string(), hold.fencing_token().get());
    witness.note(What::Entered, &key(id), &owner, token).await;
    witness.note(What::Left, &key(id), &owner, token).await;
    Some(tick)
}

#[distributed_lock(key = "boleto:<id>", mode = "queue")]
async fn in_turn(id: &str, work: Work<'_>) -> Result<(), LockError> {
    work.under_current().await;
    Ok(())
}

#[distributed_lock(key = "boleto:<id>", mode = "reject")]
async fn or_not_at_all(id: &str, work: Work<'_>) -> Result<(), LockError> {
    work.under_current().await;
    Ok(())
}

#[distributed_lock(key = "boleto:<id>", permits = permits)]
async fn by_permit(id: &str, permits: u32, work: Work<'_>) -> Result<(), LockError> {
    work.under_current().await;
    Ok(())
}

#[distributed_lock(key = "boleto:<id>", access = "read")]
async fn as_reader(id: &str, work: Work<'_>) -> Result<(), LockError> {
    work.under_current().await;
    Ok(())
}

#[distributed_lock(key = "boleto:<id>", access = "write")]
async fn as_writer(id: &str, work: Work<'_>) -> Result<(), LockError> {
    work.under_current().await;
    Ok(())
}

impl Work<'_> {
    async fn under_current(self) {
        let hold = lockruntime::current().expect("the body of a locked function has a hold");
        self.under(&hold.owner_token().to_string(), hold.fencing_token().get())
            .await;
    }

    /// The body proper. What it writes down goes to the register, which is never disturbed.
    async fn under(mut self, owner: &str, token: u64) {
        let Self {
            call,
            witness,
            told,
        } = &mut self;
        let key = key(&call.id);
        witness.note(What::Entered, &key, owner, token).await;
        if !call.name.is_empty() {
            report(&Report::Entered {
                name: call.name.clone(),
                owner: owner.to_owned(),
                token,
            });
        }
        match call.body {
            Body::For(time) => timing::pass(time).await,
            Body::UntilTold => {
                while !*told.borrow() {
                    timing::pass(timing::tick()).await;
                    witness.note(What::Ticked, &key, owner, token).await;
                }
            }
            Body::Quiet(time) => {
                let due = Instant::now() + time;
                // reported in the poll that has looked at the clock: nothing of the body is left to run in it
                let stands = async {
                    report(&Report::Waits {
                        name: call.name.clone(),
                    });
                    pending::<()>().await;
                };
                tokio::select! {
                    biased;
                    () = timing::past(due) => {}
                    () = stands => {}
                }
                // written here and now: a request to the register would be dropped with the body
                report(&Report::WentOn {
                    name: call.name.clone(),
                });
            }
            Body::Payment => {
                let balance = witness.balance(&key).await;
                let micros = rand::rng().random_range(1_000..=5_000);
                timing::pass(timing::micros(micros)).await;
                witness.set_balance(&key, balance + 1).await;
            }
        }
        witness.note(What::Left, &key, owner, token).await;
    }
}

fn key(id: &str) -> String {
    format!("boleto:{id}")
}

/// The variant's name, a colon, the text.
fn describe(error: LockError) -> String {
    let debug = format!("{error:?}");
    let name: String = debug
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    format!("{name}: {error}")
}

fn report(report: &Report) {
    let mut line = serde_json::to_string(report).expect("plain data");
    line.push('\n');
    // one write a line: several tasks report
    std::io::stdout()
        .write_all(line.as_bytes())
        .expect("the tests read the reports");
}
