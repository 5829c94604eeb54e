//! B26: a value that may be missing has no `Display`; it is taken apart before the call.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer<T = ()> = Result<T, LockError>;

struct Request {
    id: Option<u64>,
}

#[distributed_lock(key = "boleto:<id>")]
async fn option(id: Option<u64>) -> Answer {
    Ok(())
}

#[distributed_lock(key = "boleto:<request.id>")]
async fn field(request: Request) -> Answer {
    Ok(())
}

fn main() {
    drop((option(None), field(Request { id: None })));
}
