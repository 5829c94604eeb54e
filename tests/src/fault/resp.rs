//! Where one message of the Redis protocol ends and the next begins, and what a request says.

/// The bytes are no Redis protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The length of the first whole message, RESP2 or RESP3; `None` when more bytes are needed.
pub(crate) fn first_message(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut end = 0;
    // how many messages are still to come; an array of n brings n more
    let mut open = 1_usize;
    while open > 0 {
        let Some(line_end) = line_end(bytes, end) else {
            return Ok(None);
        };
        let at = end;
        let kind = bytes.get(at).copied().ok_or(Malformed)?;
        let line = bytes.get(at + 1..line_end - 2).ok_or(Malformed)?;
        open -= 1;
        end = line_end;
        match kind {
            b'$' | b'!' | b'=' => {
                if let Some(length) = length(line)? {
                    end += length + 2;
                    if end > bytes.len() {
                        return Ok(None);
                    }
                }
            }
            b'*' | b'~' | b'>' => open += length(line)?.unwrap_or(0),
            b'%' => open += length(line)?.unwrap_or(0) * 2,
            // attributes stand before the message that they belong to
            b'|' => open += length(line)?.unwrap_or(0) * 2 + 1,
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
            // an inline command, as people type them
            byte if at == 0 && byte.is_ascii_alphabetic() => {}
            _ => return Err(Malformed),
        }
    }
    Ok(Some(end))
}

/// The index after the line end that follows `start`.
fn line_end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    rest.windows(2)
        .position(|pair| pair == b"\r\n")
        .map(|at| start + at + 2)
}

/// A length; `None` for the null of RESP2.
fn length(line: &[u8]) -> Result<Option<usize>, Malformed> {
    if line == b"-1" {
        return Ok(None);
    }
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok());
    // more is far beyond anything the lock sends, and would let the sums above overflow
    number
        .filter(|length| *length <= 0x1000_0000)
        .map(Some)
        .ok_or(Malformed)
}

/// A command on its way to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request(Vec<Vec<u8>>);

impl Request {
    pub(crate) fn parse(message: &[u8]) -> Self {
        if message.first() == Some(&b'*') {
            Self(strings(message))
        } else {
            let line = message.strip_suffix(b"\r\n").unwrap_or(message);
            Self(
                line.split(|byte| *byte == b' ')
                    .map(<[u8]>::to_vec)
                    .collect(),
            )
        }
    }

    /// Whether this is the command of this name, in any case.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.0
            .first()
            .is_some_and(|first| first.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Whether this runs a script.
    #[must_use]
    pub fn is_script(&self) -> bool {
        self.is("EVALSHA") || self.is("EVAL")
    }

    /// Whether one of the arguments is this text.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        self.0
            .iter()
            .skip(1)
            .any(|argument| argument == text.as_bytes())
    }

    /// The arguments after the name.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.0
            .iter()
            .skip(1)
            .map(|argument| String::from_utf8_lossy(argument).into_owned())
            .collect()
    }
}

/// The first word of a push or an array: `message`, `subscribe`, …
pub(crate) fn first_word(message: &[u8]) -> Vec<u8> {
    strings(message).into_iter().next().unwrap_or_default()
}

/// The bulk strings directly inside an array of a whole message.
fn strings(message: &[u8]) -> Vec<Vec<u8>> {
    let mut strings = Vec::new();
    let Some(mut at) = line_end(message, 0) else {
        return strings;
    };
    while let Some(rest) = message.get(at..)
        && let Ok(Some(end)) = first_message(rest)
        && let Some(part) = rest.get(..end)
    {
        if let (Some(b'$'), Some(start)) = (part.first(), line_end(part, 0)) {
            strings.push(part.get(start..end - 2).unwrap_or_default().to_vec());
        }
        at += end;
    }
    strings
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MESSAGES: &[&[u8]] = &[
        b"+OK\r\n",
        b"-NOSCRIPT No matching script.\r\n",
        b":42\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$6\r\na\r\nb\r\n\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n",
        b"*2\r\n*1\r\n:1\r\n*2\r\n$1\r\na\r\n_\r\n",
        b"%1\r\n$1\r\na\r\n#t\r\n",
        b"|1\r\n+ttl\r\n:3\r\n*1\r\n:1\r\n",
        b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
        b",1.5\r\n",
        b"=5\r\ntxt:a\r\n",
        b"PING\r\n",
    ];

    #[test]
    fn requests_are_read() {
        let request = Request::parse(b"*3\r\n$7\r\nevalsha\r\n$2\r\nab\r\n$1\r\n0\r\n");
        assert!(
            request.is("EVALSHA")
                && request.is_script()
                && request.has("ab")
                && !request.has("evalsha")
        );
        assert_eq!(request.arguments(), ["ab", "0"]);
        assert!(Request::parse(b"GET a\r\n").has("a"));
        assert_eq!(first_word(b">2\r\n$9\r\nsubscribe\r\n:1\r\n"), b"subscribe");
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in [
            &b"\x00\x01\r\n"[..],
            b"*x\r\n",
            b"$-2\r\n",
            b"*1\r\nPING\r\n",
            b"$99999999999\r\n",
        ] {
            assert_eq!(first_message(bytes), Err(Malformed), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn a_stream_splits_where_its_messages_end(picks in prop::collection::vec(0..MESSAGES.len(), 1..6), cut in 0_usize..200) {
            let stream: Vec<u8> = picks.iter().flat_map(|i| MESSAGES[*i]).copied().collect();
            // every whole message is found …
            let mut at = 0;
            for pick in &picks {
                let length = first_message(&stream[at..]).unwrap().unwrap();
                prop_assert_eq!(&stream[at..at + length], MESSAGES[*pick]);
                at += length;
            }
            prop_assert_eq!(at, stream.len());
            // … and a part of one is never taken for a whole
            let first = MESSAGES[picks[0]];
            if cut < first.len() {
                prop_assert_eq!(first_message(&first[..cut]), Ok(None));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            first_message(&bytes).ok();
            drop(Request::parse(&bytes));
        }
    }
}
