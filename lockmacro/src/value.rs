//! The values of the arguments: one function for each kind, which says what to write instead of a wrong one.

use syn::{Error, Expr, ExprLit, Lit, LitStr, Path};

use crate::duration::{self, Use};
use crate::spelling::nearest;
use crate::words::{self, MODES, Word};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Queue,
    Reject,
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

pub(crate) fn key(value: &Expr) -> Result<LitStr, Error> {
    let message = match value {
        Expr::Array(_) => {
            "a list of keys is not available yet; write one key, as in `key = \"boleto:<id>\"`"
        }
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
