//! The names of one lock's keys, all in one slot.

/// Record, queue, waiters, number: in the order that the scripts name them.
///
/// The record's key has no braces, so that it is its own hash tag; the side keys carry it as theirs.
pub(super) fn of(record: &str) -> [String; 4] {
    let queue = format!("lib_mutex_queue:{{{record}}}");
    let waiters = format!("{queue}:w");
    let number = format!("{queue}:n");
    [record.to_owned(), queue, waiters, number]
}

/// The record's key, from any of the names of its lock's keys that says that somebody has it or waits for it.
pub(super) fn record_of(name: &str) -> Option<&str> {
    match name.strip_prefix("lib_mutex_queue:{") {
        Some(queue) => queue.strip_suffix('}'),
        None => name.starts_with("lib_lock:").then_some(name),
    }
}

/// The same keys, and what more is kept of a lock that several hold: when each hold ends, and its record.
pub(super) fn shared(record: &str) -> [String; 6] {
    let [record, queue, waiters, number] = of(record);
    let (holds, records) = (format!("{queue}:h"), format!("{queue}:r"));
    [record, queue, waiters, number, holds, records]
}

/// Those of them that are there for as long as a hold is: a slot that moves takes calls of no others.
pub(super) fn of_hold(record: &str) -> [String; 3] {
    let [record, _, _, _, holds, records] = shared(record);
    [record, holds, records]
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_lock_is_found_by_its_record_and_by_its_queue() {
        let names = super::of("lib_lock:app:prod:boleto:42");
        let found: Vec<_> = names.iter().map(|name| super::record_of(name)).collect();
        let record = Some("lib_lock:app:prod:boleto:42");
        assert_eq!(found, [record, record, None, None]);
    }

    #[test]
    fn side_keys_carry_the_record_as_hash_tag() {
        let [record, queue, waiters, number] = super::of("lib_lock:app:prod:boleto:42");
        assert_eq!(record, "lib_lock:app:prod:boleto:42");
        assert_eq!(queue, "lib_mutex_queue:{lib_lock:app:prod:boleto:42}");
        assert_eq!(waiters, "lib_mutex_queue:{lib_lock:app:prod:boleto:42}:w");
        assert_eq!(number, "lib_mutex_queue:{lib_lock:app:prod:boleto:42}:n");
    }
}
