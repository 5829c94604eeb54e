//! What an operator asks: all locks, the storage, a lock taken from its holder.

use std::time::Duration;

#[cfg(any(feature = "cli", feature = "dashboard"))]
use crate::backend::Held;
use crate::backend::{Eviction, Inventory, Listing, Released, Snapshot, Survey};
use crate::error::{BackendError, LockError};
use crate::key::LockKey;
use crate::manager::LockManager;
use crate::options::Mode;
use crate::token::{FencingToken, OwnerToken};

/// How long an eviction may take.
const EVICTION: Duration = Duration::from_secs(2);

impl LockManager {
    /// Who holds a key and who waits for it, at this moment. Reads only. Dropping the future drops the answer.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidKey`], [`LockError::Backend`] or [`LockError::Permission`].
    pub async fn snapshot(&self, key: &str) -> Result<Snapshot, LockError> {
        let mode = Mode::Queue;
        let key = self.key_by_hand(key)?;
        let record = self.inner.naming.record(&key);
        self.watchdog()
            .call(move |backend| backend.snapshot(&record))
            .await
            .map_err(|source| LockError::from_backend(key, mode, source))
    }

    /// The locks of this manager's `app` and `environment` that somebody holds or waits for, in the order of their keys. `pattern`:
    /// which keys, with `*` for any text and `?` for one character. Reads only, and no server waits for it; it needs the right to
    /// `SCAN`. Of a cluster, a master that gives no answer leaves a gap. Dropping the future drops the answer.
    ///
    /// ```
    /// # async fn list(locks: &lockruntime::LockManager) -> Result<(), Box<dyn std::error::Error>> {
    /// for lock in locks.list("boleto:*").await?.locks {
    ///     println!("{} is {:?}, {} wait", lock.key, lock.standing, lock.waiting);
    /// }
    /// # Ok(()) }
    /// # let locks = lockruntime::LockManager::memory();
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(list(&locks)).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BackendError`] when no server could be asked.
    pub async fn list(&self, pattern: &str) -> Result<Inventory, BackendError> {
        let listing = Listing::new(self.inner.naming.prefix(), pattern);
        self.watchdog()
            .call(move |backend| backend.list(listing))
            .await
    }

    /// What there is to know of each server of the storage, for its operator. Reads only. Dropping the future drops the answer.
    ///
    /// # Errors
    ///
    /// [`BackendError`] when no server could be asked.
    pub async fn survey(&self) -> Result<Vec<Survey>, BackendError> {
        let listing = Listing::new(self.inner.naming.prefix(), "*");
        self.watchdog()
            .call(move |backend| backend.survey(listing))
            .await
    }

    /// Takes a lock from its holder, who is named by the owner and fencing tokens that [`snapshot`](Self::snapshot) or
    /// [`list`](Self::list) show: in one step, and only if it is still his. It goes to the next in line, as by a release.
    ///
    /// **The holder isn't asked.** A living one is stopped at its next renewal, up to a third of its lease later; until then two
    /// bodies may run, and only the fencing token tells your store which one is late. Dropping the future doesn't undo it.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    pub async fn evict(
        &self,
        key: &str,
        owner: OwnerToken,
        token: FencingToken,
    ) -> Result<Released, LockError> {
        let key = self.key_by_hand(key)?;
        let eviction = Eviction {
            record: self.inner.naming.record(&key),
            owner,
            token,
            timeout: EVICTION,
        };
        self.watchdog()
            .call(move |backend| backend.evict(eviction))
            .await
            .map_err(|source| LockError::from_backend(key, Mode::Queue, source))
    }

    /// The same for an owner alone: looks up its fencing token, which a quorum compares as well. Answers what was seen.
    #[cfg(any(feature = "cli", feature = "dashboard"))]
    pub(crate) async fn evict_owner(
        &self,
        key: &str,
        owner: OwnerToken,
    ) -> Result<(Option<Held>, Released), LockError> {
        let Snapshot { held, beside, .. } = self.snapshot(key).await?;
        let mut holders = held.into_iter().chain(beside);
        let held = holders.find(|held| held.owner == owner);
        let released = match &held {
            Some(held) => self.evict(key, owner, held.token).await?,
            None => Released::NotHeld,
        };
        Ok((held, released))
    }

    /// When a hold or a wait counts as stuck.
    #[cfg(feature = "dashboard")]
    pub(crate) fn warn_after(&self) -> Duration {
        self.inner.defaults.warn_after
    }

    fn key_by_hand(&self, text: &str) -> Result<LockKey, LockError> {
        LockKey::from_text(text, self.key_limit()).map_err(|reason| LockError::InvalidKey {
            template: text.to_owned(),
            mode: Mode::Queue,
            reason: reason.to_string(),
        })
    }
}
