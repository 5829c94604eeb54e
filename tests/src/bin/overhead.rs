//! What events and metrics cost: an uncontended lock over loopback, with a recorder and a hook and without, turn and turn about.
//!
//! ```text
//! cargo run --release -p tests --bin overhead
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockruntime::LockManager;
use tests::RedisServer;

const ROUNDS: usize = 60;
const CYCLES: u32 = 300;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the program shows what it measured")]
async fn main() {
    let server = RedisServer::start();
    let told = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&told);
    let build =
        |builder: lockruntime::LockManagerBuilder| builder.build().expect("the kit's URL is valid");
    let off = build(LockManager::builder().url(&server.url()));
    let on = build(
        LockManager::builder()
            .url(&server.url())
            .on_event(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
    );
    // before the recorder is there, metrics go nowhere; the switch is the recorder's own, since it is installed once
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let switch = Switch::install(recorder);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        switch.set(round % 2 == 1);
        let locks = if round % 2 == 1 { &on } else { &off };
        let begin = Instant::now();
        for _ in 0..CYCLES {
            let guard = locks.lock("overhead").acquire().await.expect("it is free");
            guard.release().await.expect("it is ours");
        }
        let cycle = begin.elapsed() / CYCLES;
        if round % 2 == 1 {
            with.push(cycle)
        } else {
            without.push(cycle)
        }
    }
    let (without, with) = (median(without), median(with));
    println!(
        "off {:.1} µs, on {:.1} µs a cycle: {:+.1} %, {} events",
        micros(without),
        micros(with),
        (micros(with) / micros(without) - 1.0) * 100.0,
        told.load(Ordering::Relaxed)
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

use switch::Switch;

mod switch {
    //! A recorder that can be as good as not there.

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    };

    pub(crate) struct Switch(Arc<AtomicBool>);

    struct Switched<R>(R, Arc<AtomicBool>);

    impl Switch {
        pub(crate) fn install(recorder: impl Recorder + Send + Sync + 'static) -> Self {
            let on = Arc::new(AtomicBool::new(false));
            metrics::set_global_recorder(Switched(recorder, Arc::clone(&on)))
                .expect("it is the first");
            Self(on)
        }

        pub(crate) fn set(&self, on: bool) {
            self.0.store(on, Ordering::Relaxed);
        }
    }

    impl<R> Switched<R> {
        fn is_on(&self) -> bool {
            self.1.load(Ordering::Relaxed)
        }
    }

    impl<R: Recorder> Recorder for Switched<R> {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
            if self.is_on() {
                self.0.register_counter(key, metadata)
            } else {
                Counter::noop()
            }
        }

        fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
            if self.is_on() {
                self.0.register_gauge(key, metadata)
            } else {
                Gauge::noop()
            }
        }

        fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
            if self.is_on() {
                self.0.register_histogram(key, metadata)
            } else {
                Histogram::noop()
            }
        }
    }
}
