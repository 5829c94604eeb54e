//! The values of the arguments: one function for each kind, which says what to write instead of a wrong one.

use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Path};

use crate::duration::{self, Use};
use crate::spelling::nearest;
use crate::words::{self, MODES, Word};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Queue,
    Reject,
    /// Not run where the lock isn't free, which is no error.
    Skip,
}

/// What the key's readers and writers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A duration: known now, or an expression that gives one.
pub(crate) enum Length {
    Millis(u64),
    Computed(Box<Expr>),
}

/// A value that came through a `macro_rules` fragment is wrapped in a group that nobody sees.
pub(crate) fn without_group(value: Expr) -> Expr {
    match value {
        Expr::Group(group) => without_group(*group.expr),
        other => other,
    }
}

fn string(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// One key, or a list of them.
pub(crate) fn keys(value: &Expr) -> Result<Vec<LitStr>, Error> {
    let Expr::Array(list) = value else {
        return Ok(vec![key(value)?]);
    };
    let mut keys: Vec<LitStr> = Vec::new();
    for element in &list.elems {
        let key = key(&without_group(element.clone()))?;
        if keys.iter().any(|known| known.value() == key.value()) {
            let message = format!("{:?} is in the list twice; keep one", key.value());
            return Err(Error::new(key.span(), message));
        }
        keys.push(key);
    }
    if keys.is_empty() {
        let message =
            "the list of keys is empty; write `key = [\"account:<from>\", \"account:<to>\"]`";
        return Err(Error::new_spanned(value, message));
    }
    Ok(keys)
}

fn key(value: &Expr) -> Result<LitStr, Error> {
    let message = match value {
        Expr::Lit(_) => "the key is a string: `key = \"boleto:<id>\"`",
        _ => {
            "the key is a literal string whose placeholders name arguments: `key = \"boleto:<id>\"`; for a computed key take the \
             lock with `LockManager::lock`"
        }
    };
    string(value)
        .cloned()
        .ok_or_else(|| Error::new_spanned(value, message))
}

pub(crate) fn length(value: Expr, purpose: Use) -> Result<Length, Error> {
    if let Some(text) = string(&value) {
        return duration::parse(&text.value(), purpose)
            .map(Length::Millis)
            .map_err(|message| Error::new(text.span(), message));
    }
    let (name, example) = (purpose.name(), purpose.example());
    let number = match &value {
        Expr::Lit(literal) => Some(literal),
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => match &*unary.expr {
            Expr::Lit(literal) => Some(literal),
            _ => None,
        },
        _ => None,
    };
    match number {
        Some(ExprLit {
            lit: Lit::Int(number),
            ..
        }) if !matches!(value, Expr::Unary(_)) => Err(Error::new_spanned(
            &value,
            format!(
                "`{name}` is a string with a unit: `{name} = \"{}s\"`",
                number.base10_digits()
            ),
        )),
        Some(_) => Err(Error::new_spanned(
            &value,
            format!(
                "`{name}` is a string with a number and a unit, `{name} = \"{example}\"`, or an expression of type `Duration`"
            ),
        )),
        None => Ok(Length::Computed(Box::new(value))),
    }
}

pub(crate) fn mode(value: &Expr) -> Result<Mode, Error> {
    if let Some(text) = string(value) {
        return match words::mode(&text.value()) {
            Word::Right("reject") => Ok(Mode::Reject),
            Word::Right("skip") => Ok(Mode::Skip),
            Word::Right(_) => Ok(Mode::Queue),
            Word::Meant(_, message) | Word::Wrong(message) => Err(Error::new(text.span(), message)),
        };
    }
    // `mode = reject`, `mode = Mode::Reject`
    let meant = match value {
        Expr::Path(path) => path
            .path
            .segments
            .last()
            .and_then(|last| nearest(&last.ident.to_string(), MODES)),
        _ => None,
    };
    let message = match meant {
        Some(mode) => format!("the mode is a string: `mode = \"{mode}\"`"),
        None => format!("the mode is a string: {}", words::modes()),
    };
    Err(Error::new_spanned(value, message))
}

pub(crate) fn manager(value: Expr) -> Result<Expr, Error> {
    expression(value, |_| false, &|quoted| match quoted {
        Some(text) => format!("`manager` is an expression without quotes: `manager = {text}`"),
        None => {
            "`manager` is an expression that gives a `LockManager`, such as `manager = self.locks`"
                .to_owned()
        }
    })
}

pub(crate) fn when(value: Expr) -> Result<Expr, Error> {
    expression(
        value,
        |literal| matches!(literal, Lit::Bool(_)),
        &|quoted| match quoted {
            Some(text) => format!("`when` is an expression without quotes: `when = {text}`"),
            None => "`when` is a bool expression that says whether to lock: `when = !dry_run`"
                .to_owned(),
        },
    )
}

pub(crate) fn or_else(value: Expr) -> Result<Expr, Error> {
    expression(value, |_| false, &|quoted| {
        match quoted {
        Some(text) => format!("`or_else` is an expression without quotes: `or_else = {text}`"),
        None => "`or_else` is a path or a closure from `LockError` to what the function returns: `or_else = busy`".to_owned(),
    }
    })
}

/// Anything but a literal of which the text alone says that it has the wrong type.
fn expression(
    value: Expr,
    fits: fn(&Lit) -> bool,
    message: &dyn Fn(Option<String>) -> String,
) -> Result<Expr, Error> {
    match &value {
        Expr::Lit(literal) if !fits(&literal.lit) => {
            let quoted = string(&value)
                .map(LitStr::value)
                .filter(|text| syn::parse_str::<Expr>(text).is_ok());
            Err(Error::new_spanned(&value, message(quoted)))
        }
        _ => Ok(value),
    }
}

pub(crate) fn guard(value: &Expr) -> Result<Ident, Error> {
    if let Expr::Path(path) = value
        && let Some(name) = path.path.get_ident()
        && !["self", "Self", "super", "crate"]
            .iter()
            .any(|word| name == word)
    {
        return Ok(name.clone());
    }
    let quoted = string(value).map(LitStr::value);
    let message = match quoted.filter(|text| syn::parse_str::<Ident>(text).is_ok()) {
        Some(name) => format!("`guard` is a name without quotes: `guard = {name}`"),
        None => "`guard` is a name that the body then has for its hold: `guard = hold`".to_owned(),
    };
    Err(Error::new_spanned(value, message))
}

/// `true` or `false`: it says how the function is written, so it doesn't change from call to call.
pub(crate) fn switch(name: &str, value: &Expr) -> Result<bool, Error> {
    if let Expr::Lit(ExprLit {
        lit: Lit::Bool(switch),
        ..
    }) = value
    {
        return Ok(switch.value);
    }
    Err(Error::new_spanned(
        value,
        format!("`{name}` is `true` or `false`: `{name} = false`"),
    ))
}

/// Whether the body goes on when its lock is lost.
pub(crate) fn on_lost(value: &Expr) -> Result<bool, Error> {
    let text = string(value).map(LitStr::value);
    match text.as_deref() {
        Some("continue") => Ok(true),
        Some("cancel") => Ok(false),
        text => {
            let near = text.and_then(|text| Some((text, nearest(text, words::ON_LOST)?)));
            let message = match near {
                Some((text, near)) => format!("unknown `on_lost` \"{text}\"; did you mean \"{near}\"?"),
                None => "write `on_lost = \"cancel\"`, which stops the body, or `on_lost = \"continue\"`".to_owned(),
            };
            Err(Error::new_spanned(value, message))
        }
    }
}

pub(crate) fn release(value: &Expr) -> Result<bool, Error> {
    let text = string(value).map(LitStr::value);
    if text.as_deref() == Some("background") {
        return Ok(true);
    }
    let message = "write `release = \"background\"` to hand the release over, or leave `release` out to wait for it";
    Err(Error::new_spanned(value, message))
}

pub(crate) fn access(value: &Expr) -> Result<Access, Error> {
    let text = string(value).map(LitStr::value);
    match text.as_deref() {
        Some("read") => Ok(Access::Read),
        Some("write") => Ok(Access::Write),
        text => {
            let near = text.and_then(|text| Some((text, nearest(text, words::ACCESS)?)));
            let message = match near {
                Some((text, near)) => {
                    format!("unknown `access` \"{text}\"; did you mean \"{near}\"?")
                }
                None => "write `access = \"read\"`, which shares the lock with other readers, or `access = \"write\"`".to_owned(),
            };
            Err(Error::new_spanned(value, message))
        }
    }
}

pub(crate) fn permits(value: Expr) -> Result<Expr, Error> {
    if let Expr::Lit(ExprLit {
        lit: Lit::Int(number),
        ..
    }) = &value
        && number.base10_parse::<u64>().is_ok_and(|number| number == 0)
    {
        let message = "with no permits nobody could hold the lock; write `permits = 1`, or more";
        return Err(Error::new_spanned(&value, message));
    }
    count("permits", value)
}

/// A number, or an expression of type `u32`.
pub(crate) fn count(name: &str, value: Expr) -> Result<Expr, Error> {
    let negative = matches!(&value, Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)));
    let message = |_: Option<String>| {
        let example = words::example(name);
        format!("`{name}` is a number, or an expression of type `u32`: `{example}`")
    };
    if negative {
        return Err(Error::new_spanned(&value, message(None)));
    }
    expression(value, |literal| matches!(literal, Lit::Int(_)), &message)
}

pub(crate) fn runtime(value: Expr) -> Result<Path, Error> {
    if let Expr::Path(path) = &value
        && path.qself.is_none()
        && path.attrs.is_empty()
    {
        return Ok(path.path.clone());
    }
    let message = match string(&value).map(LitStr::value) {
        Some(path) => format!("`crate` is a path without quotes: `crate = {path}`"),
        None => "`crate` is the path of the runtime: `crate = path::to::lockruntime`".to_owned(),
    };
    Err(Error::new_spanned(value, message))
}
