//! A crate that denies every warning has none from generated code.
#![deny(
    warnings,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    rust_2024_compatibility,
    unused
)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    missing_docs,
    redundant_lifetimes
)]
#![deny(
    single_use_lifetimes,
    trivial_casts,
    unit_bindings,
    unreachable_pub,
    unsafe_code,
    unused_lifetimes,
    unused_results
)]
#![deny(unused_qualifications, variant_size_differences)]

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

type Answer<T> = Result<T, LockError>;

#[distributed_lock(key = "a:<id>", lease = "30s", mode = "queue", wait = "1s")]
async fn only_in_the_key(id: u64) -> Answer<()> {
    Ok(rival::refused("a:1").await)
}

#[distributed_lock(key = "b:<id>:<x>", lease = std::time::Duration::from_secs(lease))]
async fn only_in_the_attribute(id: u64, (x, _): (u8, String), (lease, _): (u64, u8)) -> Answer<()> {
    rival::refused("b:1:2").await;
    Ok(())
}

#[distributed_lock(key = "c")]
async fn unnamed(_: String, _b: u8, (_, ..): (u8, u8)) -> Answer<()> {
    {
        rival::refused("c").await;
    }
    Ok(())
}

#[distributed_lock(key = "d")]
async fn diverges(end: bool) -> Answer<u64> {
    rival::refused("d").await;
    while !end {}
    panic!("end")
}

#[distributed_lock(key = "e")]
async fn never_ends() -> Answer<u64> {
    loop {
        std::future::pending::<()>().await;
    }
}

#[distributed_lock(key = "f")]
async fn items() -> Answer<u8> {
    const ONE: u8 = 1;
    use std::convert::identity;
    rival::refused("f").await;
    Ok(identity(ONE))
}

#[distributed_lock(key = "g")]
async fn opaque() -> Answer<(impl Fn() -> u8, &'static (impl Copy + Send))> {
    rival::refused("g").await;
    Ok((|| 1, &1))
}

macro_rules! made {
    ($name:ident, $body:block) => {
        #[distributed_lock(key = "h")]
        async fn $name() -> Answer<()> $body
    };
}
made!(made, { Ok(rival::refused("h").await) });

async fn case() -> Answer<()> {
    only_in_the_key(1).await?;
    only_in_the_attribute(1, (2, String::new()), (3, 0)).await?;
    unnamed(String::new(), 1, (1, 1)).await?;
    assert_eq!(items().await?, 1);
    assert_eq!(opaque().await?.0(), 1);
    drop((diverges(true), never_ends()));
    made().await
}

fn main() {
    rival::run(case()).expect("no rival");
}
