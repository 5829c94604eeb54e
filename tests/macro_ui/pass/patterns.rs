//! Arguments taken apart, and keys that name what their patterns bind.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

struct Path<T>(T);
struct Order {
    id: u64,
    items: Vec<String>,
    at: (u8, u8),
}

type Answer<T> = Result<T, LockError>;

#[distributed_lock(key = "path:<id>")]
async fn extractor(Path(id): Path<u64>) -> Answer<u64> {
    rival::refused("path:7").await;
    Ok(id)
}

#[distributed_lock(key = "order:<id>:<x>:<first>")]
async fn nested(
    Order {
        id,
        items: mut list,
        at: (x, _),
    }: Order,
    [first, ..]: [u8; 3],
) -> Answer<Vec<String>> {
    rival::refused("order:1:2:3").await;
    list.push(id.to_string());
    Ok(list)
}

#[distributed_lock(key = "whole:<whole.0>:<a>:<b>")]
async fn bound_twice(
    whole @ (a, _): (u8, u8),
    &b: &u8,
    [_, rest @ ..]: [(u8, u8); 2],
) -> Answer<u8> {
    rival::refused("whole:1:1:2").await;
    let _ = rest;
    Ok(whole.0 + a + b)
}

#[distributed_lock(key = "refs:<a>:<b>:<c>")]
async fn references((a, b): &(String, u8), &(ref c, _): &(String, u8)) -> Answer<usize> {
    rival::refused("refs:x:1:y").await;
    Ok(a.len() + usize::from(*b) + c.len())
}

#[distributed_lock(key = "either:<id>")]
async fn either((Ok(id) | Err(id)): Result<u64, u64>) -> Answer<u64> {
    rival::refused("either:9").await;
    Ok(id)
}

#[distributed_lock(key = "wild:<_id>")]
async fn unnamed(_: String, _id: u64, (_, _): (u8, String), _unused: Vec<u8>) -> Answer<()> {
    rival::refused("wild:5").await;
    Ok(())
}

#[distributed_lock(key = "mut:<n>")]
async fn changed(mut n: u64, mut list: Vec<u64>) -> Answer<Vec<u64>> {
    rival::refused("mut:1").await;
    n += 1;
    list.push(n);
    Ok(list)
}

#[distributed_lock(key = "raw:<type>:{r#fn.0}")]
async fn raw(r#type: u64, r#fn: (u8,)) -> Answer<u64> {
    rival::refused("raw:1:2").await;
    Ok(r#type + u64::from(r#fn.0))
}

async fn case() -> Answer<()> {
    assert_eq!(extractor(Path(7)).await?, 7);
    let order = Order {
        id: 1,
        items: vec![],
        at: (2, 0),
    };
    assert_eq!(nested(order, [3, 0, 0]).await?, ["1"]);
    assert_eq!(bound_twice((1, 0), &2, [(0, 0), (3, 4)]).await?, 4);
    assert_eq!(
        references(&("x".to_owned(), 1), &("y".to_owned(), 2)).await?,
        3
    );
    assert_eq!(either(Err(9)).await?, 9);
    unnamed(String::new(), 5, (0, String::new()), vec![]).await?;
    assert_eq!(changed(1, vec![]).await?, [2]);
    assert_eq!(raw(1, (2,)).await?, 3);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}
