//! The examples as programs of their own, told to stop as a container is: with SIGTERM.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use examples::{Answer, Call};
use tests::server::Raw;
use tests::{Child, RedisServer, tidy, timing, wire};
use tokio::task::JoinSet;

const HOLDS: u64 = 50;
const WAITERS: u64 = 20;

/// How long a charge takes. All of them have to begin before the first one ends.
fn charge() -> Duration {
    timing::millis(2_500)
}

fn budget() -> Duration {
    timing::millis(5_000)
}

/// One of the examples, serving.
struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn start(program: &str, redis: &RedisServer, charge: Duration) -> Self {
        let mut command = Command::new(program);
        command
            .arg("127.0.0.1:0")
            .env("LOCK_URL", redis.url())
            .env("CHARGE_MS", charge.as_millis().to_string())
            .env("BUDGET_MS", budget().as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Child::start(command).expect("the example was built with the tests");
        let mut line = String::new();
        let output = child.pipes().stdout.as_mut().expect("it is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it says where it listens");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("it says {line:?}"));
        Self { child, address }
    }

    async fn pay(&self, boleto: u64) -> Call {
        Call::post(self.address, &format!("/boletos/{boleto}/pay"), "")
            .await
            .expect("it listens")
    }

    /// Fifty handlers hold their locks, and twenty wait for the first one's.
    async fn fill(&self, raw: &Raw) -> (Vec<Call>, Vec<Call>) {
        let mut holds = Vec::new();
        for boleto in 0..HOLDS {
            holds.push(self.pay(boleto).await);
        }
        timing::until("all of them hold", timing::patience(), || {
            (0..HOLDS).all(|boleto| raw.has(&record(boleto)))
        })
        .await;
        let mut waits = Vec::new();
        for _ in 0..WAITERS {
            waits.push(self.pay(0).await);
        }
        timing::until("all of them wait", timing::patience(), || {
            raw.run::<u64>(&["ZCARD", &wire::queue("boleto:0")]) == WAITERS
        })
        .await;
        (holds, waits)
    }

    /// Waits for its end, which must be an orderly one; what it complained about.
    fn end(&mut self) -> String {
        let status = self.child.wait();
        let mut said = String::new();
        let errors = self.child.pipes().stderr.as_mut().expect("it is piped");
        errors.read_to_string(&mut said).expect("it is text");
        assert!(status.success(), "it ended with {status}: {said}");
        said
    }
}

fn record(boleto: u64) -> String {
    wire::record(&format!("boleto:{boleto}"))
}

async fn answers(calls: Vec<Call>) -> Vec<Answer> {
    let mut answers = JoinSet::new();
    for call in calls {
        answers.spawn(async move { call.answer().await.expect("an answer") });
    }
    answers.join_all().await
}

/// Those who wait are refused at once, bodies end and are answered, keys and tickets are gone before the program is.
async fn stops_in_order(program: &str) {
    let redis = RedisServer::start();
    let raw = redis.raw();
    let mut program = Program::start(program, &redis, charge());
    let (holds, waits) = program.fill(&raw).await;
    program.child.terminate();
    let start = Instant::now();
    let refused = timing::soon("those who wait are answered", answers(waits)).await;
    assert!(
        start.elapsed() < timing::millis(1_000),
        "{:?}",
        start.elapsed()
    );
    assert!(
        refused.iter().all(|answer| answer.status == 503),
        "{refused:?}"
    );
    let done = timing::soon("the bodies end", answers(holds)).await;
    assert!(done.iter().all(|answer| answer.status == 200), "{done:?}");
    assert!(start.elapsed() < budget(), "{:?}", start.elapsed());
    assert_eq!(program.end(), "");
    // the examples' lease is half a minute: what is gone was given back
    assert_eq!(tidy::left_behind(&raw), Vec::<String>::new());
}

/// Bodies that take longer than the budget are stopped, and their locks given back, within it.
async fn stops_long_bodies(program: &str) {
    let redis = RedisServer::start();
    let raw = redis.raw();
    let mut program = Program::start(program, &redis, budget() * 10);
    let (holds, waits) = program.fill(&raw).await;
    program.child.terminate();
    let start = Instant::now();
    drop(waits);
    let stopped = timing::soon("the bodies are stopped", answers(holds)).await;
    assert!(
        stopped.iter().all(|answer| answer.status == 503),
        "{stopped:?}"
    );
    assert_eq!(program.end(), "");
    let taken = start.elapsed();
    assert!(taken < budget() + timing::millis(1_000), "{taken:?}");
    assert_eq!(tidy::left_behind(&raw), Vec::<String>::new());
}

/// With a server that hangs the program ends at its budget all the same; what it could not give back ends with its lease.
async fn stops_beside_a_hanging_redis(program: &str) {
    let mut redis = RedisServer::start();
    let raw = redis.raw();
    let mut program = Program::start(program, &redis, budget() * 10);
    let (holds, waits) = program.fill(&raw).await;
    redis.pause();
    program.child.terminate();
    let start = Instant::now();
    let refused = timing::soon("those who wait are answered", answers(waits)).await;
    assert!(
        start.elapsed() < timing::millis(1_000),
        "{:?}",
        start.elapsed()
    );
    assert!(
        refused.iter().all(|answer| answer.status == 503),
        "{refused:?}"
    );
    let stopped = timing::soon("the bodies are stopped", answers(holds)).await;
    assert!(
        stopped.iter().all(|answer| answer.status == 503),
        "{stopped:?}"
    );
    assert_eq!(program.end(), "");
    let taken = start.elapsed();
    assert!(taken < budget() + timing::millis(1_000), "{taken:?}");
    redis.resume();
    for key in raw.keys("lib_*") {
        // it panics when a key would stay for ever; one may go while we look
        let _left = raw.left(&key);
    }
}

macro_rules! over {
    ($($framework:ident: $program:literal),*) => {
        $(
            mod $framework {
                const PROGRAM: &str = env!($program);

                #[tokio::test(flavor = "multi_thread")]
                async fn b98_shutdown_in_order() {
                    super::stops_in_order(PROGRAM).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn b98_shutdown_stops_long_bodies() {
                    super::stops_long_bodies(PROGRAM).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn b98_shutdown_beside_a_hanging_redis() {
                    super::stops_beside_a_hanging_redis(PROGRAM).await;
                }
            }
        )*
    };
}

over!(axum: "CARGO_BIN_EXE_axum_handler", actix: "CARGO_BIN_EXE_actix_handler");
