//! `key = "boleto:<id>", lease = "30s", …` to [`Args`]. Reading goes on after a mistake, so that all are told at once.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, Ident, Lit, LitStr, Path, Token};

use crate::duration::Use;
use crate::value::{self, Access, Length, Mode};
use crate::words::{self, Word};

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Args {
    /// None at all is an error, told already unless the argument is missing altogether.
    pub(crate) keys: Vec<LitStr>,
    pub(crate) lease: Option<Length>,
    pub(crate) mode: Mode,
    pub(crate) wait: Option<Length>,
    pub(crate) max_hold: Option<Length>,
    pub(crate) min_hold: Option<Length>,
    /// An expression of type `u32`.
    pub(crate) max_waiters: Option<Expr>,
    /// How many may hold the lock beside each other, an expression of type `u32`.
    pub(crate) permits: Option<Expr>,
    pub(crate) access: Option<Access>,
    pub(crate) watchdog: Option<bool>,
    pub(crate) reentrant: Option<bool>,
    /// The body goes on when its lock is lost.
    pub(crate) goes_on: bool,
    /// The release is handed over instead of awaited.
    pub(crate) in_background: bool,
    pub(crate) manager: Option<Expr>,
    pub(crate) when: Option<Expr>,
    /// What to return instead when the lock isn't to be had.
    pub(crate) or_else: Option<Expr>,
    /// The body's name for what it holds.
    pub(crate) guard: Option<Ident>,
    /// Where the runtime is.
    pub(crate) runtime: Option<Path>,
    /// The names that were given, the right one where a wrong one was recognised.
    given: Vec<(&'static str, Span)>,
}

impl Args {
    pub(crate) fn parse(attribute: TokenStream, errors: &mut Vec<Error>) -> Self {
        let mut args = Self::default();
        let parsed = (|input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = args.argument(input) {
                    errors.push(error);
                    skip_to_comma(input);
                }
                separator(input, errors);
            }
            Ok(())
        })
        .parse2(attribute);
        errors.extend(parsed.err());
        args.check(errors);
        args
    }

    /// Whether `name`, or a wrong word for it, was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The expressions that the call evaluates.
    pub(crate) fn computed(&self) -> Vec<&Expr> {
        let mut computed = Vec::new();
        for (_, length) in self.lengths() {
            if let Some(Length::Computed(expression)) = length {
                computed.push(&**expression);
            }
        }
        for other in [
            &self.manager,
            &self.when,
            &self.or_else,
            &self.max_waiters,
            &self.permits,
        ] {
            computed.extend(other);
        }
        computed
    }

    /// The durations by their argument's name.
    pub(crate) fn lengths(&self) -> [(&'static str, Option<&Length>); 4] {
        [
            ("lease", self.lease.as_ref()),
            ("wait", self.wait.as_ref()),
            ("max_hold", self.max_hold.as_ref()),
            ("min_hold", self.min_hold.as_ref()),
        ]
    }

    fn argument(&mut self, input: ParseStream<'_>) -> Result<(), Error> {
        if !input.peek(Ident::peek_any) {
            return Err(self.nameless(input));
        }
        let name = Ident::parse_any(input)?;
        let known = self.known(&name)?;
        let wrong =
            |what: &str| Error::new(name.span(), format!("{what}: `{}`", words::example(known)));
        let needs_value = || wrong(&format!("`{known}` needs a value"));
        if !input.peek(Token![=]) || input.peek(Token![==]) {
            return Err(needs_value());
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(needs_value());
        }
        let value = input.parse().map_err(|_unreadable| {
            wrong(&format!("the value of `{known}` can't be read; write"))
        })?;
        let value = value::without_group(value);
        match known {
            "key" => self.keys = value::keys(&value)?,
            "lease" => self.lease = Some(value::length(value, Use::Lease)?),
            "wait" => self.wait = Some(value::length(value, Use::Wait)?),
            "max_hold" => self.max_hold = Some(value::length(value, Use::MaxHold)?),
            "min_hold" => self.min_hold = Some(value::length(value, Use::MinHold)?),
            "max_waiters" => self.max_waiters = Some(value::count(known, value)?),
            "permits" => self.permits = Some(value::permits(value)?),
            "access" => self.access = Some(value::access(&value)?),
            "watchdog" => self.watchdog = Some(value::switch(known, &value)?),
            "reentrant" => self.reentrant = Some(value::switch(known, &value)?),
            "on_lost" => self.goes_on = value::on_lost(&value)?,
            "release" => self.in_background = value::release(&value)?,
            "mode" => self.mode = value::mode(&value)?,
            "manager" => self.manager = Some(value::manager(value)?),
            "when" => self.when = Some(value::when(value)?),
            "or_else" => self.or_else = Some(value::or_else(value)?),
            "guard" => self.guard = Some(value::guard(&value)?),
            _ => self.runtime = Some(value::runtime(value)?),
        }
        Ok(())
    }

    /// Something other than a name stands where an argument starts.
    fn nameless(&mut self, input: ParseStream<'_>) -> Error {
        if input.peek(Lit) {
            // most likely the key; that it is missing is then no second mistake
            self.given.push(("key", input.span()));
            return input
                .error("an argument has a name; for the key write `key = \"boleto:<id>\"`");
        }
        input.error("expected an argument such as `key = \"boleto:<id>\"`")
    }

    /// The argument that `name` is, once.
    fn known(&mut self, name: &Ident) -> Result<&'static str, Error> {
        let word = name.unraw().to_string();
        let message = match words::argument(&word) {
            Word::Right(known) if self.has(known) => format!("`{known}` is given twice; keep one"),
            Word::Right(known) => {
                self.given.push((known, name.span()));
                return Ok(known);
            }
            Word::Meant(known, message) => {
                self.given.push((known, name.span()));
                message
            }
            Word::Wrong(message) => message,
        };
        Err(Error::new(name.span(), message))
    }

    fn span(&self, name: &str) -> Option<Span> {
        let given = self.given.iter().find(|(given, _)| *given == name);
        given.map(|(_, span)| *span)
    }

    /// What doesn't go together.
    fn check(&self, errors: &mut Vec<Error>) {
        let refused = match self.mode {
            Mode::Queue => None,
            Mode::Reject => Some(("reject", "rejected")),
            Mode::Skip => Some(("skip", "skipped")),
        };
        if let Some((mode, refused)) = refused {
            for (name, never) in [("wait", "waits"), ("max_waiters", "queues")] {
                errors.extend(self.span(name).map(|span| {
                    let message = format!(
                        "`{name}` and `mode = \"{mode}\"` exclude each other: a {refused} call never {never}; remove `{name}`, or \
                         write `mode = \"queue\"`"
                    );
                    Error::new(span, message)
                }));
            }
        }
        if let (Some(_), Some(span)) = (self.span("permits"), self.span("access")) {
            let message = "`permits` and `access` exclude each other: readers share a lock without a number; remove one of them";
            errors.push(Error::new(span, message));
        }
        if let (Some(Length::Millis(most)), Some(Length::Millis(least)), Some(span)) =
            (&self.max_hold, &self.min_hold, self.span("min_hold"))
            && least > most
        {
            let message = "`min_hold` is longer than `max_hold`, so no body could run as long as the lock is kept; make it shorter";
            errors.push(Error::new(span, message));
        }
    }
}

fn separator(input: ParseStream<'_>, errors: &mut Vec<Error>) {
    if input.is_empty() || input.parse::<Token![,]>().is_ok() {
        return;
    }
    errors.push(input.error("expected `,` between two arguments"));
    if !input.peek(Ident::peek_any) {
        skip_to_comma(input);
        // the error is told; the comma belongs to it
        drop(input.parse::<Token![,]>());
    }
}

fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        drop(input.parse::<TokenTree>());
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    fn read(attribute: &str) -> (Args, Vec<String>) {
        let mut errors = Vec::new();
        let args = Args::parse(attribute.parse().unwrap(), &mut errors);
        (args, errors.iter().map(ToString::to_string).collect())
    }

    fn only_error(attribute: &str) -> String {
        let (_, mut errors) = read(attribute);
        assert_eq!(errors.len(), 1, "{attribute}: {errors:#?}");
        errors.remove(0)
    }

    #[test]
    fn everything_can_be_said() {
        let (args, errors) = read(
            "key = \"a:<id>\", lease = \"30s\", mode = \"queue\", wait = limit::<A, B>(x), crate = ::rt, manager = &self.locks, \
             when = !dry, or_else = |error| Answer::from(error), guard = hold, max_hold = \"5m\", min_hold = least, max_waiters = 3, \
             watchdog = false, on_lost = \"continue\", reentrant = false, release = \"background\", permits = slots,",
        );
        assert_eq!(errors, [""; 0]);
        assert_eq!(args.computed().len(), 7);
        assert_eq!(args.keys[0].value(), "a:<id>");
        assert!(matches!(args.lease, Some(Length::Millis(30_000))));
        assert!(matches!(args.wait, Some(Length::Computed(_))));
        assert_eq!((args.watchdog, args.reentrant), (Some(false), Some(false)));
        assert!(args.goes_on && args.in_background && args.max_hold.is_some());
        assert_eq!(args.guard.unwrap(), "hold");
        assert_eq!(args.runtime.unwrap().to_token_stream().to_string(), ":: rt");
    }

    #[test]
    fn nothing_is_read_as_nothing() {
        let (args, errors) = read("");
        assert!(
            errors.is_empty()
                && args.keys.is_empty()
                && !args.has("key")
                && args.mode == Mode::Queue
        );
    }

    #[test]
    fn wrong_words_name_the_right_one() {
        for (attribute, part) in [
            ("leese = \"30s\"", "did you mean `lease`?"),
            ("Key = \"a\"", "did you mean `key`?"),
            ("timeout = \"3s\"", "called `wait`: `wait = \"5s\"`"),
            ("ttl = \"3s\"", "called `lease`"),
            ("resource = \"a\"", "called `key`"),
            (
                "colour = 3",
                "the lock takes `key`, `lease`, `mode`, `wait`, `max_hold`, `min_hold`, `max_waiters`, `permits`, `access`, `watchdog`, `on_lost`, \
                 `reentrant`, `release`, `manager`, `or_else`, `when`, `guard` and `crate`",
            ),
            ("permits = 0", "`permits = 1`, or more"),
            ("permits = \"3\"", "`permits = 3`"),
            ("permits = -1", "`permits = 3`"),
            ("permits = 3, access = \"read\"", "exclude each other"),
            ("access = \"reed\"", "did you mean \"read\"?"),
            ("access = \"exclusive\"", "`access = \"write\"`"),
            ("access = read", "`access = \"read\"`"),
            ("concurrency = 3", "here it is called `permits`"),
            ("guards = hold", "did you mean `guard`?"),
            ("guard = \"hold\"", "without quotes: `guard = hold`"),
            ("guard = _", "`guard = hold`"),
            ("guard = a.b", "`guard = hold`"),
            ("guard = self", "`guard = hold`"),
            ("guard = ref hold", "`guard = hold`"),
            ("manager = \"locks\"", "without quotes: `manager = locks`"),
            ("manager = 3", "an expression that gives a `LockManager`"),
            ("or_else = \"busy\"", "without quotes: `or_else = busy`"),
            ("or_else = 409", "a path or a closure"),
            ("when = \"!dry_run\"", "without quotes: `when = !dry_run`"),
            ("when = 1", "a bool expression"),
            ("condition = x", "here it is called `when`"),
            ("on_error = x", "here it is called `or_else`"),
            ("permit = 3", "did you mean `permits`?"),
            ("mode = \"Queue\"", "did you mean \"queue\"?"),
            ("mode = \"rejct\"", "did you mean \"reject\"?"),
            ("mode = \"fifo\"", "did you mean \"queue\"?"),
            (
                "mode = \"colour\"",
                "write \"queue\", \"reject\" or \"skip\"",
            ),
            ("mode = reject", "`mode = \"reject\"`"),
            ("mode = Mode::Queue", "`mode = \"queue\"`"),
            ("mode = 3", "\"queue\", \"reject\" or \"skip\""),
            ("mode = \"once\"", "did you mean \"skip\"?"),
            ("lease = 30", "`lease = \"30s\"`"),
            ("wait = -1", "a number and a unit"),
            ("lease = 1.5", "a number and a unit"),
            ("lease = true", "a number and a unit"),
            ("crate = \"my::rt\"", "`crate = my::rt`"),
            ("crate = 3", "`crate = path::to::lockruntime`"),
            ("key = 3", "`key = \"boleto:<id>\"`"),
            ("key = b\"x\"", "the key is a string"),
            ("key = []", "the list of keys is empty"),
            ("key = [\"a\", \"b\", \"a\"]", "\"a\" is in the list twice"),
            ("key = [\"a\", 3]", "the key is a string"),
            ("key = [\"a\", KEY]", "`LockManager::lock`"),
            ("max_hold = 5", "`max_hold = \"5s\"`"),
            ("min_hold = \"0s\"", "leave `min_hold` out"),
            (
                "min_hold = \"2s\", max_hold = \"1s\"",
                "longer than `max_hold`",
            ),
            ("max_waiters = \"3\"", "`max_waiters = 100`"),
            ("max_waiters = -1", "`max_waiters = 100`"),
            (
                "max_waiters = 3, mode = \"reject\"",
                "a rejected call never queues",
            ),
            (
                "wait = \"3s\", mode = \"skip\"",
                "a skipped call never waits",
            ),
            ("watchdog = \"off\"", "`watchdog = false`"),
            ("watchdog = renews", "`watchdog = false`"),
            ("reentrant = 0", "`reentrant = false`"),
            ("on_lost = \"cancell\"", "did you mean \"cancel\"?"),
            ("on_lost = \"stop\"", "`on_lost = \"continue\"`"),
            ("on_lost = true", "`on_lost = \"continue\"`"),
            ("release = \"await\"", "`release = \"background\"`"),
            ("release = false", "`release = \"background\"`"),
            ("renew = false", "called `watchdog`"),
            ("key = format!(\"a:{id}\")", "`LockManager::lock`"),
            ("key = KEY", "`LockManager::lock`"),
            ("key", "`key` needs a value"),
            ("key =", "`key` needs a value"),
            ("key = , lease = \"3s\"", "`key` needs a value"),
            ("key(\"a\")", "`key` needs a value"),
            ("lease: \"3s\"", "`lease` needs a value"),
            ("\"boleto:<id>\"", "write `key = \"boleto:<id>\"`"),
            (", key = \"a\"", "expected an argument"),
            ("key = \"a\" lease = \"3s\"", "expected `,`"),
            ("key = \"a\"; lease = \"3s\"", "expected `,`"),
            ("key = \"a\", key = \"b\"", "`key` is given twice"),
            (
                "wait = \"3s\", mode = \"reject\"",
                "`wait` and `mode = \"reject\"` exclude each other",
            ),
        ] {
            let error = only_error(attribute);
            assert!(error.contains(part), "{attribute}: {error}");
        }
    }

    #[test]
    fn each_mistake_is_told() {
        let (_, errors) = read("key = 3, leese = \"1s\", wait = \"5\", permits = 0, mode = \"x\"");
        assert_eq!(errors.len(), 5, "{errors:#?}");
    }

    #[test]
    fn a_wrong_word_counts_as_given() {
        assert!(read("resource = \"a\"").0.has("key"));
    }
}
