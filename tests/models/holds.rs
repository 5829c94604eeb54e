//! What must hold, whatever happens within the budget: every state is visited.

use crate::checker::{holds, holds_long};
use crate::rules::{ALL, Bound, Budget, CALM, Config, Rules, Times};

const NETWORK: Budget = Budget { network: 1, ..CALM };
const NO_NETWORK: Budget = Budget {
    pauses: 1,
    crashes: 1,
    leaves: 1,
    ..CALM
};
const ONE_OF_EACH: Budget = Budget {
    network: 1,
    ..NO_NETWORK
};

fn three(budget: Budget) -> Config {
    Config::three(budget)
}

fn two(budget: Budget) -> Config {
    Config {
        tickets: 2,
        ..three(budget)
    }
}

fn with(c: Config, change: impl FnOnce(&mut Times)) -> Config {
    let mut times = c.times;
    change(&mut times);
    Config { times, ..c }
}

/// A body doesn't begin on the last tick of a grant.
fn breath(c: Config) -> Config {
    with(c, |times| {
        (times.lease, times.grace, times.beat, times.breath) = (4, 3, 4, 1);
    })
}

#[test]
fn without_faults() {
    holds("three callers, no fault", &three(CALM));
}

#[test]
fn two_callers_with_one_of_each_fault() {
    holds("two callers, one of each fault", &two(ONE_OF_EACH));
}

#[test]
fn two_callers_with_two_network_faults_and_one_of_each_other() {
    let budget = Budget {
        network: 2,
        pauses: 1,
        crashes: 1,
        leaves: 1,
        ..CALM
    };
    holds_long(
        "two callers, two network faults and one of each other",
        &two(budget),
    );
}

#[test]
fn two_callers_with_three_network_faults() {
    let budget = Budget { network: 3, ..CALM };
    holds("two callers, three network faults", &two(budget));
}

#[test]
fn three_callers_with_a_network_fault_and_a_pause() {
    holds(
        "network fault and pause",
        &three(Budget {
            pauses: 1,
            ..NETWORK
        }),
    );
}

#[test]
fn three_callers_with_a_network_fault_and_a_crash() {
    holds(
        "network fault and crash",
        &three(Budget {
            crashes: 1,
            ..NETWORK
        }),
    );
}

#[test]
fn three_callers_with_a_network_fault_and_one_that_leaves() {
    holds(
        "network fault and leave",
        &three(Budget {
            leaves: 1,
            ..NETWORK
        }),
    );
}

#[test]
fn three_callers_with_a_pause_a_crash_and_one_that_leaves() {
    holds("pause, crash and leave", &three(NO_NETWORK));
}

#[test]
fn three_callers_with_two_pauses_and_two_that_leave() {
    let budget = Budget {
        pauses: 2,
        leaves: 2,
        ..CALM
    };
    holds_long("two pauses, two leave", &three(budget));
}

#[test]
fn three_callers_with_two_network_faults() {
    holds_long("two network faults", &three(Budget { network: 2, ..CALM }));
}

#[test]
fn three_callers_with_one_of_each_fault() {
    holds_long("one of each fault", &three(ONE_OF_EACH));
}

#[test]
fn requests_executed_twice() {
    let budget = Budget {
        repeats: 1,
        leaves: 1,
        pauses: 1,
        ..CALM
    };
    holds_long("a request executed twice, pause and leave", &three(budget));
    let budget = Budget {
        repeats: 2,
        leaves: 1,
        ..NETWORK
    };
    holds(
        "two requests executed twice, network fault and leave",
        &two(budget),
    );
}

#[test]
fn four_tickets_on_two_seats() {
    let c = Config {
        tickets: 4,
        seats: 2,
        channels: vec![0, 1, 0, 1],
        ..three(NETWORK)
    };
    holds("four tickets on two seats, network fault", &c);
}

#[test]
fn two_callers_of_one_process() {
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    let c = Config {
        channels: vec![0, 0, 1],
        ..three(budget)
    };
    holds("two callers of one process, network fault and leave", &c);
}

#[test]
fn process_with_two_callers_stands_still_or_dies() {
    let c = Config {
        channels: vec![0, 1, 0],
        ..three(NO_NETWORK)
    };
    holds("two callers of one process, pause, crash and leave", &c);
}

#[test]
fn one_caller_rejects_and_its_ask_may_take_longer() {
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    let c = Config {
        rejects: Some(2),
        ..three(budget)
    };
    holds("one caller rejects, network fault and leave", &c);
    let budget = Budget {
        pauses: 1,
        ..budget
    };
    holds_long(
        "one caller rejects, network fault, pause and leave",
        &Config { budget, ..c },
    );
}

#[test]
fn lease_shorter_than_the_grace() {
    let c = with(
        three(Budget {
            pauses: 1,
            ..NETWORK
        }),
        |times| {
            (times.lease, times.grace, times.body) = (2, 3, 2);
        },
    );
    holds("lease 2, grace 3, network fault and pause", &c);
}

#[test]
fn ask_every_second_tick() {
    let c = with(
        three(Budget {
            pauses: 1,
            ..NETWORK
        }),
        |times| {
            (times.lease, times.grace, times.poll, times.beat) = (4, 3, 2, 6);
        },
    );
    holds_long("lease 4, poll 2, grace 3, beat 6", &c);
    holds(
        "lease 4, poll 2, grace 3, beat 6, two callers",
        &Config { tickets: 2, ..c },
    );
}

#[test]
fn one_dead_ticket_dropped_a_call() {
    let c = with(
        three(Budget {
            crashes: 2,
            ..NETWORK
        }),
        |times| times.drops = 1,
    );
    holds(
        "one dead ticket dropped a call, network fault, two crashes",
        &c,
    );
}

#[test]
fn no_body_begins_on_the_last_breath() {
    let c = breath(three(Budget {
        pauses: 1,
        ..NETWORK
    }));
    holds_long("last breath, network fault and pause", &c);
    holds(
        "last breath, network fault and pause, two callers",
        &Config { tickets: 2, ..c },
    );
}

#[test]
fn blocked_caller_beside_a_running_keeper() {
    let budget = Budget {
        blocks: 1,
        leaves: 1,
        ..CALM
    };
    holds("blocked caller and leave", &breath(three(budget)));
    let budget = Budget {
        network: 1,
        ..budget
    };
    holds_long(
        "blocked caller, network fault and leave",
        &breath(three(budget)),
    );
}

#[test]
fn tokens_grow_over_a_loss_of_all_data() {
    let budget = Budget {
        flushes: 1,
        pauses: 1,
        ..NETWORK
    };
    holds("data lost, network fault and pause", &two(budget));
    let budget = Budget {
        flushes: 1,
        leaves: 1,
        ..CALM
    };
    holds("data lost, leave", &three(budget));
}

/// The model finds no use for this rule: the keeper has it for tidiness.
#[test]
fn place_that_is_not_forgotten_does_no_harm() {
    let rules = Rules {
        forgets_place: false,
        ..ALL
    };
    let budget = Budget {
        pauses: 1,
        ..NETWORK
    };
    holds(
        "place not forgotten, two callers",
        &Config {
            rules,
            ..breath(two(budget))
        },
    );
    holds_long(
        "place not forgotten",
        &Config {
            rules,
            ..breath(three(budget))
        },
    );
}

// --- bounds

fn bound(bound: Bound, c: Config) -> Config {
    Config { bound, ..c }
}

fn idle(most: u8, c: Config) -> Config {
    bound(Bound::Idle(most), c)
}

fn ghost(most: u8, c: Config) -> Config {
    with(bound(Bound::Ghost(most), c), |times| times.lease = 6)
}

/// Two bodies of 3 before it, and little more.
#[test]
fn waiter_waits_for_the_bodies_before_it_and_little_more() {
    let wait = |c| bound(Bound::Wait(9), c);
    holds("waits after the last network fault", &wait(three(NETWORK)));
    holds(
        "waits after the last pause, crash and leave",
        &wait(three(NO_NETWORK)),
    );
}

/// A grace and a poll at the most for each who doesn't take its turn.
#[test]
fn dead_waiter_costs_a_grace_and_a_poll() {
    holds(
        "idle, a crash",
        &idle(2, three(Budget { crashes: 1, ..CALM })),
    );
    let one_a_call = with(three(Budget { crashes: 2, ..CALM }), |times| {
        times.drops = 1
    });
    holds(
        "idle, two crashes, one dropped a call",
        &idle(2, one_a_call),
    );
    holds(
        "idle, a pause",
        &idle(2, three(Budget { pauses: 1, ..CALM })),
    );
    holds(
        "idle, one leaves",
        &idle(2, three(Budget { leaves: 1, ..CALM })),
    );
    holds("idle, a network fault", &idle(2, three(NETWORK)));
    holds("idle, pause, crash and leave", &idle(5, three(NO_NETWORK)));
    let long_beat = with(three(NO_NETWORK), |times| times.beat = 5);
    holds("idle, pause, crash and leave, beat 5", &idle(5, long_beat));
}

/// As long as an unanswered ask may still be executed, and one tick, for each of them.
#[test]
fn one_who_left_keeps_the_lock_no_longer_than_its_last_ask() {
    holds(
        "kept by one who left",
        &ghost(0, three(Budget { leaves: 1, ..CALM })),
    );
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    holds(
        "kept by one who left, network fault",
        &ghost(2, three(budget)),
    );
    let budget = Budget {
        leaves: 1,
        network: 2,
        ..CALM
    };
    holds(
        "kept by one who left, two network faults",
        &ghost(4, two(budget)),
    );
}

/// An answered ask is not settled: the product sends each request once. A client that re-sends by itself would cost a lease.
#[test]
fn ask_executed_again_after_its_answer_costs_a_lease() {
    let budget = Budget {
        leaves: 1,
        repeats: 1,
        ..CALM
    };
    holds(
        "kept by one who left, an ask executed twice",
        &ghost(6, three(budget)),
    );
}

/// Whoever leaves gives everything back before it is over; a dead ticket's keys live two beats after the last ask at most.
#[test]
fn nothing_is_left_when_all_are_gone() {
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    holds(
        "left behind, network fault and leave",
        &bound(Bound::Left(0), three(budget)),
    );
    let budget = Budget {
        crashes: 1,
        ..NETWORK
    };
    holds(
        "left behind, network fault and crash",
        &bound(Bound::Left(4), three(budget)),
    );
}

/// A lease if its own ask found the lock free, else a claim: as if it were dead.
#[test]
fn blocked_caller_costs_no_more_than_a_dead_one() {
    let blocked = Budget { blocks: 1, ..CALM };
    let untaken = |most, c| bound(Bound::Untaken(most), breath(c));
    holds("untaken, a blocked caller", &untaken(8, three(blocked)));
    let budget = Budget {
        network: 1,
        ..blocked
    };
    holds(
        "untaken, a blocked caller, network fault",
        &untaken(5, two(budget)),
    );
}

/// The server forgets a ticket's grant and queues the ticket anew, while its hold goes on: nobody may be handed the lock later.
#[test]
fn ticket_that_was_queued_anew_behind_its_own_hold_is_withdrawn() {
    let budget = Budget {
        flushes: 1,
        ..NETWORK
    };
    holds(
        "kept by one who left, data lost, network fault",
        &ghost(2, two(budget)),
    );
    holds_long(
        "kept by one who left, data lost, network fault, three",
        &ghost(2, three(budget)),
    );
}
