//! A placeholder names an argument; else the error names what there is.
//! Mistakes: 8.
#![allow(unused_variables)]

use lockruntime::{LockError, distributed_lock};

type Answer = Result<(), LockError>;

#[distributed_lock(key = "boleto:<boletoid>")]
async fn slip(boleto_id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "boleto:<Id.number>")]
async fn case(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "boleto:<customer>")]
async fn other(id: u64, amount: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "boleto:<id>")]
async fn nothing() -> Answer {
    Ok(())
}

#[distributed_lock(key = "boleto:<self.tenant>")]
async fn no_self(id: u64) -> Answer {
    Ok(())
}

#[distributed_lock(key = "<a>:<b>")]
async fn two(id: u64) -> Answer {
    Ok(())
}

struct Service;

impl Service {
    #[distributed_lock(key = "<slef.tenant>")]
    async fn method(&self, Pair(left, _): Pair) -> Answer {
        Ok(())
    }
}

struct Pair(u64, u64);

fn main() {
    drop((slip(1), case(1), other(1, 2), nothing(), no_self(1), two(1)));
    drop(Service.method(Pair(1, 2)));
}
