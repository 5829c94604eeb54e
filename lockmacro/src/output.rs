//! The return type as it may stand inside a body.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};

use crate::boxed::regrouped;

/// The type with every `impl Trait` as `_`, at any depth: a body can't name it, but the compiler infers it.
pub(crate) fn erased(ty: TokenStream) -> TokenStream {
    let mut tokens = ty.into_iter().peekable();
    let mut erased = TokenStream::new();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "impl" => {
                erased.extend([TokenTree::Ident(Ident::new("_", word.span()))]);
                skip_bounds(&mut tokens);
            }
            TokenTree::Group(group) => erased.extend([inside(&group)]),
            other => erased.extend([other]),
        }
    }
    erased
}

fn inside(group: &Group) -> TokenTree {
    let inner = erased(group.stream());
    let mut alone = inner.clone().into_iter();
    if group.delimiter() == Delimiter::Parenthesis
        && let (Some(TokenTree::Ident(only)), None) = (alone.next(), alone.next())
        && only == "_"
    {
        // `&(impl A + B)`: without the sum, the parentheses would draw a warning
        return TokenTree::Ident(only);
    }
    TokenTree::Group(regrouped(group, inner))
}

/// Skips the bounds after `impl`: to the comma or bracket that ends the type.
fn skip_bounds(tokens: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) {
    let mut depth = 0_usize;
    let mut arrow = false;
    while let Some(token) = tokens.peek() {
        if let TokenTree::Punct(punct) = token {
            match punct.as_char() {
                ',' | ';' | '=' if depth == 0 => return,
                '<' => depth += 1,
                '>' if arrow => {}
                '>' if depth == 0 => return,
                '>' => depth -= 1,
                _ => {}
            }
            arrow = punct.as_char() == '-' && punct.spacing() == Spacing::Joint;
        } else {
            arrow = false;
        }
        tokens.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impl_trait_is_erased_at_any_depth() {
        for (ty, expected) in [
            ("Result<u8, E>", "Result < u8 , E >"),
            ("impl Future<Output = Vec<u8>>", "_"),
            (
                "Result<impl Iterator<Item = &'a u8> + 'a, E>",
                "Result < _ , E >",
            ),
            ("Result<impl Fn(u8) -> Vec<u8>, E>", "Result < _ , E >"),
            (
                "Result<(impl A, &'a (impl B + C)), E>",
                "Result < (_ , &'a _) , E >",
            ),
            (
                "Result<Box<dyn Fn(u8) -> u8>, E>",
                "Result < Box < dyn Fn (u8) -> u8 >, E >",
            ),
            ("[impl A; 3]", "[_ ; 3]"),
        ] {
            assert_eq!(erased(ty.parse().unwrap()).to_string(), expected, "{ty}");
        }
    }
}
