//! Whether what happened was allowed to happen. Pure: a history goes in, sentences about what is wrong with it come out.

use std::collections::HashMap;

use crate::history::{Event, What, entries, keys, of_key};

/// Bodies of one key that ran at the same time.
///
/// A body runs from its `Entered` to its last event; so a body that was stopped or killed counts up to its last sign of life.
#[must_use]
pub fn overlaps(events: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in keys(events) {
        let mut last_sign: HashMap<&str, usize> = HashMap::new();
        for (place, event) in of_key(events, key).enumerate() {
            last_sign.insert(&event.body, place);
        }
        let mut running: Option<(&str, usize)> = None;
        for (place, event) in of_key(events, key).enumerate() {
            if event.what != What::Entered {
                continue;
            }
            if let Some((body, end)) = running
                && place < end
            {
                wrong.push(format!("{key}: {} entered while {body} ran", event.body));
            }
            let end = last_sign.get(event.body.as_str()).copied().unwrap_or(place);
            if running.is_none_or(|(_, before)| end > before) {
                running = Some((&event.body, end));
            }
        }
    }
    wrong
}

/// Fencing tokens that didn't grow from one entry to the next of the same key, or that changed within a body.
#[must_use]
pub fn token_disorder(events: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in keys(events) {
        let mut tokens: HashMap<&str, u64> = HashMap::new();
        let mut last = 0;
        for event in of_key(events, key) {
            if event.what == What::Entered {
                if event.token <= last {
                    wrong.push(format!(
                        "{key}: {} entered with token {} after {last}",
                        event.body, event.token
                    ));
                }
                last = last.max(event.token);
                tokens.insert(&event.body, event.token);
            } else if tokens.get(event.body.as_str()) != Some(&event.token) {
                wrong.push(format!(
                    "{key}: {} {} with another token, {}",
                    event.body,
                    event.what.word(),
                    event.token
                ));
            }
        }
    }
    wrong
}

/// Bodies that entered before one that had arrived earlier. `arrivals` names key and body in the order of arrival; bodies that
/// arrived and never entered are no matter.
#[must_use]
pub fn out_of_turn(arrivals: &[(String, String)], events: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in keys(events) {
        let places: HashMap<&str, usize> = arrivals
            .iter()
            .filter(|(arrived, _)| arrived == key)
            .enumerate()
            .map(|(place, (_, body))| (body.as_str(), place))
            .collect();
        let mut last: Option<(usize, &str)> = None;
        for event in entries(events, key) {
            let Some(place) = places.get(event.body.as_str()).copied() else {
                wrong.push(format!(
                    "{key}: {} entered without having arrived",
                    event.body
                ));
                continue;
            };
            if let Some((before, body)) = last
                && place < before
            {
                wrong.push(format!(
                    "{key}: {body} (arrived as {before}) entered before {} (arrived as {place})",
                    event.body
                ));
            }
            last = last.max(Some((place, &event.body)));
        }
    }
    wrong
}

/// Bodies that left without having entered, or entered twice: the history itself is broken.
#[must_use]
pub fn nonsense(events: &[Event]) -> Vec<String> {
    let mut entered: HashMap<(&str, &str), bool> = HashMap::new();
    let mut wrong = Vec::new();
    for event in events {
        let body = (event.key.as_str(), event.body.as_str());
        let fits = match event.what {
            What::Entered => entered.insert(body, true).is_none(),
            What::Ticked => entered.get(&body) == Some(&true),
            What::Left => entered.insert(body, false) == Some(true),
        };
        if !fits {
            wrong.push(format!(
                "{}: {} {} at the wrong time",
                event.key,
                event.body,
                event.what.word()
            ));
        }
    }
    wrong
}

/// How many additions of 1 were lost: every body that left had added 1 to the key's balance.
#[must_use]
pub fn lost_updates(events: &[Event], balance: impl Fn(&str) -> u64) -> u64 {
    keys(events)
        .into_iter()
        .map(|key| {
            let left = of_key(events, key)
                .filter(|event| event.what == What::Left)
                .count();
            u64::try_from(left)
                .unwrap_or(u64::MAX)
                .saturating_sub(balance(key))
        })
        .sum()
}

/// Panics with every sentence on its own line.
///
/// # Panics
/// When there is one.
#[track_caller]
pub fn assert_none(what: &str, wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} {what}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// All that a history of locked bodies must satisfy, whatever the test.
#[track_caller]
pub fn assert_exclusive(events: &[Event]) {
    assert_none("events that don't fit", &nonsense(events));
    assert_none("overlaps", &overlaps(events));
    assert_none("tokens out of order", &token_disorder(events));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// `a+1`: body a entered with token 1; `a.1`: ticked; `a-1`: left. All of one key, unless another stands in front: `k/a+1`.
    fn history(text: &str) -> Vec<Event> {
        text.split(' ')
            .map(|word| {
                let (key, word) = word.split_once('/').unwrap_or(("key", word));
                let at = word.find(['+', '.', '-']).unwrap();
                let what = match &word[at..=at] {
                    "+" => What::Entered,
                    "." => What::Ticked,
                    _ => What::Left,
                };
                let token = word[at + 1..].parse().unwrap();
                Event {
                    what,
                    key: key.to_owned(),
                    body: word[..at].to_owned(),
                    token,
                    at: Duration::ZERO,
                }
            })
            .collect()
    }

    fn arrivals(text: &str) -> Vec<(String, String)> {
        text.split(' ')
            .map(|body| ("key".to_owned(), body.to_owned()))
            .collect()
    }

    #[test]
    fn one_after_the_other_is_fine() {
        for text in [
            "a+1 a-1 b+2 b-2",
            "a+1 a.1 b+2 b-2",
            "a+1 b+2",
            "k/a+2 a+1 a-1 k/a-2",
            "a+1",
        ] {
            assert_exclusive(&history(text));
        }
    }

    #[test]
    fn overlaps_are_found() {
        for (text, count) in [
            ("a+1 b+2 a-1 b-2", 1),
            ("a+1 b+2 a.1", 1),
            ("a+1 b+2 b-2 c+3 c-3 a-1", 2),
            ("k/x+1 a+1 b+2 b-2 a-1 k/x-1", 1),
        ] {
            assert_eq!(overlaps(&history(text)).len(), count, "{text}");
        }
    }

    #[test]
    fn tokens_that_do_not_grow_are_found() {
        for (text, count) in [
            ("a+1 a-1 b+1 b-1", 1),
            ("a+2 a-2 b+1 b-1 c+2 c-2", 2),
            ("a+1 a-2", 1),
            ("a+0 a-0", 1),
        ] {
            assert_eq!(token_disorder(&history(text)).len(), count, "{text}");
        }
    }

    #[test]
    fn barging_is_found() {
        let events = history("a+1 a-1 c+2 c-2 b+3 b-3");
        assert_eq!(out_of_turn(&arrivals("a b c"), &events).len(), 1);
        assert_eq!(out_of_turn(&arrivals("a gone c b"), &events).len(), 0);
        assert_eq!(
            out_of_turn(&arrivals("a c"), &events),
            ["key: b entered without having arrived"]
        );
    }

    #[test]
    fn broken_histories_are_found() {
        for text in ["a-1", "a.1", "a+1 a+1", "a+1 a-1 a-1", "a+1 a-1 a.1"] {
            assert_eq!(nonsense(&history(text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn lost_updates_are_counted() {
        let events = history("a+1 b+2 a-1 b-2 k/a+1 k/a-1");
        assert_eq!(
            lost_updates(&events, |key| if key == "k" { 1 } else { 2 }),
            0
        );
        assert_eq!(lost_updates(&events, |_| 1), 1);
    }

    #[test]
    #[should_panic(expected = "1 overlaps:\nkey: b entered while a ran")]
    fn the_sentences_are_shown() {
        assert_exclusive(&history("a+1 b+2 a-1 b-2"));
    }
}
