//! Bids on a quorum: two rounds over independent nodes, as in `lockruntime/src/backend/quorum` and its scripts.
//!
//! Every message of a bid may be executed at any time after it was sent, and never; which answers arrive is free as well. There
//! is no clock: in a run *without leases* a node forgets its owner whenever it likes, and only the tokens are looked at. In a
//! run *with leases* it does so when the owner's own deadline is over, as leases guarantee, and bodies must exclude each other.
#![expect(
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a handful of bids and nodes; the figures are what one looks at"
)]

use stateright::{Checker, HasDiscoveries, Model, Property, Representative};

const NODES: usize = 3;
const MAJORITY: u32 = 2;

/// What can be left out.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// The token is written back before the bid counts as won.
    write_back: bool,
    /// Only nodes whose counters were read count in the second round.
    readers_only: bool,
    /// A node that has seen the token or a greater one refuses the write-back.
    commit_compares: bool,
    /// What is freed has the bid's token, not only its ticket.
    free_compares: bool,
    /// A bid that took longer than its lease has not won.
    in_time: bool,
    /// A node that lost its data is left out for the longest lease.
    quarantine: bool,
    /// After that the clock stands in for its counter.
    floor: bool,
}

const ALL: Rules = Rules {
    write_back: true,
    readers_only: true,
    commit_compares: true,
    free_compares: true,
    in_time: true,
    quarantine: true,
    floor: true,
};

#[derive(Clone, Copy, Debug)]
struct Quorum {
    bids: usize,
    /// The first bids of this many are of one ticket.
    of_one_ticket: usize,
    leases: bool,
    crashes: u8,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Nobody,
    Bid(u8),
    Held { ticket: u8, token: u8 },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    owner: Owner,
    /// Whose deadline ends its lease here.
    since: u8,
    count: u8,
    /// It lost its data, and these bids may still hold.
    without: u8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Idle,
    First,
    Second,
    Won,
    Over,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Bid {
    phase: Phase,
    /// What the nodes that granted it have read.
    read: [Option<u8>; NODES],
    /// Nodes that have executed its grant, which is sent once.
    granted: u8,
    readers: u8,
    acks: u8,
    token: u8,
    has_won: bool,
    late: bool,
    /// Who had won before it began.
    after: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct State {
    nodes: [Node; NODES],
    bids: Vec<Bid>,
    crashes: u8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Step {
    Start(usize),
    Grant(usize, usize),
    Second(usize, u8),
    Commit(usize, usize),
    Win(usize),
    TopUp(usize, usize),
    Leave(usize),
    Free(usize, usize),
    Expire(usize),
    Crash(usize),
}

fn bit(at: usize) -> u8 {
    1 << at
}

impl Quorum {
    fn ticket(self, bid: usize) -> u8 {
        if bid < self.of_one_ticket {
            0
        } else {
            bid as u8
        }
    }

    fn owns(self, state: &State, bid: usize, owner: Owner) -> bool {
        let Bid { token, .. } = state.bids[bid];
        match owner {
            Owner::Nobody => false,
            Owner::Bid(id) => usize::from(id) == bid,
            Owner::Held { ticket, token: of } => {
                ticket == self.ticket(bid) && (of == token || !self.rules.free_compares)
            }
        }
    }

    fn counts(state: &State, node: usize) -> bool {
        let Node { without, .. } = state.nodes[node];
        (0..state.bids.len())
            .all(|bid| without & bit(bid) == 0 || state.bids[bid].phase == Phase::Over)
    }
}

impl Representative for State {
    /// The nodes are alike: put in order.
    fn representative(&self) -> Self {
        let mut order: Vec<usize> = (0..NODES).collect();
        let column = |node: &usize| {
            let of = |mask: u8| mask & bit(*node) != 0;
            let bids: Vec<_> = (self.bids.iter())
                .map(|bid| {
                    (
                        bid.read[*node],
                        of(bid.granted),
                        of(bid.readers),
                        of(bid.acks),
                    )
                })
                .collect();
            (self.nodes[*node], bids)
        };
        order.sort_by_key(column);
        let moved = |mask: u8| {
            let here = (0..NODES).filter(|at| mask & bit(order[*at]) != 0);
            here.map(bit).sum()
        };
        let mut state = self.clone();
        for (at, from) in order.iter().enumerate() {
            state.nodes[at] = self.nodes[*from];
        }
        for (bid, old) in state.bids.iter_mut().zip(&self.bids) {
            for (at, from) in order.iter().enumerate() {
                bid.read[at] = old.read[*from];
            }
            bid.granted = moved(old.granted);
            bid.readers = moved(old.readers);
            bid.acks = moved(old.acks);
        }
        state
    }
}

impl Model for Quorum {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let node = Node {
            owner: Owner::Nobody,
            since: 0,
            count: 0,
            without: 0,
        };
        let bid = Bid {
            phase: Phase::Idle,
            read: [None; NODES],
            granted: 0,
            readers: 0,
            acks: 0,
            token: 0,
            has_won: false,
            late: false,
            after: 0,
        };
        vec![State {
            nodes: [node; NODES],
            bids: vec![bid; self.bids],
            crashes: 0,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for (k, bid) in state.bids.iter().enumerate() {
            if bid.phase == Phase::Idle {
                // in order: they are alike. A ticket's next bid comes after its last one
                let before = k.checked_sub(1).map(|before| state.bids[before].phase);
                let free = k >= self.of_one_ticket || before.is_none_or(|of| of == Phase::Over);
                if before.is_none_or(|of| of != Phase::Idle) && free {
                    steps.push(Step::Start(k));
                }
                continue;
            }
            if bid.phase == Phase::First {
                let read = (0..NODES).filter(|node| bid.read[*node].is_some());
                let all: u8 = read.map(bit).sum();
                let majorities =
                    (1..=all).filter(|some| some & !all == 0 && some.count_ones() >= MAJORITY);
                steps.extend(majorities.map(|some| Step::Second(k, some)));
            }
            if bid.phase == Phase::Second {
                let acks = if self.rules.readers_only {
                    bid.acks & bid.readers
                } else {
                    bid.acks
                };
                let late = self.leases && self.rules.in_time && bid.late;
                if (acks.count_ones() >= MAJORITY || !self.rules.write_back) && !late {
                    steps.push(Step::Win(k));
                }
            }
            if bid.phase != Phase::Over {
                steps.push(Step::Leave(k));
            }
            for node in 0..NODES {
                // what has no effect is as good as never executed
                let of = state.nodes[node];
                let mine = of.owner == Owner::Bid(k as u8);
                let free = of.owner == Owner::Nobody;
                // its own time limit keeps a grant from being executed later
                if bid.granted & bit(node) == 0
                    && bid.phase != Phase::Over
                    && (free || mine)
                    && Self::counts(state, node)
                {
                    steps.push(Step::Grant(k, node));
                }
                let newer = self.rules.commit_compares && of.count >= bid.token;
                if bid.token > 0 && self.rules.write_back && mine && !newer {
                    steps.push(Step::Commit(k, node));
                }
                let newer = of.count > bid.token;
                if bid.has_won && free && !newer {
                    steps.push(Step::TopUp(k, node));
                }
                if bid.phase == Phase::Over && self.owns(state, k, state.nodes[node].owner) {
                    steps.push(Step::Free(k, node));
                }
            }
        }
        for (node, of) in state.nodes.iter().enumerate() {
            if of.owner != Owner::Nobody {
                let phase = state.bids[usize::from(of.since)].phase;
                // a body's lease outlasts its deadline
                if !self.leases || phase != Phase::Won {
                    steps.push(Step::Expire(node));
                }
            }
            if state.crashes < self.crashes {
                steps.push(Step::Crash(node));
            }
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::Start(k) => {
                let won = (0..self.bids).filter(|of| last.bids[*of].has_won);
                state.bids[k].after = won.map(bit).sum();
                state.bids[k].phase = Phase::First;
            }
            Step::Grant(k, node) => {
                state.bids[k].granted |= bit(node);
                state.nodes[node].owner = Owner::Bid(k as u8);
                state.nodes[node].since = k as u8;
                state.nodes[node].without = 0;
                if last.bids[k].phase == Phase::First {
                    state.bids[k].read[node] = Some(last.nodes[node].count);
                }
            }
            Step::Second(k, readers) => {
                let read = (0..NODES).filter(|node| readers & bit(*node) != 0);
                let greatest = read.filter_map(|node| last.bids[k].read[node]).max()?;
                // a ticket never shows a token twice
                let shown = (0..k)
                    .filter(|of| self.ticket(*of) == self.ticket(k))
                    .map(|of| last.bids[of].token);
                let bid = &mut state.bids[k];
                bid.token = greatest.max(shown.max().unwrap_or(0)) + 1;
                bid.phase = Phase::Second;
                bid.readers = readers;
                bid.read = [None; NODES];
            }
            Step::Commit(k, node) => {
                let bid = &mut state.bids[k];
                let of = &mut state.nodes[node];
                of.owner = Owner::Held {
                    ticket: self.ticket(k),
                    token: bid.token,
                };
                of.count = of.count.max(bid.token);
                of.since = k as u8;
                if bid.phase == Phase::Second {
                    bid.acks |= bit(node);
                }
            }
            Step::Win(k) => {
                state.bids[k].phase = Phase::Won;
                state.bids[k].has_won = true;
                state.bids[k].acks = 0;
            }
            Step::TopUp(k, node) => {
                let token = last.bids[k].token;
                let of = &mut state.nodes[node];
                of.owner = Owner::Held {
                    ticket: self.ticket(k),
                    token,
                };
                of.count = of.count.max(token);
                of.since = k as u8;
            }
            Step::Leave(k) => {
                state.bids[k].phase = Phase::Over;
                state.bids[k].read = [None; NODES];
                state.bids[k].acks = 0;
            }
            Step::Free(_, node) => state.nodes[node].owner = Owner::Nobody,
            Step::Expire(node) => {
                let bid = &mut state.bids[usize::from(last.nodes[node].since)];
                bid.late |= matches!(bid.phase, Phase::First | Phase::Second);
                state.nodes[node].owner = Owner::Nobody;
            }
            Step::Crash(node) => {
                state.crashes += 1;
                let begun = (0..self.bids)
                    .filter(|k| !matches!(last.bids[*k].phase, Phase::Idle | Phase::Over));
                let shown = last.bids.iter().map(|bid| bid.token);
                state.nodes[node] = Node {
                    owner: Owner::Nobody,
                    since: 0,
                    count: if self.rules.floor { shown.max()? } else { 0 },
                    without: if self.rules.quarantine {
                        begun.map(bit).sum()
                    } else {
                        0
                    },
                };
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("tokens differ", |_, state: &State| {
                let won = state.bids.iter().filter(|bid| bid.has_won);
                let mut tokens: Vec<_> = won.map(|bid| bid.token).collect();
                tokens.sort_unstable();
                tokens.windows(2).all(|pair| pair[0] != pair[1])
            }),
            Property::always("tokens grow", |_, state: &State| {
                state.bids.iter().filter(|bid| bid.has_won).all(|bid| {
                    let before = state.bids.iter().enumerate();
                    before
                        .filter(|(of, _)| bid.after & bit(*of) != 0)
                        .all(|(_, earlier)| earlier.token < bid.token)
                })
            }),
            Property::always("one body", |model: &Self, state: &State| {
                let running = state.bids.iter().filter(|bid| bid.phase == Phase::Won);
                !model.leases || running.count() <= 1
            }),
            Property::sometimes("everybody can win", |_, state: &State| {
                state.bids.iter().all(|bid| bid.has_won)
            }),
        ]
    }
}

const TOKENS: Quorum = Quorum {
    bids: 2,
    of_one_ticket: 0,
    leases: false,
    crashes: 0,
    rules: ALL,
};
const BODIES: Quorum = Quorum {
    leases: true,
    ..TOKENS
};

fn holds(what: &str, model: Quorum) {
    let search = model
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .symmetry()
        .spawn_dfs()
        .join();
    println!("{what}: {} states", search.unique_state_count());
    search.assert_properties();
}

fn breaks(rule: &str, model: Quorum, property: &str) {
    let search = model
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let found = search
        .discovery(
            ["tokens differ", "tokens grow", "one body"]
                .into_iter()
                .find(|of| *of == property)
                .unwrap(),
        )
        .unwrap_or_else(|| {
            panic!(
                "{rule}: nothing found in {} states",
                search.unique_state_count()
            )
        });
    let steps = found.into_actions();
    println!(
        "without {rule}: {property} breaks in {} steps: {steps:?}",
        steps.len()
    );
}

#[test]
fn tokens_grow_whatever_clocks_and_messages_do() {
    holds("two bids without leases", TOKENS);
}

#[test]
fn bodies_exclude_each_other_while_leases_hold() {
    holds("two bids with leases", BODIES);
}

#[test]
fn a_node_may_lose_its_data() {
    if !tests::timing::is_long() {
        println!("left out; LOCK_TEST_LONG=1 runs it: 650,000 states, half a minute");
        return;
    }
    holds(
        "two bids with leases, a node loses its data",
        Quorum {
            crashes: 1,
            ..BODIES
        },
    );
}

#[test]
fn a_tickets_second_bid_is_not_harmed_by_its_first() {
    holds(
        "two bids of one ticket, with leases",
        Quorum {
            of_one_ticket: 2,
            ..BODIES
        },
    );
}

#[test]
fn without_the_write_back_tokens_repeat() {
    let rules = Rules {
        write_back: false,
        ..ALL
    };
    breaks(
        "the write-back",
        Quorum { rules, ..TOKENS },
        "tokens differ",
    );
}

/// Either of the two is enough.
#[test]
fn acknowledgements_of_nodes_that_were_not_read_let_tokens_repeat() {
    let rules = Rules {
        readers_only: false,
        commit_compares: false,
        ..ALL
    };
    breaks(
        "readers only, and without the comparison",
        Quorum { rules, ..TOKENS },
        "tokens differ",
    );
}

#[test]
fn a_bid_that_outlived_its_lease_does_not_win() {
    let rules = Rules {
        in_time: false,
        ..ALL
    };
    breaks("the time limit", Quorum { rules, ..BODIES }, "one body");
}

/// A ticket's first bid that is cleaned up late must not free what its second has won.
#[test]
fn cleaning_up_by_ticket_alone_frees_a_later_bid() {
    let rules = Rules {
        free_compares: false,
        ..ALL
    };
    let model = Quorum {
        bids: 3,
        of_one_ticket: 2,
        rules,
        ..BODIES
    };
    breaks("the token of what is freed", model, "one body");
}

#[test]
fn a_node_that_forgot_is_left_out_for_a_lease() {
    let rules = Rules {
        quarantine: false,
        ..ALL
    };
    let model = Quorum {
        crashes: 1,
        rules,
        ..BODIES
    };
    breaks("the quarantine", model, "one body");
}

#[test]
fn a_node_that_forgot_counts_from_the_clock() {
    let rules = Rules {
        floor: false,
        ..ALL
    };
    let model = Quorum {
        crashes: 1,
        rules,
        ..BODIES
    };
    breaks("the clock as a floor", model, "tokens differ");
}
