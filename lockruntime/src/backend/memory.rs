//! Locks within one process: the contract's reference implementation.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::{
    Answer, Ask, Asked, Backend, BackendError, BoxFuture, Capabilities, Eviction, HandOver, Held,
    Holder, Inventory, Listed, Listing, RECORD_VERSION, Release, Released, Renew, Renewals,
    Renewed, Snapshot, Standing, WaitingTicket, Wakeups, Withdraw, Withdrawn,
};
use crate::clock::{self, Moment};
use crate::options::{Mode, Sharing};
use crate::token::{FencingToken, OwnerToken};

/// Dead tickets that one call drops at the most, as on a server.
const DROPS: usize = 64;
const SHOWN: usize = 1_000;

/// Locks within one process. Clones share their locks: give one clone to each manager that shall exclude the others.
#[derive(Clone, Debug, Default)]
pub struct MemoryBackend {
    store: Arc<Mutex<Store>>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    locks: HashMap<Arc<str>, Lock>,
    channels: HashMap<Arc<str>, Wakeups>,
    /// The last number given out, for places and tokens alike.
    last: u64,
}

#[derive(Debug, Default)]
struct Lock {
    /// One alone, or several that share it alike; those whose lease is over only until somebody looks.
    owners: Vec<Owner>,
    /// By arrival number.
    queue: BTreeMap<u64, Ticket>,
    numbers: HashMap<OwnerToken, u64>,
}

#[derive(Debug)]
struct Owner {
    ticket: OwnerToken,
    token: FencingToken,
    sharing: Sharing,
    until: Moment,
    lease: Duration,
    holder: Arc<Holder>,
}

impl Owner {
    fn held(&self, now: Moment) -> Held {
        Held {
            owner: self.ticket,
            token: self.token,
            sharing: self.sharing,
            left: self.until.since(now),
            holder: Some((*self.holder).clone()),
            lease: Some(self.lease),
            age: since(self.token.get()),
            version: RECORD_VERSION,
        }
    }
}

/// How long ago a number was given: they are moments of the wall clock.
fn since(number: u64) -> Duration {
    Duration::from_micros(clock::wall_micros().saturating_sub(number))
}

#[derive(Debug)]
struct Ticket {
    ticket: OwnerToken,
    sharing: Sharing,
    alive_until: Moment,
    claim: Duration,
    lease: Duration,
    channel: Arc<str>,
    holder: Arc<Holder>,
}

impl MemoryBackend {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // nothing that is done under this lock panics half-way
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Store {
    pub(crate) fn listen(&mut self, channel: &Arc<str>, wakeups: Wakeups) {
        self.channels.insert(Arc::clone(channel), wakeups);
    }

    pub(crate) fn owners(&self, record: &str, now: Moment) -> Vec<(OwnerToken, FencingToken)> {
        let owners = self.locks.get(record).map(|lock| lock.owners.iter());
        let owners = owners.into_iter().flatten();
        owners
            .filter(|owner| owner.until > now)
            .map(|owner| (owner.ticket, owner.token))
            .collect()
    }
}

impl Store {
    fn number(&mut self) -> u64 {
        self.last = (self.last + 1).max(clock::wall_micros());
        self.last
    }

    pub(crate) fn ask(&mut self, ask: &Ask, now: Moment) -> Answer {
        let mut lock = self.locks.remove(&ask.record).unwrap_or_default();
        let answer = self.ask_of(&mut lock, ask, now);
        self.put_back(&ask.record, lock);
        answer
    }

    fn ask_of(&mut self, lock: &mut Lock, ask: &Ask, now: Moment) -> Answer {
        lock.expire(now);
        if let Some(owner) = lock.owner(ask.ticket) {
            owner.until = owner.until.max(now + ask.lease);
            return Answer::Held { token: owner.token };
        }
        if let Some(present) = lock.differs(ask.sharing) {
            lock.remove(ask.ticket);
            self.advance(lock, now, None, None);
            return Answer::Differs { present };
        }
        let mine = lock.numbers.get(&ask.ticket).copied();
        let (_, head) = self.advance(lock, now, mine, None);
        let my_turn = match head {
            Head::More => false,
            Head::None => true,
            Head::Live(number) => Some(number) == mine,
        };
        if my_turn && lock.fits(ask.sharing) {
            lock.remove(ask.ticket);
            let token = FencingToken::new(self.number());
            lock.owners.push(Owner {
                ticket: ask.ticket,
                token,
                sharing: ask.sharing,
                until: now + ask.lease,
                lease: ask.lease,
                holder: Arc::clone(&ask.holder),
            });
            // those behind it may have it too, and nobody else tells them
            self.advance(lock, now, None, None);
            return Answer::Held { token };
        }
        let left = lock.left(ask.sharing).map(|until| until.since(now));
        if ask.mode == Mode::Reject {
            let waiting = None;
            return Answer::Busy { left, waiting };
        }
        if mine.is_none()
            && let Some(most) = ask.max_waiters
            && lock.living(now) >= u64::from(most)
        {
            let waiting = Some(lock.queue.len() as u64);
            return Answer::Busy { left, waiting };
        }
        let number = mine.unwrap_or_else(|| self.number());
        let ticket = lock.queue.entry(number).or_insert_with(|| Ticket {
            ticket: ask.ticket,
            sharing: ask.sharing,
            alive_until: now,
            claim: ask.claim,
            lease: ask.lease,
            channel: Arc::clone(&ask.channel),
            holder: Arc::clone(&ask.holder),
        });
        ticket.alive_until = now + ask.beat;
        lock.numbers.insert(ask.ticket, number);
        let rank = lock.queue.range(..number).count() as u64;
        Answer::Waiting {
            number,
            rank,
            left: left.unwrap_or_default(),
        }
    }

    /// Gives the lock to those who are next, as many as may have it beside each other, but only so many a call; not to the ticket
    /// of this number. `by`: the releasing process. Answers what became of the lock, and who is first then.
    fn advance(
        &mut self,
        lock: &mut Lock,
        now: Moment,
        but: Option<u64>,
        by: Option<&Arc<str>>,
    ) -> (Released, Head) {
        let mut released = Released::Free;
        for _ in 0..DROPS {
            let head = lock.head(now);
            let Head::Live(number) = head else {
                return (released, head);
            };
            let next = lock.queue.get(&number).map(|ticket| ticket.sharing);
            if Some(number) == but || next.is_none_or(|sharing| !lock.fits(sharing)) {
                return (released, head);
            }
            released = self.give(lock, now, by).unwrap_or(released);
        }
        (released, Head::More)
    }

    /// Hands the lock to the head of the queue: where it has it alone and waits in the releasing process, for its whole lease.
    fn give(&mut self, lock: &mut Lock, now: Moment, by: Option<&Arc<str>>) -> Option<Released> {
        let (number, head) = lock.queue.pop_first()?;
        lock.numbers.remove(&head.ticket);
        let token = FencingToken::new(self.number());
        let local = head.sharing.is_alone() && by == Some(&head.channel);
        let until = now + if local { head.lease } else { head.claim };
        lock.owners.push(Owner {
            ticket: head.ticket,
            token,
            sharing: head.sharing,
            until,
            lease: head.lease,
            holder: head.holder,
        });
        let hand_over = HandOver::new(head.ticket, number, token);
        if local {
            return Some(Released::Next(hand_over));
        }
        if let Some(channel) = self.channels.get(&head.channel) {
            channel.handed_over(hand_over);
        }
        Some(Released::Passed)
    }

    pub(crate) fn renew(&mut self, renew: &Renew, now: Moment) -> Renewed {
        let Some(lock) = self.locks.get_mut(&renew.record) else {
            return Renewed::Lost;
        };
        lock.expire(now);
        match lock.owner(renew.ticket) {
            Some(owner) if owner.token == renew.token => {
                owner.until = owner.until.max(now + renew.lease);
                Renewed::Renewed
            }
            _ => Renewed::Lost,
        }
    }

    pub(crate) fn release(
        &mut self,
        record: &Arc<str>,
        ticket: OwnerToken,
        channel: &Arc<str>,
        withdraws: bool,
        keep: Option<Duration>,
        now: Moment,
    ) -> Released {
        let Some(mut lock) = self.locks.remove(record) else {
            return Released::NotHeld;
        };
        if withdraws {
            lock.remove(ticket);
        }
        lock.expire(now);
        let released = match (lock.owner(ticket), keep) {
            (Some(owner), Some(keep)) => {
                owner.until = now + keep;
                Released::Kept
            }
            (held, _) => {
                let held = held.is_some();
                lock.owners.retain(|owner| owner.ticket != ticket);
                // also if there was nothing to give back: the ticket may have stood in somebody's way
                let by = held.then_some(channel);
                let (released, _) = self.advance(&mut lock, now, None, by);
                if held { released } else { Released::NotHeld }
            }
        };
        self.put_back(record, lock);
        released
    }

    fn put_back(&mut self, record: &Arc<str>, lock: Lock) {
        if !lock.owners.is_empty() || !lock.queue.is_empty() {
            self.locks.insert(Arc::clone(record), lock);
        }
    }
}

enum Head {
    Live(u64),
    None,
    More,
}

impl Lock {
    fn expire(&mut self, now: Moment) {
        self.owners.retain(|owner| owner.until > now);
    }

    fn owner(&mut self, ticket: OwnerToken) -> Option<&mut Owner> {
        self.owners.iter_mut().find(|owner| owner.ticket == ticket)
    }

    /// Whether one more may hold the lock, who shares it so.
    fn fits(&self, sharing: Sharing) -> bool {
        self.owners.first().is_none_or(|owner| {
            sharing.shares_with(owner.sharing) && self.owners.len() < sharing.most()
        })
    }

    /// How those share the lock who hold it, if `sharing` is another way to share it.
    fn differs(&self, sharing: Sharing) -> Option<Sharing> {
        let present = self.owners.first()?.sharing;
        let differs = !present.is_alone() && !sharing.is_alone() && present != sharing;
        differs.then_some(present)
    }

    /// When the lock may be free for one who shares it so: one permit more, else all of it.
    fn left(&self, sharing: Sharing) -> Option<Moment> {
        let ends = self.owners.iter().map(|owner| owner.until);
        let first = self.owners.first()?;
        if sharing.shares_with(first.sharing) {
            ends.min()
        } else {
            ends.max()
        }
    }

    /// Drops dead tickets from the front, at most so many.
    fn head(&mut self, now: Moment) -> Head {
        for _ in 0..DROPS {
            match self.queue.first_entry() {
                None => return Head::None,
                Some(first) if first.get().alive_until > now => return Head::Live(*first.key()),
                Some(dead) => {
                    self.numbers.remove(&dead.remove().ticket);
                }
            }
        }
        Head::More
    }

    /// How many living tickets wait. Drops all dead ones.
    fn living(&mut self, now: Moment) -> u64 {
        let numbers = &mut self.numbers;
        self.queue.retain(|_, ticket| {
            let lives = ticket.alive_until > now;
            if !lives {
                numbers.remove(&ticket.ticket);
            }
            lives
        });
        self.queue.len() as u64
    }

    fn remove(&mut self, ticket: OwnerToken) {
        if let Some(number) = self.numbers.remove(&ticket) {
            self.queue.remove(&number);
        }
    }
}

impl Backend for MemoryBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            across_processes: false,
            fifo: true,
            wakeups: true,
            shares: true,
            ..Capabilities::new()
        }
    }

    fn run(&self, channel: &str, wakeups: Wakeups) -> BoxFuture<()> {
        let channel: Arc<str> = channel.into();
        self.store().channels.insert(Arc::clone(&channel), wakeups);
        let listening = Listening {
            store: Arc::downgrade(&self.store),
            channel,
        };
        Box::pin(async move {
            let _listening = listening;
            std::future::pending().await
        })
    }

    fn ask(&self, ask: Ask) -> BoxFuture<Asked> {
        let answer = self.store().ask(&ask, clock::now());
        Box::pin(ready(Asked::new(Ok(answer), 0)))
    }

    fn renew(&self, batch: Vec<Renew>, renewals: Renewals) -> BoxFuture<()> {
        let now = clock::now();
        for (index, renew) in batch.iter().enumerate() {
            let renewed = self.store().renew(renew, now);
            renewals.report(index, Ok(renewed));
        }
        Box::pin(ready(()))
    }

    fn release(&self, release: Release) -> BoxFuture<Result<Released, BackendError>> {
        let released = self.store().release(
            &release.record,
            release.ticket,
            &release.channel,
            false,
            release.keep,
            clock::now(),
        );
        Box::pin(ready(Ok(released)))
    }

    fn withdraw(&self, withdraw: Withdraw) -> BoxFuture<Result<Withdrawn, BackendError>> {
        let released = self.store().release(
            &withdraw.record,
            withdraw.ticket,
            &withdraw.channel,
            true,
            None,
            clock::now(),
        );
        // an ask is executed at once or never: any time settles it
        Box::pin(ready(Ok(Withdrawn::new(released, u64::MAX))))
    }

    fn list(&self, listing: Listing) -> BoxFuture<Result<Inventory, BackendError>> {
        let now = clock::now();
        let store = self.store();
        let mut listed: Vec<_> = store
            .locks
            .iter()
            .filter_map(|(record, lock)| {
                let key = listing.key_of(record)?.to_owned();
                let owner = lock.owners.iter().find(|owner| owner.until > now);
                let standing =
                    owner.map_or(Standing::Free, |owner| Standing::Held(owner.held(now)));
                let waiting = lock.queue.len() as u64;
                (standing != Standing::Free || waiting > 0).then(|| Listed {
                    key,
                    standing,
                    waiting,
                    waits: lock
                        .queue
                        .keys()
                        .take(50)
                        .map(|number| since(*number))
                        .collect(),
                })
            })
            .collect();
        drop(store);
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        Box::pin(ready(Ok(listed.into())))
    }

    fn evict(&self, eviction: Eviction) -> BoxFuture<Result<Released, BackendError>> {
        // no process releases it, so its own waiters are told like all others
        let nowhere: Arc<str> = "".into();
        let Eviction { record, owner, .. } = eviction;
        let released = self
            .store()
            .release(&record, owner, &nowhere, false, None, clock::now());
        Box::pin(ready(Ok(released)))
    }

    fn snapshot(&self, record: &str) -> BoxFuture<Result<Snapshot, BackendError>> {
        let now = clock::now();
        let store = self.store();
        let lock = store.locks.get(record);
        let mut owners: Vec<&Owner> = lock.map_or(Vec::new(), |lock| {
            let owners = lock.owners.iter();
            owners.filter(|owner| owner.until > now).collect()
        });
        owners.sort_by_key(|owner| owner.until);
        let mut holders = owners.into_iter().take(SHOWN).map(|owner| owner.held(now));
        let held = holders.next();
        let beside = holders.collect();
        let waiting = lock
            .into_iter()
            .flat_map(|lock| lock.queue.iter())
            .take(SHOWN)
            .map(|(number, ticket)| WaitingTicket {
                member: ticket.holder.member(ticket.ticket),
                number: *number,
                alive_for: (ticket.alive_until > now).then(|| ticket.alive_until.since(now)),
                waited: since(*number),
                holder: Some((*ticket.holder).clone()),
            });
        let snapshot = Snapshot {
            held,
            beside,
            waiting: waiting.collect(),
        };
        drop(store);
        Box::pin(ready(Ok(snapshot)))
    }
}

/// A channel that is listened to; gone with the manager.
struct Listening {
    store: Weak<Mutex<Store>>,
    channel: Arc<str>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            store
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .channels
                .remove(&self.channel);
        }
    }
}
