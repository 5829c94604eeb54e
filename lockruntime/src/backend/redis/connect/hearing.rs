//! How hand-overs are heard of: pushed on the one connection (RESP3), or over a second one (RESP2).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{self, BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use redis::aio::{PubSub, SendError};
use redis::{Msg, PushInfo, PushKind, RedisError, Value};

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::link::Health;
use crate::backend::Wakeups;
use crate::backend::redis::{reply, rights};
use crate::clock;

/// How often a second connection is asked whether it lives, and for how long it may be silent.
const CHECK: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(1);

/// Takes what the server sends by itself.
pub(super) fn pushes(
    wakeups: Wakeups,
    health: Arc<Health>,
) -> impl Fn(PushInfo) -> Result<(), SendError> + Send + Sync + 'static {
    move |push| {
        match (push.kind, push.data.as_slice()) {
            (PushKind::Disconnection, _) => health.closed(),
            (PushKind::Message, [_, Value::BulkString(message)]) => heard(&wakeups, message),
            _ => {}
        }
        Ok(())
    }
}

/// The right that is missing for a subscription; any other error is one.
pub(super) fn refused(
    channel: &str,
    subscribed: Result<(), RedisError>,
) -> Result<Option<String>, RedisError> {
    match subscribed {
        Ok(()) => Ok(None),
        Err(error) if reply::is_permission(&error) => Ok(Some(rights::channel_right(
            "+subscribe",
            channel,
            &error.to_string(),
        ))),
        Err(error) => Err(error),
    }
}

/// A second connection: which right is missing for its subscription, and what listens on it until it ends. One that may not
/// subscribe stays as well: its end tells of the server's.
pub(super) async fn second(
    endpoint: &Endpoint,
    channel: &str,
    wakeups: &Wakeups,
    health: &Arc<Health>,
) -> Result<(Option<String>, BoxFuture<'static, ()>), Failure> {
    let mut connection = endpoint.listen().await?;
    let refused = refused(channel, connection.subscribe(channel).await)?;
    let (wakeups, health) = (wakeups.clone(), Arc::clone(health));
    let checked = refused.is_none();
    let hearing = async move {
        let each = |message: &Msg| heard(&wakeups, message.get_payload_bytes());
        hear(connection, checked.then_some(CHECK), each).await;
        // both go: whatever ended this one may have ended the other unseen
        health.suspect();
    };
    Ok((refused, hearing.boxed()))
}

/// Shows each message, until the connection ends or, asked every `check`, is silent.
pub(super) async fn hear(connection: PubSub, check: Option<Duration>, each: impl Fn(&Msg)) {
    let (mut sink, mut messages) = connection.split();
    let hearing = async {
        while let Some(message) = messages.next().await {
            each(&message);
        }
    };
    let checking = async {
        loop {
            clock::sleep(check.unwrap_or(CHECK)).await;
            match clock::within(SILENCE, sink.ping::<Value>()).await {
                // that it may not ask is an answer as well
                Some(Ok(_)) => {}
                Some(Err(_)) | None if check.is_some() => return,
                Some(Err(_)) | None => future::pending().await,
            }
        }
    };
    let _ = future::select(pin!(hearing), pin!(checking)).await;
}

/// Anything else on our channel is a hint for nobody.
pub(super) fn heard(wakeups: &Wakeups, message: &[u8]) {
    if let Some(hand_over) = reply::hand_over(message) {
        wakeups.handed_over(hand_over);
    }
}
