//! One handler after the other, each in a form of its own, asked over TCP: it answers, and its rival is refused meanwhile; it
//! answers 409 when the rival has the key.

use std::net::SocketAddr;

use lockruntime::LockError;
use tests::rival::Rival;

use crate::client::Outcome;
use crate::site::post;

/// An error type of an application's own.
#[derive(Debug)]
pub(crate) struct AppError(pub(crate) u16);

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self(if error.is_busy() { 409 } else { 500 })
    }
}

impl std::fmt::Display for AppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "answered {}", self.0)
    }
}

/// Asks for the form at `/{key}`, first free, then taken by its rival.
pub(crate) async fn ask(rival: &Rival, address: SocketAddr, key: &str) {
    let path = format!("/{key}");
    let before = rival.refusals();
    let free = post(address, &path, r#"{"amount":5}"#)
        .await
        .expect(200)
        .await;
    assert_eq!(free.content, format!("{key} is done"));
    assert_eq!(
        rival.refusals(),
        before + 1,
        "the body of {key} ran beside its rival"
    );

    let taken = rival
        .locks()
        .lock(key)
        .try_acquire()
        .await
        .expect("it was given back");
    post(address, &path, r#"{"amount":5}"#)
        .await
        .expect(409)
        .await;
    assert_eq!(rival.refusals(), before + 1, "the body of {key} ran");
    taken.release().await.expect("still held");
}
