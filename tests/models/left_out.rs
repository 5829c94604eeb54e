//! What each rule prevents: without it, the search finds a run that breaks a promise.

use crate::checker::breaks;
use crate::rules::{ALL, Bound, Budget, CALM, Config, Rules, Times};

const MAY_RUN: &str = "may run";
const UNUSED: &str = "no unused lock stays unused";
const LEFT_KEEPS: &str = "nobody who has left keeps the lock";

fn three(budget: Budget, rules: Rules) -> Config {
    Config {
        rules,
        ..Config::three(budget)
    }
}

fn two(budget: Budget, rules: Rules) -> Config {
    Config {
        tickets: 2,
        ..three(budget, rules)
    }
}

/// The lock idles for longer than this, at a lease of 6.
fn idle(most: u8, c: Config) -> Config {
    let times = Times {
        lease: 6,
        ..c.times
    };
    Config {
        bound: Bound::Idle(most),
        times,
        ..c
    }
}

/// A ticket that is over keeps the lock for longer than this, at a lease of 6.
fn ghost(most: u8, c: Config) -> Config {
    let times = Times {
        lease: 6,
        ..c.times
    };
    Config {
        bound: Bound::Ghost(most),
        times,
        ..c
    }
}

const NETWORK: Budget = Budget { network: 1, ..CALM };
const PAUSE: Budget = Budget { pauses: 1, ..CALM };
const CRASH: Budget = Budget { crashes: 1, ..CALM };
const LEAVE: Budget = Budget { leaves: 1, ..CALM };
const FLUSH: Budget = Budget { flushes: 1, ..CALM };

// --- the scripts

#[test]
fn release_without_owner_check_frees_another_callers_lock() {
    let rules = Rules {
        release_compares_owner: false,
        ..ALL
    };
    breaks("release compares the owner", &two(LEAVE, rules), MAY_RUN);
}

#[test]
fn renewal_without_owner_check_prolongs_another_callers_lock() {
    let rules = Rules {
        renew_compares_owner: false,
        renew_compares_token: false,
        ..ALL
    };
    breaks(
        "renew compares owner and token",
        &two(NETWORK, rules),
        "own token only",
    );
}

#[test]
fn renewal_without_token_check_confirms_a_hold_that_the_server_forgot() {
    let rules = Rules {
        renew_compares_token: false,
        ..ALL
    };
    let budget = Budget {
        flushes: 1,
        ..NETWORK
    };
    breaks(
        "renew compares the token",
        &two(budget, rules),
        "own token only",
    );
}

#[test]
fn renewal_that_creates_brings_back_a_released_lock() {
    let rules = Rules {
        renew_never_creates: false,
        ..ALL
    };
    breaks("renew never creates", &two(NETWORK, rules), "tokens grow");
}

#[test]
fn plain_counter_repeats_tokens_after_a_loss_of_data() {
    let rules = Rules {
        clock_floor: false,
        ..ALL
    };
    breaks(
        "numbers start at the clock",
        &two(FLUSH, rules),
        "tokens grow",
    );
}

#[test]
fn numbers_used_twice_let_an_old_push_start_a_second_body() {
    let rules = Rules {
        unique_numbers: false,
        ..ALL
    };
    breaks(
        "numbers are never used again",
        &three(NETWORK, rules),
        MAY_RUN,
    );
}

#[test]
fn newcomer_passes_the_head_when_the_lock_falls_free() {
    let rules = Rules {
        head_first: false,
        ..ALL
    };
    breaks(
        "a live head goes first",
        &three(PAUSE, rules),
        "no grant passes",
    );
}

#[test]
fn dead_ticket_is_given_the_lock_when_nobody_drops_it() {
    let rules = Rules {
        drop_dead: false,
        ..ALL
    };
    breaks("the dead are dropped", &three(CRASH, rules), "dead ticket");
}

#[test]
fn ticket_without_deadline_stays_for_ever() {
    let rules = Rules {
        waiter_deadline: false,
        ..ALL
    };
    let budget = Budget { crashes: 2, ..CALM };
    let config = Config {
        bound: Bound::Left(6),
        ..three(budget, rules)
    };
    breaks("tickets have a deadline", &config, "nothing stays");
}

#[test]
fn hand_over_for_a_whole_lease_lets_the_lock_idle_behind_a_dead_waiter() {
    let rules = Rules {
        short_claim: false,
        ..ALL
    };
    breaks(
        "a handed-over grant lasts the claim",
        &idle(3, three(CRASH, rules)),
        UNUSED,
    );
}

#[test]
fn lock_idles_when_nobody_helps_the_head() {
    let budget = Budget {
        pauses: 1,
        leaves: 1,
        ..CRASH
    };
    let c = three(budget, Rules { help: false, ..ALL });
    let times = Times { beat: 5, ..c.times };
    let config = Config {
        bound: Bound::Idle(4),
        times,
        ..c
    };
    breaks("whoever asks helps the head", &config, UNUSED);
}

#[test]
fn cancelled_waiter_that_passes_nothing_on_keeps_the_lock() {
    let rules = Rules {
        withdraw_hands_on: false,
        ..ALL
    };
    breaks(
        "withdrawal hands on",
        &ghost(0, three(LEAVE, rules)),
        LEFT_KEEPS,
    );
}

#[test]
fn late_ask_takes_the_lock_for_nobody_when_asks_never_end() {
    let rules = Rules {
        asks_end: false,
        ..ALL
    };
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    breaks("asks end", &ghost(2, two(budget, rules)), LEFT_KEEPS);
}

// --- the times

#[test]
fn claim_no_longer_than_the_poll_costs_a_live_waiter_its_place() {
    let c = three(CALM, ALL);
    let times = Times {
        grace: 1,
        ..c.times
    };
    breaks(
        "the claim outlasts the poll",
        &Config { times, ..c },
        "keeps its place",
    );
}

#[test]
fn ticket_life_no_longer_than_the_poll_costs_a_live_waiter_its_turn() {
    let c = three(CALM, ALL);
    let times = Times { beat: 1, ..c.times };
    breaks(
        "tickets outlive the poll",
        &Config { times, ..c },
        "live waiter",
    );
}

// --- the callers

#[test]
fn waiter_that_never_asks_again_waits_for_ever_when_its_push_is_lost() {
    let rules = Rules {
        polls: false,
        ..ALL
    };
    let config = Config {
        bound: Bound::Wait(9),
        ..two(CALM, rules)
    };
    breaks("waiters poll", &config, "no live waiter waits longer");
}

#[test]
fn old_push_starts_a_second_body_when_its_number_is_not_compared() {
    let rules = Rules {
        push_compares_number: false,
        ..ALL
    };
    breaks(
        "a push compares the number",
        &three(NETWORK, rules),
        MAY_RUN,
    );
}

#[test]
fn claim_counted_from_the_push_outlives_the_grant() {
    let rules = Rules {
        claim_from_ask: false,
        ..ALL
    };
    breaks(
        "the claim counts from the ask",
        &two(NETWORK, rules),
        MAY_RUN,
    );
}

#[test]
fn deadline_counted_from_the_answer_outlives_the_lease() {
    let rules = Rules {
        deadline_from_send: false,
        ..ALL
    };
    let budget = Budget {
        pauses: 1,
        ..NETWORK
    };
    breaks(
        "deadlines count from the send",
        &two(budget, rules),
        MAY_RUN,
    );
}

#[test]
fn paused_body_goes_on_after_its_lease_when_nothing_checks_before_the_poll() {
    let rules = Rules {
        deadline_before_poll: false,
        ..ALL
    };
    breaks(
        "the deadline is checked before each poll",
        &two(PAUSE, rules),
        MAY_RUN,
    );
}

#[test]
fn paused_process_begins_on_a_grant_that_is_over() {
    let rules = Rules {
        begins_in_time: false,
        takes_back_untaken: false,
        ..ALL
    };
    breaks("bodies begin in time", &two(PAUSE, rules), MAY_RUN);
}

#[test]
fn caller_that_looks_too_late_waits_for_ever_when_its_grant_is_not_taken_back() {
    let rules = Rules {
        takes_back_untaken: false,
        ..ALL
    };
    let config = Config {
        bound: Bound::Wait(9),
        ..two(PAUSE, rules)
    };
    breaks(
        "an untaken grant is taken back",
        &config,
        "no live waiter waits longer",
    );
}

#[test]
fn forgotten_hold_goes_on_under_an_old_token_when_a_newer_one_does_not_end_it() {
    let rules = Rules {
        newer_token_ends_hold: false,
        ..ALL
    };
    let budget = Budget {
        flushes: 1,
        ..NETWORK
    };
    breaks(
        "a newer token ends the hold",
        &two(budget, rules),
        "own token only",
    );
}

#[test]
fn timed_out_ask_takes_the_lock_for_nobody_when_it_is_not_abandoned() {
    let rules = Rules {
        abandons_unanswered: false,
        ..ALL
    };
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    breaks(
        "an unanswered ask is abandoned",
        &ghost(2, two(budget, rules)),
        LEFT_KEEPS,
    );
}

#[test]
fn late_ask_takes_the_lock_for_nobody_when_its_ticket_is_not_settled() {
    let rules = Rules {
        settles: false,
        ..ALL
    };
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    breaks(
        "tickets are settled",
        &ghost(2, two(budget, rules)),
        LEFT_KEEPS,
    );
}

#[test]
fn ask_that_crossed_the_withdrawal_takes_the_lock_for_nobody() {
    let rules = Rules {
        settles_crossed: false,
        ..ALL
    };
    let budget = Budget {
        leaves: 1,
        network: 2,
        ..CALM
    };
    breaks(
        "crossed asks are settled",
        &ghost(2, two(budget, rules)),
        LEFT_KEEPS,
    );
}

#[test]
fn withdrawal_before_the_last_moment_of_an_ask_settles_nothing() {
    let rules = Rules {
        settles_by_server_time: false,
        ..ALL
    };
    let budget = Budget {
        leaves: 1,
        ..NETWORK
    };
    breaks(
        "settled by the server's time",
        &ghost(2, two(budget, rules)),
        LEFT_KEEPS,
    );
}

/// The ask finds the lock to be its ticket's, and lengthens it.
#[test]
fn blocked_caller_keeps_a_lock_that_nobody_uses_when_its_grant_does_not_lapse() {
    let rules = Rules {
        untaken_lapses: false,
        ..ALL
    };
    let c = two(Budget { blocks: 1, ..CALM }, rules);
    let times = Times {
        lease: 4,
        grace: 3,
        beat: 4,
        breath: 1,
        ..c.times
    };
    let config = Config {
        bound: Bound::Untaken(10),
        times,
        ..c
    };
    breaks(
        "an untaken grant lapses before it is asked for anew",
        &config,
        "untaken",
    );
}

#[test]
fn grant_renewed_before_its_body_begins_is_kept_by_a_blocked_caller() {
    let rules = Rules {
        renews_only_begun: false,
        ..ALL
    };
    let c = two(Budget { blocks: 1, ..CALM }, rules);
    let times = Times {
        lease: 4,
        grace: 3,
        beat: 4,
        breath: 1,
        ..c.times
    };
    let config = Config {
        bound: Bound::Untaken(5),
        times,
        ..c
    };
    breaks(
        "nothing is renewed before its body begins",
        &config,
        "untaken",
    );
}
