//! `"30s"` to milliseconds, at compile time.

/// What the duration is for: it decides the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Lease,
    Wait,
    MaxHold,
    MinHold,
}

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The limits of a lease are the runtime's own (`lockruntime/src/options.rs`), which checks computed ones.
const SHORTEST_LEASE: u64 = 100;
const LONGEST_LEASE: u64 = 24 * 3_600_000;
const LONGEST_WAIT: u64 = 365 * 24 * 3_600_000;
/// A cap may be as long as a wait.
const LONGEST_MAX_HOLD: u64 = LONGEST_WAIT;

/// Milliseconds, or what is wrong and what to write.
pub(crate) fn parse(text: &str, purpose: Use) -> Result<u64, String> {
    let name = purpose.name();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(no_number(text, purpose));
    }
    let factor = match UNITS.iter().find(|(known, _)| *known == unit) {
        Some((_, factor)) => *factor,
        None => return Err(wrong_unit(text, number, unit, purpose)),
    };
    match number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
    {
        Some(millis) => purpose.check(text, millis),
        None => Err(format!(
            "`{name} = {text:?}` is too long; {}",
            purpose.longest()
        )),
    }
}

fn no_number(text: &str, purpose: Use) -> String {
    let name = purpose.name();
    if text.trim().is_empty() {
        format!(
            "`{name}` is empty; write a number and a unit: `{name} = {:?}`",
            purpose.example()
        )
    } else if text.starts_with('-') {
        format!(
            "`{name} = {text:?}` is negative; write a number without sign: `{name} = {:?}`",
            purpose.example()
        )
    } else {
        format!(
            "`{name} = {text:?}` is not a duration; write a number and a unit: `{name} = {:?}`",
            purpose.example()
        )
    }
}

fn wrong_unit(text: &str, number: &str, unit: &str, purpose: Use) -> String {
    let name = purpose.name();
    if unit.is_empty() {
        return format!(
            "`{name} = {text:?}` has no unit; write `{name} = \"{number}s\"` (units are ms, s, m and h)"
        );
    }
    if unit.starts_with(['.', ',']) {
        return match in_millis(text) {
            Some(millis) => {
                format!("`{name} = {text:?}` has a fraction; write `{name} = \"{millis}ms\"`")
            }
            None => {
                format!("`{name} = {text:?}` has a fraction; write a whole number of ms, s, m or h")
            }
        };
    }
    if let Some(meant) = meant(unit) {
        return format!(
            "`{name} = {text:?}` is not a duration; write `{name} = \"{number}{meant}\"`"
        );
    }
    let shown = unit.trim();
    if shown.starts_with(|c: char| c.is_alphabetic()) && shown.chars().all(char::is_alphabetic) {
        format!("`{name} = {text:?}` has no known unit: `{shown}` is none of ms, s, m and h")
    } else {
        format!(
            "`{name} = {text:?}` is not one number and one unit; write for example `{name} = {:?}`",
            purpose.example()
        )
    }
}

/// The unit that was meant, if it is one.
fn meant(unit: &str) -> Option<&'static str> {
    match unit.trim().to_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => Some("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "m" | "min" | "mins" | "minute" | "minutes" => Some("m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
        _ => None,
    }
}

/// `1.5s` in milliseconds, where it comes out even.
fn in_millis(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once(['.', ','])?;
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let fraction = rest.strip_suffix(unit)?;
    let factor = UNITS.iter().find(|(known, _)| *known == unit)?.1;
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = whole
        .parse::<u64>()
        .ok()?
        .checked_mul(scale)?
        .checked_add(fraction.parse().ok()?)?
        .checked_mul(factor)?;
    (scaled % scale == 0).then_some(scaled / scale)
}

impl Use {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Wait => "wait",
            Self::MaxHold => "max_hold",
            Self::MinHold => "min_hold",
        }
    }

    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Lease => "30s",
            Self::Wait => "5s",
            Self::MaxHold => "5m",
            Self::MinHold => "1s",
        }
    }

    fn limits(self) -> (u64, u64) {
        match self {
            Self::Lease => (SHORTEST_LEASE, LONGEST_LEASE),
            Self::Wait => (0, LONGEST_WAIT),
            Self::MaxHold => (1, LONGEST_MAX_HOLD),
            Self::MinHold => (1, LONGEST_LEASE),
        }
    }

    fn shortest(self) -> &'static str {
        match self {
            Self::Lease => "to be renewed in time; the shortest lease is \"100ms\"",
            Self::Wait => "to wait at all; write `mode = \"reject\"`",
            Self::MaxHold => "for any body; leave `max_hold` out to hold as long as it takes",
            Self::MinHold => "to change anything; leave `min_hold` out",
        }
    }

    fn longest(self) -> &'static str {
        match self {
            Self::Lease => {
                "the longest lease is \"24h\": a crashed holder keeps its lock that long (a living one renews it)"
            }
            Self::Wait => "leave `wait` out to wait as long as it takes",
            Self::MaxHold => "leave `max_hold` out to hold as long as it takes",
            Self::MinHold => "the longest min_hold is \"24h\"",
        }
    }

    fn check(self, text: &str, millis: u64) -> Result<u64, String> {
        let name = self.name();
        let (least, most) = self.limits();
        if millis > most {
            Err(format!(
                "`{name} = {text:?}` is too long; {}",
                self.longest()
            ))
        } else if millis < least {
            Err(format!(
                "`{name} = {text:?}` is too short {}",
                self.shortest()
            ))
        } else {
            Ok(millis)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(text: &str) -> Result<u64, String> {
        parse(text, Use::Lease)
    }

    #[test]
    fn numbers_with_units() {
        assert_eq!(lease("30s"), Ok(30_000));
        assert_eq!(lease("30000ms"), Ok(30_000));
        assert_eq!(lease("2m"), Ok(120_000));
        assert_eq!(lease("24h"), Ok(86_400_000));
        assert_eq!(lease("100ms"), Ok(100));
        assert_eq!(parse("0s", Use::Wait), Ok(0));
        assert_eq!(parse("1ms", Use::Wait), Ok(1));
    }

    /// B92: each wrong length says what to write.
    #[test]
    fn b92_wrong_leases_name_the_fix() {
        for (text, fix) in [
            ("0s", "the shortest lease is \"100ms\""),
            ("1ms", "the shortest lease is \"100ms\""),
            ("-1s", "is negative"),
            ("", "write a number and a unit: `lease = \"30s\"`"),
            (" ", "write a number and a unit: `lease = \"30s\"`"),
            ("30", "has no unit; write `lease = \"30s\"`"),
            ("30 s", "write `lease = \"30s\"`"),
            ("30sec", "write `lease = \"30s\"`"),
            ("30S", "write `lease = \"30s\"`"),
            ("2 minutes", "write `lease = \"2m\"`"),
            ("1.5s", "write `lease = \"1500ms\"`"),
            ("0,25h", "write `lease = \"900000ms\"`"),
            ("1.0005s", "a whole number"),
            ("10000y", "`y` is none of ms, s, m and h"),
            ("1m30s", "one number and one unit"),
            ("25h", "the longest lease is \"24h\""),
            ("18446744073709551615ms", "the longest lease is \"24h\""),
            ("18446744073709551616ms", "is too long"),
            ("18446744073709551615h", "is too long"),
            ("soon", "is not a duration"),
            ("٣s", "is not a duration"),
        ] {
            let message = lease(text).unwrap_err();
            assert!(message.contains(fix), "{text:?}: {message}");
        }
    }

    #[test]
    fn holds_have_limits_of_their_own() {
        assert_eq!(parse("1ms", Use::MaxHold), Ok(1));
        assert_eq!(parse("48h", Use::MaxHold), Ok(48 * 3_600_000));
        assert_eq!(parse("24h", Use::MinHold), Ok(24 * 3_600_000));
        for (text, purpose, part) in [
            ("0s", Use::MaxHold, "leave `max_hold` out"),
            ("9000h", Use::MaxHold, "leave `max_hold` out"),
            ("0s", Use::MinHold, "leave `min_hold` out"),
            ("25h", Use::MinHold, "the longest min_hold is \"24h\""),
            ("5", Use::MinHold, "write `min_hold = \"5s\"`"),
        ] {
            let message = parse(text, purpose).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn a_wait_has_no_end_by_leaving_it_out() {
        assert!(
            parse("9000h", Use::Wait)
                .unwrap_err()
                .contains("leave `wait` out")
        );
    }
}
