//! A port that stays ours while its server is down.

use std::fs::File;
use std::net::TcpListener;

use rand::RngExt;

/// A free port of 127.0.0.1, claimed until drop: a restarted server finds it free again.
///
/// The claim is a locked file, so that tests in other processes keep away, and a process that dies gives its claims back. The
/// range lies below the one from which systems take the ports of outgoing connections.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _claim: File,
}

impl Port {
    /// Claims one.
    #[must_use]
    pub fn claim() -> Self {
        Self::claim_in(20_000..30_000, |_| true)
    }

    /// Claims one whose neighbour, 10,000 above, is free as well, and is taken for no outgoing connection: a cluster's servers
    /// talk there.
    #[must_use]
    pub fn claim_with_bus() -> Self {
        Self::claim_in(20_000..22_700, |number| {
            TcpListener::bind(("127.0.0.1", number + 10_000)).is_ok()
        })
    }

    fn claim_in(range: std::ops::Range<u16>, suits: impl Fn(u16) -> bool) -> Self {
        let folder = std::env::temp_dir().join("lock-test-ports");
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| {
            panic!(
                "{} can't be made: {error}; set TMPDIR to a writable folder",
                folder.display()
            )
        });
        for _ in 0..10_000 {
            let number = rand::rng().random_range(range.clone());
            let claim = File::create(folder.join(number.to_string()))
                .expect("the claims' folder is writable");
            let free = || TcpListener::bind(("127.0.0.1", number)).is_ok() && suits(number);
            if claim.try_lock().is_ok() && free() {
                return Self {
                    number,
                    _claim: claim,
                };
            }
        }
        panic!("no free port in {range:?}")
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_differ() {
        let mut ports: Vec<_> = (0..50).map(|_| Port::claim()).collect();
        ports.sort_by_key(Port::number);
        ports.dedup_by_key(|port| port.number());
        assert_eq!(ports.len(), 50);
    }
}
