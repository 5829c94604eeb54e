//! How the arguments get into the body's block, so that all of them are dropped before the lock is released.
//!
//! A plain `id: u64` is bound anew inside: `let id = id;`. The new binding is the user's own identifier, so that the
//! compiler still says when it is unused. Any other pattern moves inside as a whole: the parameter gets a hidden name in
//! the signature and is taken apart in the block, since what a pattern leaves behind (`Order { id, .. }`, `_`) would else
//! stay outside and outlive the lock.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Pat, PatIdent, PatType, Signature};

use crate::pattern;

/// The parameters of one function.
#[derive(Default)]
pub(crate) struct Parameters {
    /// Every name in scope, in order; `self` is one.
    pub(crate) bound: Vec<Ident>,
    receiver: Option<Ident>,
    typed: Vec<Parameter>,
}

struct Parameter {
    /// `cfg` and lint attributes, for the new bindings.
    attributes: Vec<Attribute>,
    form: Form,
}

enum Form {
    /// The signature binds these names; each is bound anew inside.
    Named(Vec<PatIdent>),
    /// The signature has a hidden name; the pattern is matched inside.
    Hidden(Ident, Pat),
}

impl Parameters {
    /// Reads the parameters and rewrites the signature to what it must be outside of the block. A pattern of which `named`
    /// says that code outside of the body names its bindings stays in the signature.
    pub(crate) fn take(signature: &mut Signature, named: impl Fn(&[Ident]) -> bool) -> Self {
        let mut parameters = Self::default();
        for (index, input) in signature.inputs.iter_mut().enumerate() {
            match input {
                FnArg::Receiver(receiver) => {
                    let name = Ident::new("self", receiver.self_token.span);
                    parameters.bound.push(name.clone());
                    parameters.receiver = Some(name);
                }
                FnArg::Typed(typed) => {
                    let names = pattern::names(&typed.pat);
                    let keep = named(&names);
                    parameters.bound.extend(names);
                    parameters.typed.push(Parameter::take(typed, index, keep));
                }
            }
        }
        parameters
    }

    /// Reads the parameters of a function whose signature stays as it is: arguments move where its own block takes them.
    pub(crate) fn read(signature: &Signature) -> Self {
        let mut unused = signature.clone();
        Self {
            bound: Self::take(&mut unused, |_| true).bound,
            ..Self::default()
        }
    }

    /// Statements before the key: they make `name` readable where its pattern waits for the block.
    pub(crate) fn borrowed(&self, name: &Ident) -> Option<TokenStream> {
        let mixed = Span::mixed_site();
        self.typed
            .iter()
            .find_map(|parameter| match &parameter.form {
                Form::Hidden(hidden, pattern) if pattern::names(pattern).contains(name) => {
                    let pattern = pattern::borrowing(pattern, name);
                    Some(quote_spanned! {mixed=>
                        #[allow(clippy::pattern_type_mismatch)]
                        let #pattern = &#hidden;
                    })
                }
                Form::Hidden(..) | Form::Named(_) => None,
            })
    }

    /// Statements at the head of the block: they move every argument in. `used` says which names the attribute uses, so
    /// that nobody calls them unused.
    pub(crate) fn moved(&self, used: impl Fn(&Ident) -> bool) -> TokenStream {
        let mixed = Span::mixed_site();
        let mut statements = TokenStream::new();
        for parameter in &self.typed {
            parameter.moved().to_tokens(&mut statements);
        }
        for name in &self.bound {
            if Some(name) == self.receiver.as_ref() || used(name) {
                let quiet = quiet(name);
                quote_spanned!(mixed=> #quiet let _ = &#name;).to_tokens(&mut statements);
            }
        }
        statements
    }
}

impl Parameter {
    fn take(typed: &mut PatType, index: usize, keep: bool) -> Self {
        let attributes = inner_attributes(&mut typed.attrs);
        let plain = matches!(
            &*typed.pat,
            Pat::Ident(PatIdent {
                by_ref: None,
                subpat: None,
                ..
            })
        );
        if plain || keep {
            let mut bindings = Vec::new();
            pattern::for_each_binding(&mut typed.pat, &mut |binding| {
                let again = PatIdent {
                    attrs: Vec::new(),
                    by_ref: None,
                    subpat: None,
                    ..binding.clone()
                };
                if !bindings
                    .iter()
                    .any(|known: &PatIdent| known.ident == again.ident)
                {
                    bindings.push(again);
                }
                if binding.by_ref.is_none() {
                    // it is the inner binding that the body changes
                    binding.mutability = None;
                }
            });
            return Self {
                attributes,
                form: Form::Named(bindings),
            };
        }
        // The name that documentation shows; its hygiene keeps it apart from the user's.
        let mut hidden = match pattern::names(&typed.pat).into_iter().next() {
            Some(first) => first,
            None => format_ident!("__lockruntime_arg{index}"),
        };
        hidden.set_span(hidden.span().resolved_at(Span::mixed_site()));
        let name = PatIdent {
            attrs: Vec::new(),
            by_ref: None,
            mutability: None,
            ident: hidden.clone(),
            subpat: None,
        };
        let pattern = std::mem::replace(&mut *typed.pat, Pat::Ident(name));
        Self {
            attributes,
            form: Form::Hidden(hidden, pattern),
        }
    }

    fn moved(&self) -> TokenStream {
        let mixed = Span::mixed_site();
        let attributes = &self.attributes;
        match &self.form {
            Form::Named(bindings) => bindings
                .iter()
                .map(|PatIdent { mutability, ident, .. }| {
                    let (again, quiet) = (again(), quiet(ident));
                    quote_spanned!(mixed=> #again #quiet #(#attributes)* let #mutability #ident = #ident;)
                })
                .collect(),
            Form::Hidden(hidden, Pat::Wild(_)) => quote_spanned!(mixed=> #(#attributes)* let #hidden = #hidden;),
            Form::Hidden(hidden, pattern) => {
                let at_pattern = pattern.span().resolved_at(mixed);
                let inside = quote_spanned!(at_pattern=> let #pattern = #hidden;);
                let again = again();
                let mutability = pattern::borrows_mutably(pattern).then(|| quote_spanned!(mixed=> mut));
                quote_spanned!(mixed=> #(#attributes)* let #mutability #hidden = #hidden; #again #(#attributes)* #inside)
            }
        }
    }
}

/// For statements that bind a name a second time: that is ours, not the user's. Single lints, never a group: a group would
/// not go with a crate that forbids any of its lints.
fn again() -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #[allow(clippy::shadow_reuse, clippy::shadow_same, clippy::shadow_unrelated)]
    }
}

/// For statements that read a `_name`.
pub(crate) fn quiet(name: &Ident) -> Option<TokenStream> {
    name.to_string().starts_with('_').then(|| {
        quote_spanned! {Span::mixed_site()=>
            #[allow(clippy::no_effect_underscore_binding, clippy::used_underscore_binding)]
        }
    })
}

/// Moves lint attributes from the signature to the bindings inside; `cfg` counts in both places.
fn inner_attributes(attributes: &mut Vec<Attribute>) -> Vec<Attribute> {
    let is = |attribute: &Attribute, names: &[&str]| {
        names.iter().any(|name| attribute.path().is_ident(name))
    };
    let inner = |attribute: &Attribute| {
        is(
            attribute,
            &[
                "allow", "cfg", "cfg_attr", "deny", "expect", "forbid", "warn",
            ],
        )
    };
    let both = |attribute: &Attribute| {
        is(attribute, &["cfg"])
            || (is(attribute, &["cfg_attr"])
                && mentions(attribute.meta.to_token_stream(), &|word| word == "cfg"))
    };
    let copies = attributes
        .iter()
        .filter(|attribute| inner(attribute))
        .cloned()
        .collect();
    attributes.retain(|attribute| !inner(attribute) || both(attribute));
    copies
}

/// Whether an identifier for which `wanted` holds occurs in the tokens.
pub(crate) fn mentions(tokens: TokenStream, wanted: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => wanted(&word),
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(signature: &str, keep: bool) -> (String, String) {
        let mut signature: Signature = syn::parse_str(signature).unwrap();
        let parameters = Parameters::take(&mut signature, |_| keep);
        let moved = parameters.moved(|_| false).to_string();
        (
            signature.inputs.to_token_stream().to_string(),
            moved.replace(&format!("{} ", again()), ""),
        )
    }

    #[test]
    fn plain_names_are_bound_anew() {
        assert_eq!(
            expanded("fn f(id: u64, mut n: u8)", false),
            (
                "id : u64 , n : u8".to_owned(),
                "let id = id ; let mut n = n ;".to_owned()
            )
        );
    }

    #[test]
    fn patterns_move_as_a_whole() {
        let (inputs, moved) = expanded("fn f(Path(id): Path<u64>, _: Tx)", false);
        assert_eq!(inputs, "id : Path < u64 > , __lockruntime_arg1 : Tx");
        assert_eq!(
            moved,
            "let id = id ; let Path (id) = id ; let __lockruntime_arg1 = __lockruntime_arg1 ;"
        );
    }

    #[test]
    fn what_a_pattern_borrows_mutably_is_mutable() {
        let (_, moved) = expanded("fn f(ref mut a: u8, (ref b, _): (u8, u8))", false);
        assert_eq!(
            moved,
            "let mut a = a ; let ref mut a = a ; let b = b ; let (ref b , _) = b ;"
        );
    }

    #[test]
    fn patterns_stay_for_code_outside_of_the_body() {
        let (inputs, moved) = expanded("fn f((mut a, b): (u8, u8))", true);
        assert_eq!(inputs, "(a , b) : (u8 , u8)");
        assert_eq!(moved, "let mut a = a ; let b = b ;");
    }

    #[test]
    fn attributes_follow_the_binding() {
        let (inputs, moved) = expanded(
            "fn f(#[expect(unused)] a: u8, #[cfg(x)] b: u8, #[path] c: u8)",
            false,
        );
        assert_eq!(inputs, "a : u8 , # [cfg (x)] b : u8 , # [path] c : u8");
        assert_eq!(
            moved,
            "# [expect (unused)] let a = a ; # [cfg (x)] let b = b ; let c = c ;"
        );
    }

    #[test]
    fn receivers_are_forced_in() {
        assert_eq!(
            expanded("fn f(self: Arc<Self>)", false).1,
            "let _ = & self ;"
        );
    }
}
