//! What operators ask for: all locks, what each server says of itself, and the end of a lock by hand.

use super::{CONNECT_LIMIT, SNAPSHOT_TIMEOUT, Shared, no_answer, reply, scan, survey};
use crate::backend::{BackendError, Eviction, Listed, Listing, Release, Released, Survey};
use crate::options::Sharing;
use crate::token::OwnerToken;

impl Shared {
    pub(super) async fn list(&self, listing: &Listing) -> Result<Vec<Listed>, BackendError> {
        let mut listed = Vec::new();
        for link in self.ways.links(CONNECT_LIMIT).await? {
            let found = scan::list(&link, &self.scripts.list, listing).await;
            listed.extend(found.map_err(|failed| match failed {
                scan::Failed::Silent => no_answer(&link, SNAPSHOT_TIMEOUT),
                scan::Failed::Refused(error) => reply::failed(link.address(), error),
                scan::Failed::Odd => reply::unknown(link.address()),
            })?);
        }
        // of several primaries each has its own keys, in order
        listed.sort_by(|a: &Listed, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    /// Of each server that has locks.
    pub(super) async fn survey(&self, listing: &Listing) -> Result<Vec<Survey>, BackendError> {
        let mut surveys = Vec::new();
        for link in self.ways.links(CONNECT_LIMIT).await? {
            surveys.push(survey::of(link.address(), &link, listing).await);
        }
        Ok(surveys)
    }

    /// The release script, by somebody who isn't the owner and names him. The one of those who share knows all holders.
    pub(super) async fn evict(&self, eviction: Eviction) -> Result<Released, BackendError> {
        let Eviction {
            record,
            owner: ticket,
            timeout,
            ..
        } = eviction;
        // what stands for all of them is nobody's
        if ticket == OwnerToken::ALL {
            return Ok(Released::NotHeld);
        }
        self.release(&Release {
            sharing: Sharing::Read,
            record,
            ticket,
            channel: "".into(),
            keep: None,
            timeout,
        })
        .await
    }
}
