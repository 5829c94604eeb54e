//! Which server of a cluster has which keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use redis::Value;

use crate::backend::redis::reply;

const SLOTS: u16 = 16_384;

/// The slot of a key: of its hash tag, where it has one.
pub(in crate::backend::redis) fn slot_of(key: &str) -> u16 {
    let bytes = key.as_bytes();
    let tag = bytes
        .iter()
        .position(|byte| *byte == b'{')
        .and_then(|open| {
            let rest = bytes.get(open + 1..)?;
            let close = rest.iter().position(|byte| *byte == b'}')?;
            rest.get(..close)
        })
        .filter(|tag| !tag.is_empty());
    crc16(tag.unwrap_or(bytes)) % SLOTS
}

/// CRC-16/XMODEM, as the servers have it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            let carry = crc & 0x8000 != 0;
            (crc << 1) ^ if carry { 0x1021 } else { 0 }
        })
    })
}

/// The masters of all slots, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    /// First and last slot, and their master; in order, without overlaps.
    ranges: Vec<(u16, u16, Arc<str>)>,
    /// What servers have said since about single slots.
    moved: HashMap<u16, Arc<str>>,
    replicas: BTreeSet<Arc<str>>,
}

impl Slots {
    /// An answer to `CLUSTER SLOTS` of the server at `asked`.
    pub(super) fn read(answer: &Value, asked: &str) -> Option<Self> {
        let own_host = asked.rsplit_once(':')?.0;
        let mut slots = Self::default();
        for range in reply::sequence(answer)? {
            let [first, last, nodes @ ..] = reply::sequence(range)? else {
                return None;
            };
            let mut nodes = nodes.iter().map(|node| {
                let [host, port, ..] = reply::sequence(node)? else {
                    return None;
                };
                // a server that doesn't know its own address leaves it out
                let host = reply::text(host).filter(|host| !host.is_empty() && *host != "?");
                let port = reply::number(port)?;
                Some(format!("{}:{port}", host.unwrap_or(own_host)).into())
            });
            let (first, last) = (reply::number(first)?, reply::number(last)?);
            let (first, last) = (u16::try_from(first).ok()?, u16::try_from(last).ok()?);
            slots.ranges.push((first, last, nodes.next()??));
            slots.replicas.extend(nodes.flatten());
        }
        slots.ranges.sort();
        // the same map in the same words, however it was cut up
        slots.ranges.dedup_by(|next, before| {
            let joins = next.2 == before.2 && next.0 == before.1 + 1;
            if joins {
                before.1 = next.1;
            }
            joins
        });
        (!slots.ranges.is_empty()).then_some(slots)
    }

    /// The map that most of these servers have: one that was cut off may have an old one.
    pub(super) fn of_most(maps: Vec<Self>) -> Option<Self> {
        let count = |map: &Self| {
            maps.iter()
                .filter(|other| other.ranges == map.ranges)
                .count()
        };
        maps.iter().max_by_key(|map| count(map)).cloned()
    }

    pub(super) fn master_of(&self, slot: u16) -> Option<&Arc<str>> {
        if let Some(master) = self.moved.get(&slot) {
            return Some(master);
        }
        let after = self.ranges.partition_point(|(first, _, _)| *first <= slot);
        let (_, last, master) = self.ranges.get(after.checked_sub(1)?)?;
        (slot <= *last).then_some(master)
    }

    /// A server says that another one has this slot.
    pub(super) fn moved(&mut self, slot: u16, to: &str) {
        self.moved.insert(slot, to.into());
    }

    pub(super) fn masters(&self) -> BTreeSet<Arc<str>> {
        let moved = self.moved.values();
        let ranges = self.ranges.iter().map(|(_, _, master)| master);
        ranges.chain(moved).cloned().collect()
    }

    /// Masters and replicas.
    pub(super) fn servers(&self) -> BTreeSet<Arc<str>> {
        let mut servers = self.masters();
        servers.extend(self.replicas.iter().cloned());
        servers
    }

    /// How many slots have no master.
    pub(super) fn uncovered(&self) -> u16 {
        let covered = self.ranges.iter().map(|(first, last, _)| last - first + 1);
        SLOTS.saturating_sub(covered.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn range(first: i64, last: i64, nodes: &[(&str, i64)]) -> Value {
        let nodes = nodes
            .iter()
            .map(|(host, port)| Value::Array(vec![bulk(host), Value::Int(*port), bulk("id")]));
        let mut range = vec![Value::Int(first), Value::Int(last)];
        range.extend(nodes);
        Value::Array(range)
    }

    fn map(ranges: Vec<Value>) -> Slots {
        Slots::read(&Value::Array(ranges), "h:1").unwrap()
    }

    /// Numbers of a real server's `CLUSTER KEYSLOT`.
    #[test]
    fn slots_are_the_servers() {
        for (key, slot) in [
            ("123456789", 12_739),
            ("foo", 12_182),
            ("{foo}bar", 12_182),
            ("bar{foo}{x}", 12_182),
            ("", 0),
        ] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
        // an empty tag, and one that never ends, is none
        assert_eq!(slot_of("{}foo"), crc16(b"{}foo") % SLOTS);
        assert_eq!(slot_of("{foo"), crc16(b"{foo") % SLOTS);
    }

    #[test]
    fn all_keys_of_a_lock_have_one_slot() {
        for key in ["boleto:42", "%7Ba%7Db", "a b", "日本", "%00%0A"] {
            let record = format!("lib_lock:app:prod:{key}");
            let keys = crate::backend::redis::keys::of(&record);
            let slots: BTreeSet<_> = keys.iter().map(|key| slot_of(key)).collect();
            assert_eq!(slots.len(), 1, "{key}");
        }
    }

    #[test]
    fn ranges_are_found_and_gaps_are_none() {
        let slots = map(vec![
            range(5_000, 9_000, &[("b", 2)]),
            range(0, 99, &[("a", 1), ("r", 9)]),
            range(100, 199, &[("a", 1)]),
        ]);
        assert_eq!(slots.master_of(0).map(|at| &**at), Some("a:1"));
        assert_eq!(slots.master_of(199).map(|at| &**at), Some("a:1"));
        assert_eq!(slots.master_of(200), None);
        assert_eq!(slots.master_of(9_000).map(|at| &**at), Some("b:2"));
        assert_eq!(slots.master_of(9_001), None);
        assert_eq!(slots.uncovered(), SLOTS - 200 - 4_001);
        assert_eq!(slots.servers().len(), 3);
    }

    #[test]
    fn a_server_that_does_not_know_its_host_has_the_one_it_was_asked_at() {
        let slots = map(vec![range(0, 5, &[("", 7)])]);
        assert_eq!(slots.master_of(5).map(|at| &**at), Some("h:7"));
    }

    #[test]
    fn what_a_server_says_of_one_slot_counts_until_the_next_map() {
        let mut slots = map(vec![range(0, 16_383, &[("a", 1)])]);
        slots.moved(7, "b:2");
        assert_eq!(slots.master_of(7).map(|at| &**at), Some("b:2"));
        assert_eq!(slots.master_of(8).map(|at| &**at), Some("a:1"));
        assert_eq!(slots.masters().len(), 2);
    }

    #[test]
    fn one_old_map_does_not_count() {
        let old = map(vec![range(0, 16_383, &[("a", 1)])]);
        let new = map(vec![
            range(0, 8_000, &[("b", 2)]),
            range(8_001, 16_383, &[("b", 2)]),
        ]);
        let most = Slots::of_most(vec![old, new.clone(), new.clone()]);
        assert_eq!(most, Some(new));
        assert_eq!(Slots::of_most(Vec::new()), None);
    }

    #[test]
    fn odd_answers_are_none() {
        for odd in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 5, &[])]),
            Value::Array(vec![range(0, 70_000, &[("a", 1)])]),
        ] {
            assert_eq!(Slots::read(&odd, "h:1"), None);
        }
    }
}
