//! Lifetimes: elided, named, `'_` in returns, higher-ranked.

use std::borrow::Cow;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

#[test]
fn elided_in_the_return_type() {
    #[distributed_lock(key = "first:<text>")]
    async fn locked(text: &str) -> Answer<&str> {
        refused("first:xy").await;
        Ok(text.get(..1).unwrap_or_default())
    }
    case(async { assert_eq!(locked("xy").await.unwrap(), "x") });
}

#[test]
fn named_with_an_order() {
    #[distributed_lock(key = "longer:<a>:<b>")]
    async fn locked<'a, 'b: 'a>(a: &'a str, b: &'b str) -> Answer<&'a str> {
        refused("longer:x:yy").await;
        Ok(if a.len() > b.len() { a } else { b })
    }
    case(async { assert_eq!(locked("x", "yy").await.unwrap(), "yy") });
}

#[test]
fn anonymous_in_the_return_type() {
    struct Words<'a>(&'a [&'a str]);

    impl Words<'_> {
        #[distributed_lock(key = "rest")]
        async fn rest(&self) -> Answer<Words<'_>> {
            refused("rest").await;
            Ok(Words(self.0.get(1..).unwrap_or_default()))
        }
    }
    case(async { assert_eq!(Words(&["a", "b"]).rest().await.unwrap().0, ["b"]) });
}

#[test]
fn of_the_type_not_of_the_borrow() {
    struct Words<'a>(&'a [&'a str]);

    impl<'w> Words<'w> {
        #[distributed_lock(key = "first")]
        async fn first(&self) -> Answer<Option<&'w str>> {
            refused("first").await;
            Ok(self.0.first().copied())
        }
    }
    case(async {
        let first = {
            let words = Words(&["a", "b"]);
            words.first().await.unwrap()
        };
        assert_eq!(first, Some("a"));
    });
}

#[test]
fn hidden_in_a_path() {
    #[distributed_lock(key = "cow:<text>")]
    async fn locked(text: Cow<'_, str>) -> Answer<usize> {
        refused("cow:xy").await;
        Ok(text.len())
    }
    case(async { assert_eq!(locked(Cow::Borrowed("xy")).await.unwrap(), 2) });
}

#[test]
fn higher_ranked() {
    #[distributed_lock(key = "ranked")]
    async fn locked(shorten: impl for<'a> Fn(&'a str) -> &'a str, text: String) -> Answer<String> {
        refused("ranked").await;
        Ok(shorten(&text).to_owned())
    }
    case(async {
        let shorten = |text: &str| -> usize { text.len() - 1 };
        fn half(text: &str) -> &str {
            &text[..text.len() / 2]
        }
        assert_eq!(locked(half, "abcd".to_owned()).await.unwrap(), "ab");
        assert_eq!(shorten("ab"), 1);
    });
}

#[test]
fn static_only() {
    #[distributed_lock(key = "static:<text>")]
    async fn locked(text: &'static str) -> Answer<&'static str> {
        refused("static:x").await;
        Ok(text)
    }
    case(async { assert_eq!(locked("x").await.unwrap(), "x") });
}

#[test]
fn mutable_borrows_live_as_long_as_the_call() {
    #[distributed_lock(key = "push")]
    async fn locked<'a>(list: &'a mut Vec<u8>, more: &[u8]) -> Answer<&'a mut u8> {
        refused("push").await;
        list.extend(more);
        Ok(list.last_mut().expect("not empty"))
    }
    case(async {
        let mut list = vec![];
        *locked(&mut list, &[1, 2]).await.unwrap() += 5;
        assert_eq!(list, [1, 7]);
    });
}

#[test]
fn several_elided_in_one_argument() {
    #[distributed_lock(key = "nested:<pair.0>")]
    async fn locked(pair: (&str, &[&str])) -> Answer<usize> {
        refused("nested:x").await;
        Ok(pair.0.len() + pair.1.len())
    }
    case(async { assert_eq!(locked(("x", &["y", "z"])).await.unwrap(), 3) });
}

#[test]
fn in_a_boxed_trait_object() {
    type Check<'a> = Box<dyn Fn(u8) -> bool + 'a>;

    #[distributed_lock(key = "boxed")]
    async fn locked<'a>(limit: &'a u8) -> Answer<Check<'a>> {
        refused("boxed").await;
        Ok(Box::new(move |n| n < *limit))
    }
    case(async { assert!(locked(&3).await.unwrap()(2)) });
}
