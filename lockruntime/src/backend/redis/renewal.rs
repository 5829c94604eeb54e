//! The call that lengthens a hold, held alone or beside others.

use std::time::Duration;

use redis::{Cmd, RedisError, Value};

use super::connect::Link;
use super::script::{Script, Scripts};
use super::{keys, record};
use crate::backend::Renew;
use crate::clock::millis_up;
use crate::options::Sharing;
use crate::token::{FencingToken, OwnerToken};

/// A hold, and how long it shall last from now on.
pub(super) struct Standing<'a> {
    pub(super) record: &'a str,
    pub(super) ticket: OwnerToken,
    pub(super) token: FencingToken,
    pub(super) lease: Duration,
    pub(super) sharing: Sharing,
}

impl<'a> From<&'a Renew> for Standing<'a> {
    fn from(renew: &'a Renew) -> Self {
        Self {
            record: &renew.record,
            ticket: renew.ticket,
            token: renew.token,
            lease: renew.lease,
            sharing: renew.sharing,
        }
    }
}

/// The script, and what it is given.
pub(super) struct Renewal<'a> {
    script: &'a Script,
    pub(super) keys: Vec<String>,
    arguments: Vec<String>,
}

impl<'a> Renewal<'a> {
    pub(super) fn of(scripts: &'a Scripts, hold: &Standing<'_>) -> Self {
        let lease = millis_up(hold.lease).to_string();
        // held alone, its record is all that has to be looked at
        if hold.sharing.is_alone() {
            return Self {
                script: &scripts.renew,
                keys: vec![hold.record.to_owned()],
                arguments: vec![record::owned_by(hold.ticket, hold.token), lease],
            };
        }
        let (ticket, token) = (hold.ticket.to_string(), record::digits(hold.token));
        Self {
            script: &scripts.shared.renew,
            keys: keys::of_hold(hold.record).to_vec(),
            arguments: vec![ticket, token, lease],
        }
    }

    pub(super) async fn call(&self, link: &Link, asking: bool) -> Result<Value, RedisError> {
        (self.script)
            .call(link, asking, &self.keys, &self.arguments)
            .await
    }

    /// The command that needs no script on the server.
    pub(super) fn whole(&self) -> Cmd {
        self.script.whole(&self.keys, &self.arguments)
    }
}
