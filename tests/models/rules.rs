//! What a run of the model is told: times in ticks, which rules hold, and how much may go wrong.

use crate::server::{Channel, Ticket};

/// Times in ticks; one tick is one poll interval unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) lease: u8,
    /// What a handed-over grant has, if the lease isn't shorter.
    pub(crate) grace: u8,
    /// How long a ticket lives without an ask.
    pub(crate) beat: u8,
    pub(crate) poll: u8,
    /// How long a call may take at its caller, and an ask at the server.
    pub(crate) answer: u8,
    /// The same for the ask of a caller that rejects: it isn't repeated and needn't hurry.
    pub(crate) answer_reject: u8,
    /// No body begins when only so much of its grant is left.
    pub(crate) breath: u8,
    /// How long a body runs at the most.
    pub(crate) body: u8,
    /// Dead tickets that one call drops at the most.
    pub(crate) drops: usize,
}

impl Times {
    pub(crate) fn claim(&self) -> u8 {
        self.grace.min(self.lease)
    }
}

/// Every rule that a run can leave out. What each prevents stands at its test in `left_out`.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one rule, kept or left out"
)]
pub(crate) struct Rules {
    // the scripts
    pub(crate) asks_end: bool,
    pub(crate) head_first: bool,
    pub(crate) help: bool,
    pub(crate) drop_dead: bool,
    pub(crate) waiter_deadline: bool,
    pub(crate) short_claim: bool,
    pub(crate) unique_numbers: bool,
    pub(crate) clock_floor: bool,
    pub(crate) release_compares_owner: bool,
    pub(crate) renew_compares_owner: bool,
    pub(crate) renew_compares_token: bool,
    pub(crate) renew_never_creates: bool,
    pub(crate) withdraw_hands_on: bool,
    // the callers
    pub(crate) polls: bool,
    pub(crate) push_compares_number: bool,
    pub(crate) claim_from_ask: bool,
    pub(crate) deadline_from_send: bool,
    pub(crate) begins_in_time: bool,
    pub(crate) deadline_before_poll: bool,
    pub(crate) takes_back_untaken: bool,
    pub(crate) renews_only_begun: bool,
    pub(crate) newer_token_ends_hold: bool,
    pub(crate) abandons_unanswered: bool,
    pub(crate) settles: bool,
    pub(crate) settles_crossed: bool,
    pub(crate) settles_by_server_time: bool,
    pub(crate) forgets_place: bool,
    pub(crate) untaken_lapses: bool,
}

/// The product's protocol.
pub(crate) const ALL: Rules = Rules {
    asks_end: true,
    head_first: true,
    help: true,
    drop_dead: true,
    waiter_deadline: true,
    short_claim: true,
    unique_numbers: true,
    clock_floor: true,
    release_compares_owner: true,
    renew_compares_owner: true,
    renew_compares_token: true,
    renew_never_creates: true,
    withdraw_hands_on: true,
    polls: true,
    push_compares_number: true,
    claim_from_ask: true,
    deadline_from_send: true,
    begins_in_time: true,
    deadline_before_poll: true,
    takes_back_untaken: true,
    renews_only_begun: true,
    newer_token_ends_hold: true,
    abandons_unanswered: true,
    settles: true,
    settles_crossed: true,
    settles_by_server_time: true,
    forgets_place: true,
    untaken_lapses: true,
};

/// How often each may happen in one run, at any moment.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(crate) struct Budget {
    /// A request or an answer is slow or lost.
    pub(crate) network: u8,
    /// A request is executed a second time, later, though it was answered: what a client library that re-sends by itself does.
    pub(crate) repeats: u8,
    /// A process stands still, for as long as it likes.
    pub(crate) pauses: u8,
    /// A caller's runtime is blocked while the keeper of its process goes on.
    pub(crate) blocks: u8,
    pub(crate) crashes: u8,
    /// A caller leaves: cancelled, or its waiting time over.
    pub(crate) leaves: u8,
    /// The server loses all data.
    pub(crate) flushes: u8,
}

pub(crate) const CALM: Budget = Budget {
    network: 0,
    repeats: 0,
    pauses: 0,
    blocks: 0,
    crashes: 0,
    leaves: 0,
    flushes: 0,
};

/// What a run measures; the bound of it is a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    None,
    /// A waiter waits, after the last fault.
    Wait(u8),
    /// The lock is free or handed over, and neither asked for nor used by its owner, while somebody waits.
    Idle(u8),
    /// The lock's owner has not begun, while somebody waits.
    Untaken(u8),
    /// The lock is owned by a ticket that is over.
    Ghost(u8),
    /// Anything is left when everybody is gone.
    Left(u8),
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) tickets: Ticket,
    /// At most so many of them wait or hold at once.
    pub(crate) seats: u8,
    pub(crate) channels: Vec<Channel>,
    /// This ticket never queues.
    pub(crate) rejects: Option<Ticket>,
    pub(crate) times: Times,
    pub(crate) rules: Rules,
    pub(crate) budget: Budget,
    pub(crate) bound: Bound,
}

impl Config {
    /// Three callers in three processes; lease 3, claim 2, tickets live 3, answers within 1.
    pub(crate) fn three(budget: Budget) -> Self {
        Self {
            tickets: 3,
            seats: 3,
            channels: vec![0, 1, 2],
            rejects: None,
            times: Times {
                lease: 3,
                grace: 2,
                beat: 3,
                poll: 1,
                answer: 1,
                answer_reject: 2,
                breath: 0,
                body: 3,
                drops: 9,
            },
            rules: ALL,
            budget,
            bound: Bound::None,
        }
    }

    pub(crate) fn is_rejecting(&self, ticket: Ticket) -> bool {
        self.rejects == Some(ticket)
    }

    /// How long a call of this ticket may take.
    pub(crate) fn ask_valid(&self, ticket: Ticket) -> u8 {
        if self.is_rejecting(ticket) {
            self.times.answer_reject
        } else {
            self.times.answer
        }
    }
}
