//! A look at the server behind a connection.

use std::time::Duration;

use redis::FromRedisValue;

use super::failure::Failure;
use super::line::Line;
use super::link::Link;
use crate::backend::redis::rights::Missing;
use crate::backend::redis::{info, reply};
use crate::backend::{BackendError, BackendErrorKind};
use crate::health::{Finding, Health};

const LIMIT: Duration = Duration::from_secs(1);

/// A look through a line, which may have to connect first.
pub(super) async fn through(line: &Line, limit: Duration) -> Result<Health, BackendError> {
    let link = match line.try_link(limit).await {
        Ok(link) => link,
        Err(Failure::Rights(rights)) => {
            let mut health = Health::new();
            health.findings.push(missing(&rights));
            return Ok(health);
        }
        Err(failure) => return Err(failure.into_error(line.name())),
    };
    at(&link).await.ok_or_else(|| {
        let message = format!(
            "Redis at {} gave no answer to INFO in time; it may be overloaded or cut off",
            link.address()
        );
        BackendError::new(BackendErrorKind::Timeout, message)
    })
}

/// What the server tells of itself, with what was found when the connection was made. `None`: no answer.
pub(in crate::backend::redis) async fn at(link: &Link) -> Option<Health> {
    let mut health = match link.within(LIMIT, link.send(&redis::cmd("INFO"))).await? {
        Ok(text) => info::read(&String::from_redis_value(text).ok()?),
        Err(error) if reply::is_permission(&error) => {
            let right = "+info".to_owned();
            let mut health = Health::new();
            health.findings.push(Finding::Unchecked { right });
            health
        }
        Err(_) => return None,
    };
    for finding in &link.findings {
        if !health.findings.contains(finding) {
            health.findings.push(finding.clone());
        }
    }
    Some(health)
}

/// The findings alone.
pub(super) async fn at_server(link: &Link) -> Option<Vec<Finding>> {
    at(link).await.map(|health| health.findings)
}

/// What making the connection found.
pub(super) fn findings(
    replica: bool,
    unpublished: Option<String>,
    unheard: Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if replica {
        findings.push(Finding::Replica);
    }
    let mut rights: Vec<_> = unpublished.into_iter().chain(unheard).collect();
    rights.dedup();
    if !rights.is_empty() {
        findings.push(Finding::Polls { rights });
    }
    findings
}

pub(super) fn missing(missing: &Missing) -> Finding {
    Finding::MissingRights {
        rights: missing.rights().to_vec(),
    }
}
