//! Who takes and gives back a lock.

use std::time::Duration;

use lockruntime::{LockError, LockManager, distributed_lock};

use crate::floor::Floor;

/// As long as the peers' default, or what their examples have.
const LEASE: Duration = Duration::from_secs(30);

pub(crate) enum Contender {
    /// The raw commands; they can't wait.
    Floor(Floor),
    /// `lock(key).acquire()` and `release()`.
    Guard(LockManager),
    /// An annotated function.
    Attribute(LockManager),
}

#[distributed_lock(key = "<key>", lease = "30s", manager = manager)]
async fn annotated<T>(
    manager: &LockManager,
    key: &str,
    body: impl Future<Output = T>,
) -> Result<T, LockError> {
    Ok(body.await)
}

impl Contender {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Floor(_) => "raw commands",
            Self::Guard(_) => "guard",
            Self::Attribute(_) => "attribute",
        }
    }

    /// All of them, on the server at `address` (`127.0.0.1:port`).
    pub(crate) async fn all(address: &str) -> Vec<Self> {
        let url = format!("redis://{address}");
        let ours = || LockManager::from_url(&url).expect("the address is the kit's");
        vec![
            Self::Floor(Floor::connect(address).await),
            Self::Guard(ours()),
            Self::Attribute(ours()),
        ]
    }

    /// Takes the lock, runs `body`, gives the lock back; `leaving` is called just before that.
    pub(crate) async fn locked(&self, key: &str, body: impl FnOnce(), leaving: impl FnOnce()) {
        match self {
            Self::Floor(floor) => {
                body();
                leaving();
                floor.pair(key).await;
            }
            Self::Guard(manager) => {
                let guard = manager.lock(key).lease(LEASE).acquire().await;
                let guard = guard.expect("nobody has it for long");
                body();
                leaving();
                guard.release().await.expect("it is ours");
            }
            Self::Attribute(manager) => {
                let body = async {
                    body();
                    leaving();
                };
                annotated(manager, key, body)
                    .await
                    .expect("nobody has it for long");
            }
        }
    }

    pub(crate) async fn pair(&self, key: &str) {
        self.locked(key, || (), || ()).await;
    }
}
