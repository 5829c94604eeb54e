//! `crate = path`, for a runtime under another name.

#[path = "../rival.rs"]
mod rival;

mod prelude {
    pub use lockruntime as locks;
}

use prelude::locks::LockError;

#[prelude::locks::distributed_lock(key = "a", crate = prelude::locks)]
async fn relative() -> Result<(), LockError> {
    rival::refused("a").await;
    Ok(())
}

#[prelude::locks::distributed_lock(crate = crate::prelude::locks, key = "b")]
async fn absolute() -> Result<(), LockError> {
    rival::refused("b").await;
    Ok(())
}

mod inner {
    #[super::prelude::locks::distributed_lock(key = "c", crate = super::prelude::locks)]
    pub(crate) async fn parent() -> Result<(), super::LockError> {
        crate::rival::refused("c").await;
        Ok(())
    }
}

async fn case() -> Result<(), LockError> {
    relative().await?;
    absolute().await?;
    inner::parent().await
}

fn main() {
    rival::run(case()).unwrap();
}
