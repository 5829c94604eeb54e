//! The new body: fill the key, put the user's block into a box, run the box under the lock.
//!
//! Everything generated has mixed-site hygiene and unlikely names, and names nothing but the runtime's `__private`: neither
//! the user's names nor blanket traits can change what it means, and lints leave it alone. The user's block keeps its
//! tokens, braces and spans.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, Pat};

use crate::args::Args;
use crate::boxed::{regrouped, with_uses};
use crate::key::{Key, Part, Value};
use crate::output::erased;
use crate::parameter::{Parameters, mentions, quiet};
use crate::signature::{Body, Function, Told};
use crate::value::{Access, Length, Mode};

/// The locked function; on a bad attribute or function the item as it was, and one error per mistake.
pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let args = Args::parse(attribute, &mut errors);
    let locked = match Function::read(item.clone()) {
        Ok(function) => lock(args, function, &mut errors),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    match locked {
        Some(locked) if errors.is_empty() => locked,
        _ => {
            let mut tokens = item;
            for error in &errors {
                tokens.extend(error.to_compile_error());
            }
            tokens
        }
    }
}

fn lock(mut args: Args, mut function: Function, errors: &mut Vec<Error>) -> Option<TokenStream> {
    let told = match (&args.or_else, args.mode) {
        (Some(_), _) => Told::OrElse,
        (None, Mode::Skip) => Told::AsSkipped,
        (None, Mode::Queue | Mode::Reject) => Told::AsRefused,
    };
    function.check(told, errors);
    if args.keys.is_empty() {
        if !args.has("key") {
            errors.push(Error::new(
                Span::call_site(),
                format!(
                    "the lock needs a key: `key = \"{}\"`",
                    suggestion(&function)
                ),
            ));
        }
        return None;
    }
    let mut computed = TokenStream::new();
    for expression in args.computed() {
        expression.to_tokens(&mut computed);
    }
    let in_expression = |name: &Ident| mentions(computed.clone(), &|word| word == name);
    let macros_below = function.has_macros_below();
    let parameters = match &function.boxed {
        Some(_) => Parameters::read(&function.signature),
        None => Parameters::take(&mut function.signature, |names| {
            !names.is_empty() && (macros_below || names.iter().any(in_expression))
        }),
    };
    errors.extend(hiding(args.guard.as_ref(), &parameters));
    let keys = std::mem::take(&mut args.keys);
    let keys: Vec<Option<Key>> = keys
        .into_iter()
        .map(|literal| Key::new(literal, &parameters.bound, errors))
        .collect();
    let keys = keys.into_iter().collect::<Option<Vec<Key>>>()?;
    let in_key = |name: &Ident| values(&keys).any(|value| value.root == *name);
    let used = |name: &Ident| in_expression(name) || in_key(name);
    let moved = parameters.moved(used);
    if let Some(boxed) = &mut function.boxed {
        boxed.block = with_uses(&boxed.block, &used);
    }
    let call = call(&args, &keys, &parameters, &function.signature.ident);
    let body = function.body.take()?;
    Some(quote(&function, &body, &args, &call, &moved))
}

/// A guard's name that stands for an argument already.
fn hiding(guard: Option<&Ident>, parameters: &Parameters) -> Option<Error> {
    let guard = guard?;
    let hidden = parameters.bound.iter().any(|name| name == guard);
    hidden.then(|| {
        Error::new(
            guard.span(),
            format!("`guard = {guard}` hides the argument `{guard}` from the body; choose another name, as in `guard = hold`"),
        )
    })
}

/// A key that would do: the function's name and its first argument.
fn suggestion(function: &Function) -> String {
    let name = &function.signature.ident;
    let argument = function
        .signature
        .inputs
        .iter()
        .find_map(|input| match input {
            FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(argument) => Some(&argument.ident),
                _ => None,
            },
            FnArg::Receiver(_) => None,
        });
    argument.map_or_else(
        || name.to_string(),
        |argument| format!("{name}:<{argument}>"),
    )
}

fn quote(
    function: &Function,
    body: &Body,
    args: &Args,
    call: &TokenStream,
    moved: &TokenStream,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let block = function
        .boxed
        .as_ref()
        .map_or(&body.block, |boxed| &boxed.block);
    let runtime = args.runtime.as_ref().map_or_else(
        || quote_spanned!(mixed=> ::lockruntime),
        ToTokens::to_token_stream,
    );
    let output = erased(function.output());
    let at_output = output.span().resolved_at(mixed);
    // The output's type comes first, so that `?`, early returns and the last expression are checked against it. The block is
    // the arm of a match, since an arm drops the temporaries of its last expression, in every edition before the arguments.
    let edge = quote_spanned! {at_output=>
        if let __lockruntime_private::Some(__lockruntime_never) = __lockruntime_private::None::<#output> {
            return __lockruntime_never;
        }
    };
    let guard = args
        .guard
        .as_ref()
        .map(|guard| guarded(guard, args.when.is_some()));
    let boxed = quote_spanned! {mixed=>
        __lockruntime_private::Box::pin(async move {
            #edge
            #moved
            #guard
            match () { () => #block }
        })
    };
    let named = |name: &str, span| {
        let name = if args.in_background {
            format!("{name}_in_background")
        } else {
            name.to_owned()
        };
        Ident::new(&name, span)
    };
    let run = if let Some(or_else) = &args.or_else {
        // The expression is evaluated before the arguments move, so a closure may take copies of them. What is no closure is
        // judged by a trait of ours, which says what to write.
        let at_expression = or_else.span().resolved_at(mixed);
        let or_else = match or_else {
            Expr::Closure(_) | Expr::Block(_) => or_else.to_token_stream(),
            _ => quote_spanned! {at_expression=>
                move |__lockruntime_error| __lockruntime_private::OrElse::<#output>::refuse(#or_else, __lockruntime_error)
            },
        };
        let run_or = named("run_or", at_expression);
        quote_spanned! {at_expression=>
            #[allow(clippy::implicit_return)]
            __lockruntime_private::#run_or::<#output, _, _>(#or_else, __lockruntime_call, #boxed).await
        }
    } else if function.returns_opaque_response() {
        let run_opaque = named("run_opaque", mixed);
        quote_spanned! {mixed=>
            let __lockruntime_body = #boxed;
            #[allow(clippy::implicit_return)]
            __lockruntime_private::#run_opaque(__lockruntime_call, __lockruntime_body).await
        }
    } else {
        let refused = match args.mode {
            Mode::Queue | Mode::Reject => {
                quote_spanned!(at_output=> <#output as __lockruntime_private::FromLockError>::from_lock_error)
            }
            Mode::Skip => {
                quote_spanned!(at_output=> <#output as __lockruntime_private::FromSkipped>::from_skipped)
            }
        };
        let run = named("run", mixed);
        quote_spanned! {mixed=>
            let __lockruntime_body = #boxed;
            #[allow(clippy::implicit_return)]
            __lockruntime_private::#run(__lockruntime_call, __lockruntime_body, #refused).await
        }
    };
    let content = quote_spanned! {mixed=>
        use #runtime::__private as __lockruntime_private;
        #call
        #run
    };
    let statements = match &function.boxed {
        Some(boxed) => boxed.around(content),
        None => content,
    };
    let mut inside = body.attributes.clone();
    inside.extend(statements);
    let mut tokens = TokenStream::new();
    for attribute in &function.attributes {
        attribute.to_tokens(&mut tokens);
    }
    function.visibility.to_tokens(&mut tokens);
    function.signature.to_tokens(&mut tokens);
    regrouped(&body.block, inside).to_tokens(&mut tokens);
    tokens
}

/// The statements that make `__lockruntime_call`: what the attribute says, and the filled key. They only borrow arguments.
fn call(args: &Args, keys: &[Key], parameters: &Parameters, name: &Ident) -> TokenStream {
    let mixed = Span::mixed_site();
    let name = Literal::string(&format!("::{name}"));
    let mut templates = keys.iter().map(|key| Literal::string(&key.literal.value()));
    let template = templates.next();
    let mut statements = TokenStream::new();
    for root in roots(keys) {
        statements.extend(parameters.borrowed(root));
    }
    statements.extend(quote_spanned! {mixed=>
        let __lockruntime_call = __lockruntime_private::Call::new(
            __lockruntime_private::concat!(__lockruntime_private::module_path!(), #name),
            #template,
        );
    });
    statements.extend(args.manager.as_ref().map(managed));
    statements.extend(args.when.as_ref().map(conditional));
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            let template = templates.next();
            statements.extend(quote_spanned! {mixed=>
                let __lockruntime_call = __lockruntime_private::Call::and(__lockruntime_call, #template);
            });
        }
        for part in &key.parts {
            statements.extend(match part {
                Part::Text(text) => quote_spanned! {mixed=>
                    let __lockruntime_call = __lockruntime_private::Call::text(__lockruntime_call, #text);
                },
                Part::Value(value) => filled(value),
            });
        }
    }
    let mode = match args.mode {
        Mode::Queue => quote_spanned!(mixed=> Queue),
        Mode::Reject => quote_spanned!(mixed=> Reject),
        Mode::Skip => quote_spanned!(mixed=> Skip),
    };
    statements.extend(said(
        "mode",
        &quote_spanned!(mixed=> __lockruntime_private::Mode::#mode),
    ));
    for (method, length) in args.lengths() {
        statements.extend(length.map(|length| lengthened(&Ident::new(method, mixed), length)));
    }
    for (method, count) in [
        ("max_waiters", args.max_waiters.as_ref()),
        ("permits", args.permits.as_ref()),
    ] {
        statements.extend(count.map(|count| counted(&Ident::new(method, mixed), count)));
    }
    if let Some(access) = args.access {
        let access = match access {
            Access::Read => quote_spanned!(mixed=> Read),
            Access::Write => quote_spanned!(mixed=> Write),
        };
        statements.extend(said(
            "access",
            &quote_spanned!(mixed=> __lockruntime_private::Sharing::#access),
        ));
    }
    for (method, switch) in [("watchdog", args.watchdog), ("reentrant", args.reentrant)] {
        statements.extend(switch.map(|switch| said(method, &switch.to_token_stream())));
    }
    if args.goes_on {
        statements.extend(said(
            "on_lost",
            &quote_spanned!(mixed=> __lockruntime_private::OnLost::Continue),
        ));
    }
    statements
}

/// One thing that the attribute says, a constant.
fn said(method: &str, value: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let method = Ident::new(method, mixed);
    quote_spanned! {mixed=>
        let __lockruntime_call = __lockruntime_private::Call::#method(__lockruntime_call, #value);
    }
}

fn counted(method: &Ident, expression: &Expr) -> TokenStream {
    let mixed = Span::mixed_site();
    let at_expression = expression.span().resolved_at(mixed);
    let most = quote_spanned!(at_expression=> let __lockruntime_most: __lockruntime_private::u32 = #expression;);
    quote_spanned! {mixed=>
        #most
        let __lockruntime_call = __lockruntime_private::Call::#method(__lockruntime_call, __lockruntime_most);
    }
}

fn values(keys: &[Key]) -> impl Iterator<Item = &Value> {
    keys.iter().flat_map(Key::values)
}

/// The names that the keys start from, each once.
fn roots(keys: &[Key]) -> Vec<&Ident> {
    let mut roots: Vec<&Ident> = Vec::new();
    for value in values(keys) {
        if !roots.contains(&&value.root) {
            roots.push(&value.root);
        }
    }
    roots
}

fn filled(value: &Value) -> TokenStream {
    let mixed = Span::mixed_site();
    let (quiet, name, borrowed) = (quiet(&value.root), &value.name, value.borrowed());
    quote_spanned! {mixed=>
        #quiet let __lockruntime_call = __lockruntime_private::KeyValue::fill(#borrowed, __lockruntime_call, #name);
    }
}

/// The expression only lends its manager, so it may be a field.
fn managed(expression: &Expr) -> TokenStream {
    // one context with the expression, so that an error shows it whole
    let lent = quote_spanned!(expression.span()=> &#expression);
    quote_spanned! {expression.span().resolved_at(Span::mixed_site())=>
        let __lockruntime_call = __lockruntime_private::AsManager::choose(#lent, __lockruntime_call);
    }
}

fn conditional(expression: &Expr) -> TokenStream {
    let mixed = Span::mixed_site();
    let at_expression = expression.span().resolved_at(mixed);
    let when = quote_spanned!(at_expression=> let __lockruntime_when: __lockruntime_private::bool = #expression;);
    quote_spanned! {mixed=>
        #when
        let __lockruntime_call = __lockruntime_private::Call::when(__lockruntime_call, __lockruntime_when);
    }
}

/// The body's name for its hold, under `when` for the hold that it may have.
fn guarded(guard: &Ident, conditional: bool) -> TokenStream {
    let mixed = Span::mixed_site();
    if conditional {
        quote_spanned!(mixed=> let #guard = __lockruntime_private::hold_when(__lockruntime_when);)
    } else {
        quote_spanned!(mixed=> let #guard = __lockruntime_private::hold();)
    }
}

fn lengthened(method: &Ident, length: &Length) -> TokenStream {
    let mixed = Span::mixed_site();
    let length = match length {
        Length::Millis(millis) => {
            quote_spanned!(mixed=> let __lockruntime_length = __lockruntime_private::Duration::from_millis(#millis);)
        }
        Length::Computed(expression) => {
            let at_expression = expression.span().resolved_at(mixed);
            quote_spanned!(at_expression=> let __lockruntime_length: __lockruntime_private::Duration = #expression;)
        }
    };
    quote_spanned! {mixed=>
        #length
        let __lockruntime_call = __lockruntime_private::Call::#method(__lockruntime_call, __lockruntime_length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without blanks, which stand in a token stream's text as its parts came together.
    fn packed(tokens: &str) -> String {
        tokens.split_whitespace().collect()
    }

    fn expanded(attribute: &str, item: &str) -> String {
        expand(attribute.parse().unwrap(), item.parse().unwrap()).to_string()
    }

    /// What the README's example becomes. At most 25 lines, and one call into the runtime.
    #[test]
    fn golden() {
        let golden = include_str!("golden.rs");
        let item = "async fn pay(id: u64) -> Result<Receipt, PayError> { charge(id).await }";
        let tokens = expanded(
            "key = \"boleto:<id>\", lease = \"30s\", mode = \"queue\"",
            item,
        );
        let golden_tokens = golden.parse::<TokenStream>().unwrap().to_string();
        assert_eq!(packed(&tokens), packed(&golden_tokens));
        assert!(
            golden
                .lines()
                .filter(|line| !line.starts_with("//"))
                .count()
                <= 25
        );
        assert_eq!(
            golden_tokens.matches("await").count(),
            2,
            "the body's and ours"
        );
    }

    #[test]
    fn whatever_the_mistake_the_item_stays() {
        let item = "/// docs\n#[inline] pub async fn pay(id: u64) -> Result<(), E> { half. }";
        let whole = item.parse::<TokenStream>().unwrap().to_string();
        for attribute in [
            "",
            "key",
            "key =",
            "key = 3",
            "key = \"<x>\"",
            "key = \"\"",
            "key = \"a\", lease = \"5\"",
            "key = \"a\", x = 1",
            "=, key = \"a\"",
            "key = \"a\" \"b\"",
            "key = (",
            "crate = \"a\", key = \"a\"",
            "#, key = \"a\"",
            "key = \"a\", wait = \"1s\", mode = \"reject\"",
        ] {
            // an unclosed bracket is no token stream, so no attribute either
            let Ok(attribute) = attribute.parse::<TokenStream>() else {
                continue;
            };
            let tokens = expand(attribute.clone(), item.parse().unwrap()).to_string();
            let errors = tokens
                .strip_prefix(&whole)
                .unwrap_or_else(|| panic!("{attribute}: {tokens}"));
            assert_eq!(
                errors.matches("compile_error").count(),
                1,
                "{attribute}: {errors}"
            );
        }
    }

    #[test]
    fn items_that_are_no_functions_stay_too() {
        for item in [
            "struct S ;",
            "fn f () -> u8 { 1 }",
            "async fn f (&self) -> R ;",
            "async fn f () { }",
            "impl S { }",
            "",
        ] {
            let tokens = expanded("key = \"a\"", item);
            assert!(
                packed(&tokens).starts_with(&packed(item)),
                "{item}: {tokens}"
            );
            assert_eq!(
                tokens.matches("compile_error").count(),
                1,
                "{item}: {tokens}"
            );
        }
    }

    #[test]
    fn nothing_but_the_private_module_is_named() {
        let tokens = expanded(
            "key = [\"<a>:<b.c>\", \"x\"], lease = \"1s\", wait = w, mode = \"queue\", crate = rt, manager = m, when = c, guard = g, or_else = o, max_hold = \"1m\", \
             min_hold = \"1s\", max_waiters = 3, permits = n, watchdog = false, on_lost = \"continue\", reentrant = true, release = \"background\"",
            "async fn f(&self, a: A, P { b, .. }: P, _: W, w: D) -> R {}",
        );
        assert_eq!(tokens.matches("rt :: __private").count(), 1);
        for path in tokens
            .replace("\"::f\"", "")
            .split("::")
            .skip(1)
            .map(str::trim_start)
        {
            let name = path.split([' ', '(', '<', ';', ')']).next().unwrap();
            let known = [
                "__private",
                "AsManager",
                "Box",
                "Continue",
                "OnLost",
                "and",
                "Call",
                "Duration",
                "FromLockError",
                "KeyValue",
                "Mode",
                "None",
                "OrElse",
                "Queue",
                "Some",
                "bool",
                "choose",
                "concat",
                "fill",
                "from_lock_error",
                "from_millis",
                "hold_when",
                "implicit_return",
                "lease",
                "mode",
                "module_path",
                "new",
                "no_effect_underscore_binding",
                "pattern_type_mismatch",
                "pin",
                "refuse",
                "run_or_in_background",
                "shadow_reuse",
                "shadow_same",
                "shadow_unrelated",
                "text",
                "max_hold",
                "max_waiters",
                "min_hold",
                "on_lost",
                "permits",
                "reentrant",
                "u32",
                "wait",
                "watchdog",
                "when",
            ];
            assert!(
                known.contains(&name) || name.is_empty(),
                "{name:?} in {tokens}"
            );
        }
        assert!(!tokens.contains("unwrap") && !tokens.contains('?'));
    }
}
