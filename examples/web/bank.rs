//! A stand-in for what a handler's body does: it takes its time, and must not happen twice at once.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The receipt's number, or why the bank declined.
pub type Charge = Pin<Box<dyn Future<Output = Result<u64, String>> + Send>>;

/// Where the money moves.
#[derive(Clone)]
pub struct Bank(Arc<dyn Fn(String) -> Charge + Send + Sync>);

impl fmt::Debug for Bank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bank")
    }
}

impl Bank {
    /// A bank that does this; the text says what is charged.
    pub fn new(charge: impl Fn(String) -> Charge + Send + Sync + 'static) -> Self {
        Self(Arc::new(charge))
    }

    /// A bank that takes this long for everything.
    #[must_use]
    pub fn slow(time: Duration) -> Self {
        let receipts = Arc::new(AtomicU64::new(1));
        Self::new(move |_| {
            let receipts = Arc::clone(&receipts);
            Box::pin(async move {
                tokio::time::sleep(time).await;
                Ok(receipts.fetch_add(1, Ordering::Relaxed))
            })
        })
    }

    /// Moves the money.
    ///
    /// # Errors
    /// When the bank declines, with its reason.
    pub async fn charge(&self, what: impl Into<String>) -> Result<u64, String> {
        (self.0)(what.into()).await
    }
}
