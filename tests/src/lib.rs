//! The test kit: real Redis servers, processes that can be killed, a network that can fail, and the judge of what happened.
//!
//! | room | what it gives |
//! |---|---|
//! | [`server`] | `redis-server` processes: start, kill, pause, restart on the same port; what the server saw |
//! | [`masters`] | several of them as a quorum |
//! | [`topology`] | several of them that replicate: Sentinel, Cluster |
//! | [`fault`] | a proxy between client and server: delay, cut, black-hole, lose one reply |
//! | [`process`] | other processes that take locks |
//! | [`register`] | the witness: a server that no test disturbs, where bodies write down that they entered and left |
//! | [`rival`] | one form of annotated function, and somebody else who tries to enter |
//! | [`history`], [`check`] | what happened, and whether it was allowed to |
//! | [`chaos`] | long runs under a seeded schedule of faults: their plan, their history, its judge |
//! | [`tidy`], [`logs`] | what every test looks at in the end: nothing left behind, no panic, no warning |
//! | [`lockctl`], [`meters`] | the program for operators, and the metrics of this process |
//! | [`wire`] | the names of the lock's keys, and what a command is |
//! | [`memory`] | how much of it this process has |
//! | [`timing`] | every duration the tests use |

mod child;

pub mod chaos;
pub mod check;
pub mod fault;
pub mod history;
pub mod lockctl;
pub mod logs;
pub mod masters;
pub mod memory;
pub mod meters;
pub mod process;
pub mod register;
pub mod rival;
pub mod server;
pub mod tidy;
pub mod timing;
pub mod topology;
pub mod wire;

pub use child::Child;
pub use server::RedisServer;
