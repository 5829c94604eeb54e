//! Type parameters, const generics, where clauses.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

#[test]
fn type_parameter_in_the_key() {
    #[distributed_lock(key = "generic:<value>")]
    async fn locked<T: Display>(value: T) -> Answer<T> {
        refused("generic:7").await;
        Ok(value)
    }
    case(async { assert_eq!(locked(7_u8).await.unwrap(), 7) });
}

#[test]
fn where_clause() {
    #[distributed_lock(key = "where:<value>")]
    async fn locked<T>(value: T) -> Answer<String>
    where
        T: Display + Debug,
        for<'a> &'a T: Into<String>,
    {
        refused("where:x").await;
        Ok((&value).into())
    }
    case(async { assert_eq!(locked("x".to_owned()).await.unwrap(), "x") });
}

#[test]
fn const_generic() {
    #[distributed_lock(key = "sum:<name>")]
    async fn locked<const N: usize>(name: &str, numbers: [u64; N]) -> Answer<u64> {
        refused("sum:n").await;
        Ok(numbers.iter().sum())
    }
    case(async { assert_eq!(locked("n", [1, 2, 3]).await.unwrap(), 6) });
}

#[test]
fn const_generic_that_nothing_infers() {
    #[distributed_lock(key = "width")]
    async fn locked<const WIDTH: usize>() -> Answer<[u8; WIDTH]> {
        refused("width").await;
        Ok([1; WIDTH])
    }
    case(async { assert_eq!(locked::<2>().await.unwrap(), [1, 1]) });
}

#[test]
fn type_parameter_that_nothing_infers() {
    #[distributed_lock(key = "default")]
    async fn locked<T: Default>() -> Answer<T> {
        refused("default").await;
        Ok(T::default())
    }
    case(async { assert_eq!(locked::<u8>().await.unwrap(), 0) });
}

#[test]
fn unsized_parameter() {
    #[distributed_lock(key = "unsized:<value>")]
    async fn locked<T: Display + ?Sized>(value: &T) -> Answer<String> {
        refused("unsized:str").await;
        Ok(value.to_string())
    }
    case(async { assert_eq!(locked::<str>("str").await.unwrap(), "str") });
}

#[test]
fn error_parameter() {
    #[distributed_lock(key = "error")]
    async fn locked<E: From<LockError>>(fails: Option<E>) -> Result<(), E> {
        refused("error").await;
        fails.map_or(Ok(()), Err)
    }
    case(async { locked::<LockError>(None).await.unwrap() });
}

#[test]
fn associated_types() {
    #[distributed_lock(key = "items")]
    async fn locked<I>(items: I) -> Answer<Option<I::Item>>
    where
        I: IntoIterator,
        I::Item: Clone,
    {
        refused("items").await;
        Ok(items.into_iter().next())
    }
    case(async { assert_eq!(locked([3]).await.unwrap(), Some(3)) });
}

#[test]
fn functions_as_parameters() {
    #[distributed_lock(key = "function")]
    async fn locked<F, G>(function: F, make: impl Fn() -> G) -> Answer<u64>
    where
        F: AsyncFn(u64) -> u64,
        G: std::future::Future<Output = u64>,
    {
        refused("function").await;
        Ok(function(make().await).await)
    }
    case(async {
        let value = locked(async |n| n + 1, || async { 1 }).await;
        assert_eq!(value.unwrap(), 2);
    });
}

#[test]
fn generic_type_with_defaults() {
    struct Store<T, const N: usize = 2> {
        name: &'static str,
        kind: PhantomData<T>,
    }

    impl<T: Default, const N: usize> Store<T, N> {
        #[distributed_lock(key = "store:<self.name>:<key>")]
        async fn get<K>(&self, key: K) -> Answer<[Option<T>; N]>
        where
            K: Display + Copy,
        {
            refused("store:s:k").await;
            Ok(std::array::from_fn(|_| Some(T::default())))
        }
    }
    case(async {
        let store: Store<u8> = Store {
            name: "s",
            kind: PhantomData,
        };
        assert_eq!(store.get('k').await.unwrap(), [Some(0), Some(0)]);
    });
}

#[test]
fn dyn_arguments() {
    #[distributed_lock(key = "dyn:<value>:<boxed>")]
    async fn locked(value: &dyn Display, boxed: Box<dyn Display + Send + Sync>) -> Answer<String> {
        refused("dyn:1:2").await;
        Ok(format!("{value}{boxed}"))
    }
    case(async { assert_eq!(locked(&1, Box::new(2)).await.unwrap(), "12") });
}
