//! A network that fails on demand.

mod backend;
mod connection;
mod firewall;
mod proxy;
mod resp;
mod rewrite;
mod rules;

pub use backend::FaultyBackend;
pub use firewall::{Firewall, Lost, enter_own_network};
pub use proxy::Proxy;
pub use resp::Request;
pub use rewrite::Rewriter;
pub use rules::{Close, Flow, Trap};
