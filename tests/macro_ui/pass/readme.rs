//! The attribute exactly as the README has it.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

struct Receipt(u64);
enum PayError {
    Refused(LockError),
}

impl From<LockError> for PayError {
    fn from(error: LockError) -> Self {
        Self::Refused(error)
    }
}

#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
async fn pay(id: u64) -> Result<Receipt, PayError> {
    rival::refused("boleto:42").await;
    Ok(Receipt(id))
}

fn main() {
    match rival::run(pay(42)) {
        Ok(Receipt(id)) => assert_eq!(id, 42),
        Err(PayError::Refused(error)) => panic!("{error}"),
    }
}
