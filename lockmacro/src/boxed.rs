//! A function that returns a boxed async block, as `#[async_trait]` leaves a method: `{ …; Box::pin(async move { … }) }`.
//!
//! Everything around the block stays; the block's content is what runs under the lock.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{GenericArgument, Path, PathArguments, ReturnType, Signature, Type, TypeParamBound};

/// The parts of such a function.
pub(crate) struct Boxed {
    /// The `Output` of the future.
    pub(crate) output: TokenStream,
    /// The braces of the async block, and what is in them.
    pub(crate) block: Group,
    /// What stands before the last pair of parentheses: `…; Box::pin`.
    before: TokenStream,
    /// The parentheses.
    call: Group,
    /// `async move`
    keywords: TokenStream,
}

impl Boxed {
    /// `None` if the function looks otherwise.
    pub(crate) fn read(signature: &Signature, body: &TokenStream) -> Option<Self> {
        let ReturnType::Type(_, returned) = &signature.output else {
            return None;
        };
        let output = output_of(returned)?;
        let mut before: Vec<TokenTree> = body.clone().into_iter().collect();
        let call = parentheses(before.pop()?)?;
        if !is(before.last()?, "pin") {
            return None;
        }
        let mut keywords: Vec<TokenTree> = call.stream().into_iter().collect();
        let block = match keywords.pop()? {
            TokenTree::Group(block) if block.delimiter() == Delimiter::Brace => block,
            _ => return None,
        };
        let is_async = match keywords.as_slice() {
            [first] => is(first, "async"),
            [first, second] => is(first, "async") && is(second, "move"),
            _ => false,
        };
        is_async.then(|| Self {
            output,
            block,
            before: before.into_iter().collect(),
            call,
            keywords: keywords.into_iter().collect(),
        })
    }

    /// The function's statements with another content of the async block.
    pub(crate) fn around(&self, content: TokenStream) -> TokenStream {
        let mut inside = self.keywords.clone();
        inside.extend([TokenTree::Group(regrouped(&self.block, content))]);
        let mut statements = self.before.clone();
        statements.extend([TokenTree::Group(regrouped(&self.call, inside))]);
        statements
    }
}

/// `#[async_trait]` binds every argument anew, `let id = id;`. Where only the attribute uses `id`, nobody must call that binding
/// unused: this adds a use after it.
pub(crate) fn with_uses(block: &Group, used: &dyn Fn(&Ident) -> bool) -> Group {
    let mut tokens = TokenStream::new();
    let mut statement: Vec<TokenTree> = Vec::new();
    for token in block.stream() {
        let ends = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
        statement.push(token);
        if ends {
            let name = bound_anew(&statement).filter(|name| used(name)).cloned();
            tokens.extend(statement.drain(..));
            if let Some(name) = name {
                quote_spanned!(Span::mixed_site()=> let _ = &#name;).to_tokens(&mut tokens);
            }
        }
    }
    tokens.extend(statement);
    regrouped(block, tokens)
}

/// The name of `let id = id;` or `let mut id = id;`.
fn bound_anew(statement: &[TokenTree]) -> Option<&Ident> {
    let (first, rest) = statement.split_first()?;
    let rest = match rest {
        [word, rest @ ..] if is(word, "mut") => rest,
        rest => rest,
    };
    match rest {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(equals),
            TokenTree::Ident(same),
            _,
        ] if is(first, "let") && equals.as_char() == '=' && name == same => Some(name),
        _ => None,
    }
}

/// The same brackets around something else.
pub(crate) fn regrouped(brackets: &Group, content: TokenStream) -> Group {
    let mut group = Group::new(brackets.delimiter(), content);
    group.set_span(brackets.span());
    group
}

/// `R` of `Pin<Box<dyn Future<Output = R> + …>>`.
fn output_of(returned: &Type) -> Option<TokenStream> {
    let boxed = only_argument(path(returned)?, "Pin")?;
    let Type::TraitObject(object) = only_argument(path(boxed)?, "Box")? else {
        return None;
    };
    let future = object.bounds.iter().find_map(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last(),
        _ => None,
    })?;
    match &future.arguments {
        PathArguments::AngleBracketed(arguments) if future.ident == "Future" => {
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::AssocType(output) if output.ident == "Output" => {
                    Some(output.ty.to_token_stream())
                }
                _ => None,
            })
        }
        _ => None,
    }
}

fn path(ty: &Type) -> Option<&Path> {
    match ty {
        Type::Path(path) => Some(&path.path),
        Type::Group(group) => path(&group.elem),
        _ => None,
    }
}

fn only_argument<'a>(path: &'a Path, name: &str) -> Option<&'a Type> {
    let last = path.segments.last().filter(|last| last.ident == name)?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

fn parentheses(token: TokenTree) -> Option<Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group),
        _ => None,
    }
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if *ident == Ident::new(word, ident.span()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(function: &str, body: &str) -> Option<Boxed> {
        Boxed::read(&syn::parse_str(function).unwrap(), &body.parse().unwrap())
    }

    const SIGNATURE: &str = "fn f(&self) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<u8, E>> + Send + 'a>>";

    #[test]
    fn the_content_changes_and_nothing_around_it() {
        let boxed = read(SIGNATURE, "let a = 1; Box::pin(async move { a })").unwrap();
        assert_eq!(boxed.output.to_string(), "Result < u8 , E >");
        assert_eq!(boxed.block.to_string(), "{ a }");
        assert_eq!(
            boxed.around("b".parse().unwrap()).to_string(),
            "let a = 1 ; Box :: pin (async move { b })"
        );
        assert!(read(SIGNATURE, "::std::boxed::Box::pin(async { a })").is_some());
    }

    #[test]
    fn bindings_that_only_the_attribute_uses_are_used() {
        let block =
            "{ let __self = self ; let mut id = id ; let name = name ; let other = id ; id }";
        let block: Group = syn::parse_str(block).unwrap();
        assert_eq!(
            with_uses(&block, &|name| name == "id").to_string(),
            "{ let __self = self ; let mut id = id ; let _ = & id ; let name = name ; let other = id ; id }"
        );
    }

    #[test]
    fn other_functions_are_not_boxed() {
        for body in [
            "f.boxed()",
            "Box::pin(f)",
            "Box::pin(async { a }.fuse())",
            "Box::pin(async { a });",
            "Box::new(async { a })",
            "",
        ] {
            assert!(read(SIGNATURE, body).is_none(), "{body}");
        }
        for function in [
            "fn f()",
            "fn f() -> impl Future<Output = u8>",
            "fn f() -> Pin<Box<dyn Stream<Item = u8>>>",
        ] {
            assert!(
                read(function, "Box::pin(async { a })").is_none(),
                "{function}"
            );
        }
    }
}
