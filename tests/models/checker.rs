//! The properties, and the search through all states of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::attempt::Phase;
use crate::rules::{Bound, Config};
use crate::world::{Step, World};

const SERVED: &str = "everybody is served";

struct Lock {
    config: Config,
    /// Only properties with these words are looked at.
    about: &'static str,
    /// The most ticks of what the run's bound is about.
    most: Arc<AtomicU8>,
}

impl Model for Lock {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.config)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        world.steps(&self.config, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.step(&self.config, step);
        self.most.fetch_max(next.seen.ticks, Ordering::Relaxed);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties: Vec<Property<Self>> = vec![
            Property::always("a body that may run owns the lock, with its token", owns),
            Property::always("at most one body may run", |lock: &Lock, world: &World| {
                let held = world.attempts.iter().filter(|a| a.phase == Phase::Held);
                lock.config.budget.flushes > 0 || held.count() <= 1
            }),
            Property::always("tokens grow with every grant", |_: &Lock, world: &World| {
                !world.seen.token_fell
            }),
            Property::always(
                "a hold is confirmed by its own token only",
                |_: &Lock, world: &World| !world.seen.confirmed_by_another_token,
            ),
            Property::always(
                "no grant passes a live waiter",
                |_: &Lock, world: &World| !world.seen.passed_a_live_waiter,
            ),
            Property::always(
                "a live waiter keeps its place",
                |_: &Lock, world: &World| !world.seen.lost_its_place,
            ),
            Property::always(
                "no hand-over goes to a dead ticket",
                |_: &Lock, world: &World| !world.server.gave_to_dead,
            ),
            Property::sometimes(SERVED, |_: &Lock, world: &World| {
                world.attempts.iter().all(|a| a.phase == Phase::Over)
            }),
        ];
        let bound = match self.config.bound {
            Bound::None => None,
            Bound::Wait(_) => Some("no live waiter waits longer than this"),
            Bound::Idle(_) => Some("no unused lock stays unused longer than this"),
            Bound::Untaken(_) => Some("no grant stays untaken longer than this"),
            Bound::Ghost(_) => Some("nobody who has left keeps the lock longer than this"),
            Bound::Left(_) => Some("nothing stays longer than this when all are gone"),
        };
        if let Some(bound) = bound {
            properties.push(Property::always(bound, |lock: &Lock, world: &World| {
                world.seen.ticks <= lock.bound()
            }));
        }
        properties.retain(|property| property.name.contains(self.about));
        properties
    }
}

/// After a loss of all data two bodies may run for a while; their tokens differ.
fn owns(lock: &Lock, world: &World) -> bool {
    let mut bodies = (0..)
        .zip(&world.attempts)
        .filter(|(_, a)| a.phase == Phase::Held);
    lock.config.budget.flushes > 0
        || bodies.all(|(ticket, attempt)| {
            let owner = world.server.owner;
            owner.is_some_and(|o| o.ticket == ticket && o.token == attempt.token)
        })
}

impl Lock {
    fn bound(&self) -> u8 {
        match self.config.bound {
            Bound::None => u8::MAX,
            Bound::Wait(most)
            | Bound::Idle(most)
            | Bound::Untaken(most)
            | Bound::Ghost(most)
            | Bound::Left(most) => most,
        }
    }
}

/// What a search found.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) depth: usize,
    pub(crate) most: u8,
    /// Every property that was violated, with the steps that lead there.
    pub(crate) violated: Vec<(&'static str, Vec<Step>)>,
    pub(crate) served: bool,
}

fn search(config: &Config, about: &'static str, depth: Option<usize>) -> Found {
    let most = Arc::new(AtomicU8::new(0));
    let lock = Lock {
        config: config.clone(),
        about,
        most: Arc::clone(&most),
    };
    let builder = lock
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures);
    let done = match depth {
        Some(depth) => builder.target_max_depth(depth).spawn_bfs().join(),
        None => builder.spawn_bfs().join(),
    };
    let discoveries = done.discoveries();
    let served = discoveries.contains_key(SERVED);
    let violated = discoveries
        .into_iter()
        .filter(|(property, _)| *property != SERVED)
        .map(|(property, path)| (property, path.into_actions()))
        .collect();
    Found {
        states: done.unique_state_count(),
        depth: done.max_depth(),
        most: most.load(Ordering::Relaxed),
        violated,
        served,
    }
}

/// Goes through every state; none may violate a property, and the run must be able to serve everybody.
#[expect(clippy::print_stderr, reason = "the figures for the README")]
pub(crate) fn holds(name: &str, config: &Config) {
    let start = std::time::Instant::now();
    let found = search(config, "", None);
    if let Some((property, steps)) = found.violated.first() {
        let steps: Vec<String> = steps.iter().map(|step| format!("  {step:?}")).collect();
        panic!("{name}: violated: {property}\n{}", steps.join("\n"));
    }
    assert!(
        found.served,
        "{name}: nobody was ever served, so this proved nothing"
    );
    let most = match config.bound {
        Bound::None => String::new(),
        _ => format!(", at most {} ticks", found.most),
    };
    eprintln!(
        "{name}: {} states, depth {}{most}, {:.1} s",
        found.states,
        found.depth,
        start.elapsed().as_secs_f32()
    );
}

/// Without a rule this property breaks; shows a shortest run to it.
#[expect(clippy::print_stderr, reason = "the figures for the README")]
pub(crate) fn breaks(name: &str, config: &Config, property: &'static str) {
    let start = std::time::Instant::now();
    // deeper step by step: the first one found is a shortest one
    let found = (2..60)
        .map(|depth| search(config, property, Some(depth)))
        .find(|found| !found.violated.is_empty());
    let Some(found) = found else {
        panic!("{name}: nothing is violated within 60 steps");
    };
    let (violated, steps) = &found.violated[0];
    let listed: Vec<String> = steps.iter().map(|step| format!("  {step:?}")).collect();
    let listed = listed.join("\n");
    eprintln!(
        "{name}: {} steps, {} states, {:.1} s: {violated}\n{listed}",
        steps.len(),
        found.states,
        start.elapsed().as_secs_f32()
    );
}

/// Whether the long runs are wanted too.
fn long() -> bool {
    std::env::var_os("LOCK_TEST_LONG").is_some_and(|value| value == "1")
}

/// As [`holds`], for what takes long; without the wish for it nothing is run.
#[expect(clippy::print_stderr, reason = "says what was left out")]
pub(crate) fn holds_long(name: &str, config: &Config) {
    if long() {
        holds(name, config);
    } else {
        eprintln!("{name}: left out; LOCK_TEST_LONG=1 runs it");
    }
}

/// How many random runs against a real server.
pub(crate) fn cases() -> u32 {
    if long() { 2_000 } else { 200 }
}
