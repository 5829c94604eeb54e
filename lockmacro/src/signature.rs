//! The function under the attribute: what may be locked, and what to write instead.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, ReturnType, Signature, Type, TypeParamBound, Visibility};

use crate::boxed::Boxed;
use crate::parameter::mentions;

/// A function whose body is tokens: it is never parsed here, so a half-written one reaches the compiler as it is.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// `None` for a method that ends in `;`.
    pub(crate) body: Option<Body>,
    /// Set for a function that isn't async itself.
    pub(crate) boxed: Option<Boxed>,
}

/// The braces and what is in them; the attributes at the top (`#![allow(…)]`) apart, since they belong to the function.
pub(crate) struct Body {
    pub(crate) attributes: TokenStream,
    pub(crate) block: Group,
}

/// How a caller is told that the lock was not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The return type has room for the refusal.
    AsRefused,
    /// It has room for not having run.
    AsSkipped,
    /// The attribute says what to return.
    OrElse,
}

/// Attributes that the compiler reads itself; every other one is a macro that still has to expand.
const BUILT_IN: [&str; 21] = [
    "allow",
    "automatically_derived",
    "cfg",
    "cfg_attr",
    "cold",
    "coverage",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "export_name",
    "forbid",
    "inline",
    "link_section",
    "must_use",
    "no_mangle",
    "optimize",
    "target_feature",
    "track_caller",
    "unsafe",
    "warn",
];
const TOOLS: [&str; 4] = ["clippy", "diagnostic", "rust_analyzer", "rustfmt"];

impl Function {
    /// An error for each reason why it can't be locked.
    pub(crate) fn check(&self, told: Told, errors: &mut Vec<Error>) {
        let name = &self.signature.ident;
        if let Some(constness) = self.signature.constness {
            errors.push(Error::new(
                constness.span,
                format!("a const function can't wait for a lock; write `async fn {name}`"),
            ));
        } else if self.signature.asyncness.is_none() && self.boxed.is_none() {
            errors.push(not_async(&self.signature, self.body.as_ref()));
        } else {
            errors.extend(no_room_for_a_refusal(&self.signature, told));
        }
        if self.body.is_none() {
            errors.push(Error::new(
                name.span(),
                format!("`{name}` has no body to lock here; put the attribute on its implementations, or give it a default body"),
            ));
        }
    }

    /// Whether another attribute macro will see the function as we leave it.
    pub(crate) fn has_macros_below(&self) -> bool {
        self.attributes.iter().any(|attribute| {
            let path = attribute.path();
            let first = path
                .segments
                .first()
                .map(|first| first.ident.to_string())
                .unwrap_or_default();
            let known: &[&str] = if path.segments.len() == 1 {
                &BUILT_IN
            } else {
                &TOOLS
            };
            !known.contains(&first.as_str())
        })
    }

    /// What the body returns, as written.
    pub(crate) fn output(&self) -> TokenStream {
        match (&self.boxed, &self.signature.output) {
            (Some(boxed), _) => boxed.output.clone(),
            (None, ReturnType::Type(_, ty)) => ty.to_token_stream(),
            (None, ReturnType::Default) => quote_spanned!(self.signature.ident.span()=> ()),
        }
    }

    /// Whether what it returns is known as something that a web framework answers with, and as nothing else: then a refusal
    /// can only be told by wrapping it into a `Result`, which both frameworks answer with as well.
    pub(crate) fn returns_opaque_response(&self) -> bool {
        let ReturnType::Type(_, ty) = &self.signature.output else {
            return false;
        };
        let Type::ImplTrait(opaque) = &**ty else {
            return false;
        };
        opaque.bounds.iter().any(|bound| {
            let TypeParamBound::Trait(bound) = bound else {
                return false;
            };
            let last = bound.path.segments.last().map(|last| &last.ident);
            last.is_some_and(|last| last == "IntoResponse" || last == "Responder")
        })
    }
}

impl Function {
    /// Only what stands before the body goes through the parser, which would copy every token of it.
    pub(crate) fn read(item: TokenStream) -> Result<Self, Error> {
        let mut head: Vec<TokenTree> = item.into_iter().collect();
        let braces = match head.pop() {
            Some(TokenTree::Group(last)) if last.delimiter() == Delimiter::Brace => Some(last),
            Some(TokenTree::Group(last)) if last.delimiter() == Delimiter::None => {
                if head.is_empty() {
                    // an `$item:item` of macro_rules
                    return Self::read(last.stream());
                }
                Some(last)
            }
            Some(other) => {
                head.push(other);
                None
            }
            None => None,
        };
        let head = syn::parse2::<Head>(head.into_iter().collect())?;
        let Head {
            attributes,
            visibility,
            signature,
        } = head;
        let body = braces.and_then(|braces| Body::read(&braces));
        let boxed = body
            .as_ref()
            .filter(|_| signature.asyncness.is_none())
            .and_then(|body| Boxed::read(&signature, &body.block.stream()));
        Ok(Self {
            attributes,
            visibility,
            signature,
            body,
            boxed,
        })
    }
}

/// What stands before the body.
struct Head {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: Visibility = input.parse()?;
        let ahead = input.fork();
        let Ok(signature) = ahead.parse::<Signature>() else {
            return Err(not_a_function(input));
        };
        input.advance_to(&ahead);
        // what follows instead of a body, `;` most likely, is told as one that is missing
        input.parse::<TokenStream>()?;
        Ok(Self {
            attributes,
            visibility,
            signature,
        })
    }
}

impl Body {
    fn read(group: &Group) -> Option<Self> {
        match group.delimiter() {
            Delimiter::Brace => Some(Self::new(group)),
            // a `$body:block` of macro_rules
            Delimiter::None => {
                let mut inside = group.stream().into_iter();
                match (inside.next(), inside.next()) {
                    (Some(TokenTree::Group(group)), None) => Self::read(&group),
                    _ => None,
                }
            }
            Delimiter::Parenthesis | Delimiter::Bracket => None,
        }
    }

    fn new(braces: &Group) -> Self {
        let mut attributes = TokenStream::new();
        let mut rest = braces.stream().into_iter();
        let mut statements = rest.clone();
        while let (
            Some(TokenTree::Punct(hash)),
            Some(TokenTree::Punct(not)),
            Some(TokenTree::Group(group)),
        ) = (rest.next(), rest.next(), rest.next())
        {
            if hash.as_char() != '#'
                || not.as_char() != '!'
                || group.delimiter() != Delimiter::Bracket
            {
                break;
            }
            attributes.extend([
                TokenTree::Punct(hash),
                TokenTree::Punct(not),
                TokenTree::Group(group),
            ]);
            statements = rest.clone();
        }
        let mut block = braces.clone();
        if !attributes.is_empty() {
            block = Group::new(Delimiter::Brace, statements.collect());
            block.set_span(braces.span());
        }
        Self { attributes, block }
    }
}

fn not_async(signature: &Signature, body: Option<&Body>) -> Error {
    let name = &signature.ident;
    // what `#[tokio::main]` and its like leave behind
    if body.is_some_and(|body| mentions(body.block.stream(), &|word| word == "block_on")) {
        return Error::new(
            signature.fn_token.span,
            "an attribute above this one (`#[tokio::main]`, `#[tokio::test]` and the like) took the `async` away; put the lock above it",
        );
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && mentions(ty.to_token_stream(), &|word| {
            ["Future", "BoxFuture", "LocalBoxFuture", "IntoFuture"]
                .iter()
                .any(|future| word == future)
        })
    {
        let message = format!(
            "the lock would end when `{name}` returns this future, before its work begins; write `async fn {name}` that returns \
             the future's output"
        );
        return Error::new_spanned(ty, message);
    }
    Error::new(
        signature.fn_token.span,
        format!("a lock is waited for, so the function must be async; write `async fn {name}`"),
    )
}

/// Return types of which the text alone says that they can't carry a refusal; the compiler judges the others by trait.
fn no_room_for_a_refusal(signature: &Signature, told: Told) -> Option<Error> {
    let name = &signature.ident;
    let fix = "write `-> Result<(), E>` where `E: From<lockruntime::LockError>`, or say with `or_else` what to do then";
    match &signature.output {
        ReturnType::Default if told == Told::AsRefused => Some(Error::new(
            name.span(),
            format!("`{name}` returns nothing, so it can't say that the lock was refused; {fix}"),
        )),
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => match &**ty {
            Type::Tuple(unit) if unit.elems.is_empty() && told == Told::AsRefused => {
                Some(Error::new_spanned(
                    ty,
                    format!("`()` can't say that the lock was refused; {fix}"),
                ))
            }
            Type::Never(_) if told == Told::AsSkipped => Some(Error::new_spanned(
                ty,
                "a function that never returns can't say that it was skipped; write \
                 `-> Result<Option<std::convert::Infallible>, E>` where `E: From<lockruntime::LockError>`",
            )),
            Type::Never(_) => Some(Error::new_spanned(
                ty,
                "a function that never returns can't say that the lock was refused or lost; write \
                 `-> Result<std::convert::Infallible, E>` where `E: From<lockruntime::LockError>`",
            )),
            Type::ImplTrait(_) if told == Told::AsSkipped => Some(Error::new_spanned(
                ty,
                "an `impl Trait` can't say that the call was skipped; write `-> Option<impl …>`, or say with `or_else` what to \
                 return then",
            )),
            _ => None,
        },
    }
}

fn not_a_function(input: ParseStream<'_>) -> Error {
    let (word, span) = match input.cursor().ident() {
        Some((word, _)) => (word.to_string(), word.span()),
        None => (String::new(), input.span()),
    };
    let message = match word.as_str() {
        "impl" | "trait" => format!(
            "the lock goes on an async function; put it on each method of this {word} that needs it"
        ),
        "struct" | "enum" | "union" | "mod" | "static" | "const" | "type" | "use"
        | "macro_rules" => {
            format!("the lock goes on an async function, not on a `{word}`")
        }
        _ => return unreadable(input, span),
    };
    Error::new(span, message)
}

fn unreadable(input: ParseStream<'_>, span: Span) -> Error {
    match input.fork().parse::<Signature>() {
        Err(error) if mentions(input.cursor().token_stream(), &|word: &Ident| word == "fn") => {
            error
        }
        _ => Error::new(span, "the lock goes on an async function"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(item: &str) -> (Option<Function>, Vec<String>) {
        let mut errors = Vec::new();
        let function = match Function::read(item.parse().unwrap()) {
            Ok(function) => {
                function.check(Told::AsRefused, &mut errors);
                Some(function)
            }
            Err(error) => {
                errors.push(error);
                None
            }
        };
        (function, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn bodies_are_tokens() {
        let function = read(
            "#[inline] pub(crate) async unsafe fn f<T>(a: T) -> R where T: X { let x = ; foo. }",
        )
        .0
        .unwrap();
        assert_eq!(
            function.body.as_ref().unwrap().block.to_string(),
            "{ let x = ; foo . }"
        );
        assert!(!function.has_macros_below());
    }

    #[test]
    fn attributes_at_the_top_of_the_body_go_apart() {
        let body = read("async fn f() -> R { #![allow(x)] #![doc = \"y\"] #[cfg(z)] g(); }")
            .0
            .unwrap()
            .body
            .unwrap();
        assert_eq!(
            body.attributes.to_string(),
            "#! [allow (x)] #! [doc = \"y\"]"
        );
        assert_eq!(body.block.to_string(), "{ # [cfg (z)] g () ; }");
    }

    #[test]
    fn macros_below_are_seen() {
        let has = |attribute: &str| {
            read(&format!("{attribute}\n async fn f() -> R {{}}"))
                .0
                .unwrap()
                .has_macros_below()
        };
        assert!(has("#[instrument]") && has("#[tracing::instrument(skip_all)]"));
        assert!(!has("/// docs") && !has("#[clippy::msrv = \"1\"]") && !has("#[allow(x)]"));
    }

    #[test]
    fn opaque_responses_are_known_by_their_last_name() {
        let opaque = |returns: &str| {
            let function = read(&format!("async fn f() -> {returns} {{}}")).0;
            function.unwrap().returns_opaque_response()
        };
        assert!(opaque("impl IntoResponse") && opaque("impl axum::response::IntoResponse + use<>"));
        assert!(opaque("impl actix_web::Responder<Body = BoxBody>"));
        assert!(!opaque("impl Display") && !opaque("Result<impl IntoResponse, E>"));
        assert!(!opaque("Response") && !opaque("IntoResponse"));
    }

    #[test]
    fn with_or_else_any_return_type_will_do() {
        for returns in ["", "-> ()", "-> R"] {
            let item = format!("async fn f() {returns} {{}}");
            let function = Function::read(item.parse().unwrap()).unwrap();
            let mut errors = Vec::new();
            function.check(Told::OrElse, &mut errors);
            assert!(errors.is_empty(), "{item}");
        }
    }

    #[test]
    fn each_refusal_is_one_sentence() {
        for (item, part) in [
            ("fn f() -> R {}", "write `async fn f`"),
            (
                "fn f() -> R { Runtime::new().block_on(async { g() }) }",
                "put the lock above it",
            ),
            ("const fn f() -> R {}", "a const function can't wait"),
            (
                "fn f() -> impl Future<Output = R> {}",
                "before its work begins",
            ),
            (
                "fn f() -> BoxFuture<'static, R> {}",
                "before its work begins",
            ),
            (
                "fn f() -> Pin<Box<dyn Future<Output = R>>> { Box::pin(g()) }",
                "before its work begins",
            ),
            ("async fn f() -> R;", "`f` has no body to lock here"),
            ("async fn f() {}", "`f` returns nothing"),
            ("async fn f() -> () {}", "`()` can't say"),
            ("async fn f() -> ! {}", "never returns"),
            ("struct S;", "not on a `struct`"),
            ("pub enum E {}", "not on a `enum`"),
            ("impl S { async fn f() {} }", "each method of this impl"),
            ("trait T {}", "each method of this trait"),
            ("static X: u8 = 1;", "not on a `static`"),
            ("", "the lock goes on an async function"),
        ] {
            let (_, errors) = read(item);
            assert_eq!(errors.len(), 1, "{item}: {errors:?}");
            assert!(errors[0].contains(part), "{item}: {}", errors[0]);
        }
    }
}
