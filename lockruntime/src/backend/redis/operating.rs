//! What operators ask for: all locks, what each server says of itself, and the end of a lock by hand.

use super::connect::Link;
use super::{CONNECT_LIMIT, SNAPSHOT_TIMEOUT, Shared, no_answer, reply, scan, survey};
use crate::backend::{
    BackendError, Eviction, Inventory, Listed, Listing, Release, Released, Survey,
};
use crate::options::Sharing;
use crate::token::OwnerToken;

impl Shared {
    /// Of several primaries each has its own keys: what some have is worth more than nothing.
    pub(super) async fn list(&self, listing: &Listing) -> Result<Inventory, BackendError> {
        let mut inventory = Inventory::default();
        let mut failed = None;
        let mut answered = false;
        for (_, link) in self.ways.links(CONNECT_LIMIT).await? {
            let found = match link {
                Ok(link) => self.list_of(&link, listing).await,
                Err(error) => Err(error),
            };
            match found {
                Ok(found) => {
                    answered = true;
                    inventory.locks.extend(found.locks);
                    inventory.gaps.extend(found.gaps);
                }
                Err(error) => {
                    inventory.gaps.push(error.to_string());
                    failed = Some(error);
                }
            }
        }
        inventory.locks.sort_by(|a: &Listed, b| a.key.cmp(&b.key));
        failed.filter(|_| !answered).map_or(Ok(inventory), Err)
    }

    async fn list_of(&self, link: &Link, listing: &Listing) -> Result<Inventory, BackendError> {
        let found = scan::list(link, &self.scripts.list, listing).await;
        let (locks, elsewhere) = found.map_err(|failed| match failed {
            scan::Failed::Silent => no_answer(link, SNAPSHOT_TIMEOUT),
            scan::Failed::Refused(error) => reply::failed(link.address(), error),
            scan::Failed::Odd => reply::unknown(link.address()),
        })?;
        let mut inventory = Inventory::from(locks);
        if elsewhere > 0 {
            inventory.gaps.push(format!(
                "{elsewhere} locks are on their way between Redis at {} and another server at this moment; look again soon",
                link.address()
            ));
        }
        Ok(inventory)
    }

    /// Of each server that has locks.
    pub(super) async fn survey(&self, listing: &Listing) -> Result<Vec<Survey>, BackendError> {
        let mut surveys = Vec::new();
        for (address, link) in self.ways.links(CONNECT_LIMIT).await? {
            surveys.push(match link {
                Ok(link) => survey::of(link.address(), &link, listing).await,
                Err(error) => Survey::silent(&address, error.to_string()),
            });
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
