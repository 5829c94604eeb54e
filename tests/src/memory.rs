//! How much memory this process has.

/// Bytes that are resident in memory; `None` where the system doesn't say (it does on Linux).
#[must_use]
pub fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(resident * u64::try_from(rustix::param::page_size()).ok()?)
}

/// Panics unless the memory at the `end` is what it was at the `start`, give or take a twentieth.
pub fn assert_flat(start: Option<u64>, end: Option<u64>) {
    if let (Some(start), Some(end)) = (start, end) {
        assert!(
            end <= start + start / 20,
            "memory grew from {start} to {end} bytes"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_written_to_is_resident() {
        const SIZE: u64 = 64 << 20;
        let before = resident();
        let block = vec![1_u8; usize::try_from(SIZE).unwrap()];
        let after = resident();
        assert!(
            after >= before.map(|before| before + SIZE / 2),
            "{before:?}, {after:?}"
        );
        assert_eq!(block[block.len() / 2], 1);
    }

    #[test]
    #[should_panic(expected = "memory grew")]
    fn more_than_a_twentieth_is_growth() {
        assert_flat(Some(100), Some(105));
        assert_flat(Some(100), Some(20));
        assert_flat(Some(100), Some(106));
    }
}
