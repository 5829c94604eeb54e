//! The suite in memory: managers that share one backend exclude each other.

use lockruntime::LockManager;
use lockruntime::backend::memory::MemoryBackend;
use tests::fault::FaultyBackend;
use tests::{logs, tidy, timing};

use crate::suite::{Link, Place, conformance};

struct Memory(MemoryBackend);

impl Memory {
    fn build(&self, backend: impl lockruntime::backend::Backend) -> LockManager {
        logs::listen();
        let builder = LockManager::builder()
            .backend(backend)
            .lease(timing::lease());
        builder
            .heartbeat(timing::heartbeat())
            .grace(timing::grace())
            .build()
            .unwrap()
    }
}

impl Place for Memory {
    fn start() -> Self {
        Self(MemoryBackend::new())
    }

    fn manager(&self) -> LockManager {
        self.build(self.0.clone())
    }

    fn fragile(&self) -> (LockManager, Box<dyn Link>) {
        let backend = FaultyBackend::around(self.0.clone());
        (self.build(backend.clone()), Box::new(backend))
    }

    async fn end(&self, id: &str, warnings: usize) {
        let (manager, key) = (self.manager(), format!("boleto:{id}"));
        let start = std::time::Instant::now();
        loop {
            let snapshot = manager.snapshot(&key).await.unwrap();
            if snapshot.held.is_none() && snapshot.waiting.is_empty() {
                break;
            }
            assert!(
                start.elapsed() < timing::lease() + timing::millis(1_000),
                "left behind: {snapshot:?}"
            );
            timing::pass(timing::tick()).await;
        }
        tidy::end_of_process(&[&key], warnings);
    }
}

impl Link for FaultyBackend<MemoryBackend> {
    fn cut(&self) {
        FaultyBackend::cut(self);
    }

    fn heal(&self) {
        FaultyBackend::heal(self);
    }
}

conformance!(Memory);
