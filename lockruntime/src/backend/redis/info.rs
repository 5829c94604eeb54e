//! What a server tells of itself in answer to `INFO`.

use crate::health::{Finding, Health};

const OLDEST: (u32, u32) = (6, 2);

/// What the text of `INFO` says of the server.
pub(super) fn read(text: &str) -> Health {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let mut health = Health::new();
    if let Some(version) = field("valkey_version") {
        health.server = Some(format!("Valkey {version}"));
    } else if let Some(version) = field("redis_version") {
        health.server = Some(format!("Redis {version}"));
    }
    // the version that it speaks like, whatever its own name and number
    if let Some(version) = field("redis_version")
        && is_too_old(version)
    {
        let version = version.to_owned();
        health.findings.push(Finding::TooOld { version });
    }
    if field("role").is_some_and(|role| role != "master") {
        health.findings.push(Finding::Replica);
    }
    // without a limit nothing is ever removed
    let limited = field("maxmemory").is_some_and(|limit| limit != "0");
    if let Some(policy) = field("maxmemory_policy")
        && limited
        && policy != "noeviction"
    {
        let policy = policy.to_owned();
        health.findings.push(Finding::Evicts { policy });
    }
    health
}

fn is_too_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < OLDEST,
        // an odd one isn't judged
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, old) in [
            ("5.0.7", true),
            ("6.0.16", true),
            ("6.2.0", false),
            ("7.0.15", false),
            ("10.1", false),
            ("unstable", false),
        ] {
            let health = read(&format!("# Server\r\nredis_version:{version}\r\n"));
            assert_eq!(health.is_sound(), !old, "{version}");
            assert_eq!(health.server, Some(format!("Redis {version}")));
        }
    }

    #[test]
    fn an_evicting_policy_counts_with_a_limit_only() {
        let of = |limit: &str, policy: &str| {
            read(&format!(
                "maxmemory:{limit}\r\nmaxmemory_policy:{policy}\r\nrole:master\r\n"
            ))
        };
        assert!(of("0", "allkeys-lru").is_sound());
        assert!(of("1048576", "noeviction").is_sound());
        // all of a lock's keys are volatile
        for policy in ["allkeys-lru", "volatile-ttl"] {
            let policy_of = Finding::Evicts {
                policy: policy.to_owned(),
            };
            assert_eq!(of("1048576", policy).findings, [policy_of]);
        }
    }

    #[test]
    fn a_replica_is_found() {
        assert_eq!(read("role:slave\r\n").findings, [Finding::Replica]);
    }
}
