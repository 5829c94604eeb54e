//! Hears of hand-overs in a cluster: what is published on any server reaches the subscribers of all.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future;
use redis::Msg;

use super::{Cluster, apart, lock};
use crate::backend::Wakeups;
use crate::backend::redis::connect::failure::Failure;
use crate::backend::redis::connect::hearing;
use crate::backend::redis::connect::line::CONNECT_TIMEOUT;
use crate::clock;
use crate::health::Finding;

/// How often the server is asked whether it lives.
const CHECK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(200);

/// One subscription, to one server after the other.
#[derive(Default)]
pub(super) struct Ear {
    /// The right that is missing.
    refused: Mutex<Option<String>>,
}

impl Ear {
    /// Listens on some server, and on another one when that is gone; for ever.
    pub(super) async fn listen(&self, cluster: &Cluster, channel: &str, wakeups: &Wakeups) {
        let mut slots = cluster.slots.subscribe();
        let mut before = false;
        let mut turn = usize::from(rand::random::<u16>());
        loop {
            let servers: Vec<Arc<str>> = match slots.wait_for(|s| !s.masters().is_empty()).await {
                Ok(slots) => slots.masters().into_iter().collect(),
                Err(_) => return,
            };
            turn += 1;
            let Some(server) = servers.get(turn % servers.len()) else {
                continue;
            };
            let connecting = async {
                let (host, port) = apart(server).ok_or(Failure::Silent { tls: false })?;
                let mut connection = cluster.manner.endpoint(host, port)?.listen().await?;
                let refused = hearing::refused(channel, connection.subscribe(channel).await)?;
                Ok::<_, Failure>((connection, refused))
            };
            if let Some(Ok((connection, refused))) =
                clock::within(CONNECT_TIMEOUT, connecting).await
            {
                let checked = refused.is_none().then_some(CHECK);
                *lock(&self.refused) = refused;
                if std::mem::replace(&mut before, true) {
                    // what was said meanwhile is lost
                    wakeups.reconnected();
                }
                let each = |message: &Msg| hearing::heard(wakeups, message.get_payload_bytes());
                let hearing = pin!(hearing::hear(connection, checked, each));
                // one that was taken out may live on alone, and hear of nothing
                let gone = pin!(slots.wait_for(|slots| !slots.masters().contains(server)));
                future::select(hearing, gone).await;
                cluster.doubt();
            }
            clock::sleep(PAUSE).await;
        }
    }

    /// That waiters poll, where they do.
    pub(super) fn finding(&self) -> Option<Finding> {
        let rights = lock(&self.refused).clone().into_iter().collect::<Vec<_>>();
        (!rights.is_empty()).then_some(Finding::Polls { rights })
    }
}
