//! The nearest known word, and lists of words in a sentence.

/// The nearest of `known`, if near enough to be a slip: case aside, at most a third of its letters plus one are wrong.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = word.chars().count() / 3 + 1;
    let mut nearest: Option<(usize, &str)> = None;
    for &candidate in known {
        let edits = distance(&word, &candidate.to_lowercase());
        let near = edits <= limit && edits < candidate.chars().count();
        if near && nearest.is_none_or(|(fewest, _)| edits < fewest) {
            nearest = Some((edits, candidate));
        }
    }
    nearest.map(|(_, candidate)| candidate)
}

/// Letters to insert, remove or exchange on the way from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut next = vec![line + 1];
        for ((b, corner), above) in to.chars().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or_default();
            next.push((corner + usize::from(a != b)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// `` `a`, `b` and `c` ``
pub(crate) fn listed(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("`{}` {conjunction} `{last}`", first.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["key", "lease", "mode", "wait"];

    #[test]
    fn slips_find_their_word() {
        for (slip, meant) in [
            ("leese", "lease"),
            ("lesae", "lease"),
            ("Key", "key"),
            ("MODE", "mode"),
            ("wiat", "wait"),
        ] {
            assert_eq!(nearest(slip, &KNOWN), Some(meant), "{slip}");
        }
    }

    #[test]
    fn other_words_find_nothing() {
        for word in ["colour", "x", "", "retries"] {
            assert_eq!(nearest(word, &KNOWN), None, "{word}");
        }
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(listed(&["a"], "and"), "`a`");
        assert_eq!(listed(&["a", "b"], "or"), "`a` or `b`");
        assert_eq!(listed(&["a", "b", "c"], "and"), "`a`, `b` and `c`");
    }
}
