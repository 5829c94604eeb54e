//! Arguments taken apart, and keys that name what their patterns bind.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

struct Path<T>(T);

struct Order {
    id: u64,
    items: Vec<String>,
    at: (u8, u8),
}

fn order() -> Order {
    Order {
        id: 1,
        items: vec!["x".to_owned()],
        at: (2, 3),
    }
}

#[test]
fn tuple_struct() {
    #[distributed_lock(key = "path:<id>")]
    async fn locked(Path(id): Path<u64>) -> Answer<u64> {
        refused("path:7").await;
        Ok(id)
    }
    case(async { assert_eq!(locked(Path(7)).await.unwrap(), 7) });
}

#[test]
fn nested_extractors() {
    #[distributed_lock(key = "path:<tenant>:<id>")]
    async fn locked(Path((Path(tenant), (id, _))): Path<(Path<&str>, (u64, u8))>) -> Answer<u64> {
        refused("path:acme:7").await;
        assert_eq!(tenant, "acme");
        Ok(id)
    }
    case(async { assert_eq!(locked(Path((Path("acme"), (7, 0)))).await.unwrap(), 7) });
}

#[test]
fn named_fields() {
    #[distributed_lock(key = "order:<id>:<x>")]
    async fn locked(
        Order {
            id,
            items: mut list,
            at: (x, _),
        }: Order,
    ) -> Answer<Vec<String>> {
        refused("order:1:2").await;
        list.push(format!("{id}{x}"));
        Ok(list)
    }
    case(async { assert_eq!(locked(order()).await.unwrap(), ["x", "12"]) });
}

#[test]
fn named_fields_and_a_rest() {
    #[distributed_lock(key = "order:<id>")]
    async fn locked(Order { id, .. }: Order) -> Answer<u64> {
        refused("order:1").await;
        Ok(id)
    }
    case(async { assert_eq!(locked(order()).await.unwrap(), 1) });
}

#[test]
fn tuple() {
    #[distributed_lock(key = "tuple:<b>")]
    async fn locked((a, mut b, ..): (u8, u8, u8, u8)) -> Answer<u8> {
        refused("tuple:2").await;
        b += a;
        Ok(b)
    }
    case(async { assert_eq!(locked((1, 2, 3, 4)).await.unwrap(), 3) });
}

#[test]
fn slice() {
    #[distributed_lock(key = "slice:<first>:<last>")]
    async fn locked([first, middle @ .., last]: [u8; 4]) -> Answer<usize> {
        refused("slice:1:4").await;
        assert_eq!((first, last), (1, 4));
        Ok(middle.len())
    }
    case(async { assert_eq!(locked([1, 2, 3, 4]).await.unwrap(), 2) });
}

#[test]
fn whole_and_part() {
    #[distributed_lock(key = "whole:<whole.0>:<a>")]
    async fn locked(whole @ (a, _): (u8, u8)) -> Answer<u8> {
        refused("whole:1:1").await;
        Ok(whole.1 + a)
    }
    case(async { assert_eq!(locked((1, 2)).await.unwrap(), 3) });
}

#[test]
fn through_a_reference() {
    #[distributed_lock(key = "refs:<a>:<b>")]
    async fn locked((a, b): &(String, u8)) -> Answer<usize> {
        refused("refs:x:1").await;
        Ok(a.len() + usize::from(*b))
    }
    case(async { assert_eq!(locked(&("x".to_owned(), 1)).await.unwrap(), 2) });
}

#[test]
fn through_a_mutable_reference() {
    #[distributed_lock(key = "refs:<a>")]
    async fn locked((a, b): &mut (String, u8)) -> Answer<()> {
        refused("refs:x").await;
        a.push('y');
        *b += 1;
        Ok(())
    }
    case(async {
        let mut pair = ("x".to_owned(), 1);
        locked(&mut pair).await.unwrap();
        assert_eq!(pair, ("xy".to_owned(), 2));
    });
}

#[test]
fn a_reference_in_the_pattern() {
    #[distributed_lock(key = "ref:<a>:<b>")]
    async fn locked(&(ref a, b): &(String, u8), &c: &u8) -> Answer<usize> {
        refused("ref:x:1").await;
        Ok(a.len() + usize::from(b + c))
    }
    case(async { assert_eq!(locked(&("x".to_owned(), 1), &2).await.unwrap(), 4) });
}

#[test]
fn ref_binding() {
    #[distributed_lock(key = "ref:<items>")]
    async fn locked(ref items: String, ref mut count: u8) -> Answer<usize> {
        refused("ref:x").await;
        *count += 1;
        Ok(items.len() + usize::from(*count))
    }
    case(async { assert_eq!(locked("x".to_owned(), 1).await.unwrap(), 3) });
}

#[test]
fn alternatives() {
    #[distributed_lock(key = "either:<id>")]
    async fn locked((Ok(id) | Err(id)): Result<u64, u64>) -> Answer<u64> {
        refused("either:9").await;
        Ok(id)
    }
    case(async { assert_eq!(locked(Err(9)).await.unwrap(), 9) });
}

#[test]
fn wild() {
    #[distributed_lock(key = "wild:<_id>")]
    async fn locked(_: String, _id: u64, (_, _): (u8, String), _unused: Vec<u8>) -> Answer<()> {
        refused("wild:5").await;
        Ok(())
    }
    case(async {
        let call = locked(String::new(), 5, (0, String::new()), vec![]);
        call.await.unwrap();
    });
}

#[test]
fn mutable() {
    #[distributed_lock(key = "mut:<n>")]
    async fn locked(mut n: u64, mut list: Vec<u64>) -> Answer<Vec<u64>> {
        refused("mut:1").await;
        n += 1;
        list.push(n);
        Ok(list)
    }
    case(async { assert_eq!(locked(1, vec![]).await.unwrap(), [2]) });
}

#[test]
fn mutable_inside_of_a_pattern() {
    #[distributed_lock(key = "mut:<n>")]
    async fn locked(Path(mut n): Path<u64>) -> Answer<u64> {
        refused("mut:1").await;
        n += 1;
        Ok(n)
    }
    case(async { assert_eq!(locked(Path(1)).await.unwrap(), 2) });
}

#[test]
fn raw_names() {
    #[distributed_lock(key = "raw:<type>:{r#fn.0}")]
    async fn locked(r#type: u64, r#fn: (u8,)) -> Answer<u64> {
        refused("raw:1:2").await;
        Ok(r#type + u64::from(r#fn.0))
    }
    case(async { assert_eq!(locked(1, (2,)).await.unwrap(), 3) });
}

#[test]
fn unit_and_never() {
    #[distributed_lock(key = "unit")]
    async fn locked((): (), _nothing: Option<std::convert::Infallible>) -> Answer<()> {
        refused("unit").await;
        Ok(())
    }
    case(async { locked((), None).await.unwrap() });
}

#[test]
#[expect(unused_parens, reason = "they are the form")]
fn parentheses() {
    #[distributed_lock(key = "paren:<id>")]
    async fn locked(((id, _)): (u64, u8), _: &(dyn Fn() + Sync)) -> Answer<u64> {
        refused("paren:1").await;
        Ok(id)
    }
    case(async { assert_eq!(locked((1, 0), &|| ()).await.unwrap(), 1) });
}
