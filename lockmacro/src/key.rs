//! The key's placeholders, resolved against what the function binds.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, LitStr};

use crate::spelling::{listed, nearest};
use crate::template::{self, Field, Piece, Placeholder};

/// The key of one function.
pub(crate) struct Key {
    pub(crate) literal: LitStr,
    pub(crate) parts: Vec<Part>,
}

/// A part of the key, ready to quote.
pub(crate) enum Part {
    Text(String),
    Value(Value),
}

/// A placeholder, and what it reads.
pub(crate) struct Value {
    pub(crate) name: String,
    /// The function's own identifier, with its hygiene.
    pub(crate) root: Ident,
    fields: Vec<Field>,
    at: Span,
}

impl Key {
    /// `bound` are the names that a placeholder may start with, `self` included.
    pub(crate) fn new(literal: LitStr, bound: &[Ident], errors: &mut Vec<Error>) -> Option<Self> {
        let at = literal.span();
        let pieces = match template::parse(&literal.value()) {
            Ok(pieces) => pieces,
            Err(mistakes) => {
                errors.extend(mistakes.into_iter().map(|mistake| Error::new(at, mistake)));
                return None;
            }
        };
        let before = errors.len();
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => parts.push(Part::Text(text)),
                Piece::Value(placeholder) => {
                    match bound.iter().find(|name| is_named(name, &placeholder.root)) {
                        Some(root) => parts.push(Part::Value(Value {
                            name: placeholder.name,
                            root: root.clone(),
                            fields: placeholder.fields,
                            at,
                        })),
                        None => errors.push(Error::new(at, unknown(&placeholder, bound))),
                    }
                }
            }
        }
        (errors.len() == before).then_some(Self { literal, parts })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(value) => Some(value),
            Part::Text(_) => None,
        })
    }
}

impl Value {
    /// `&req.id`, shown to the user at the key.
    pub(crate) fn borrowed(&self) -> TokenStream {
        // The name is the function's own in all but location: with the literal's own hygiene it would not be found when
        // a macro_rules macro wrote one of the two.
        let mut root = self.root.clone();
        root.set_span(root.span().located_at(self.at));
        let mut tokens = quote_spanned!(self.at=> & #root);
        for field in &self.fields {
            quote_spanned!(self.at=> .).to_tokens(&mut tokens);
            match field {
                Field::Name(name) => field_name(name, self.at).to_tokens(&mut tokens),
                Field::Index(index) => {
                    let mut index = Literal::u32_unsuffixed(*index);
                    index.set_span(self.at);
                    index.to_tokens(&mut tokens);
                }
            }
        }
        tokens
    }
}

fn field_name(name: &str, at: Span) -> Ident {
    // a field with a keyword's name can only be a raw one
    syn::parse_str::<Ident>(name)
        .map_or_else(|_| Ident::new_raw(name, at), |_| Ident::new(name, at))
}

pub(crate) fn is_named(ident: &Ident, name: &str) -> bool {
    ident.unraw() == name
}

fn unknown(placeholder: &Placeholder, bound: &[Ident]) -> String {
    let (name, root) = (&placeholder.name, &placeholder.root);
    let mut names: Vec<String> = bound.iter().map(|name| name.unraw().to_string()).collect();
    let all = names.len();
    // `#[async_trait]` gives such names to parameters that are patterns
    names.retain(|name| !name.starts_with("__arg"));
    let found = if root == "self" {
        format!("`<{name}>` in the key needs a method: this function has no `self`")
    } else {
        format!("`<{name}>` in the key names no argument of this function")
    };
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(near) = nearest(root, &words) {
        let fields = name
            .find('.')
            .and_then(|dot| name.get(dot..))
            .unwrap_or_default();
        format!("{found}; did you mean `<{near}{fields}>`?")
    } else if names.len() < all {
        format!(
            "{found}; below `#[async_trait]` it can't name what a pattern binds, so give that parameter a name"
        )
    } else if names.is_empty() {
        format!("{found}, which has no arguments to fill it")
    } else {
        format!("{found}; it has {}", listed(&words, "and"))
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn key(template: &str, bound: &[&str]) -> Result<Key, Vec<String>> {
        let bound: Vec<Ident> = bound
            .iter()
            .map(|name| syn::parse_str::<Self_>(name).unwrap().0)
            .collect();
        let mut errors = Vec::new();
        Key::new(
            LitStr::new(template, Span::call_site()),
            &bound,
            &mut errors,
        )
        .ok_or_else(|| errors.iter().map(ToString::to_string).collect())
    }

    /// An identifier or `self`.
    struct Self_(Ident);

    impl syn::parse::Parse for Self_ {
        fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
            Ident::parse_any(input).map(Self_)
        }
    }

    fn borrowed(template: &str, bound: &[&str]) -> String {
        key(template, bound)
            .map_err(|errors| errors.join("\n"))
            .unwrap()
            .values()
            .next()
            .unwrap()
            .borrowed()
            .to_string()
    }

    #[test]
    fn values_are_borrowed_from_the_function() {
        assert_eq!(borrowed("<id>", &["id"]), "& id");
        assert_eq!(
            borrowed("<req.pair.0.type>", &["req"]),
            "& req . pair . 0 . r#type"
        );
        assert_eq!(borrowed("<self.tenant>", &["self"]), "& self . tenant");
        assert_eq!(borrowed("<type>", &["r#type"]), "& r#type");
        assert_eq!(borrowed("<r#id>", &["id"]), "& id");
    }

    #[test]
    fn unknown_names_are_told_with_what_there_is() {
        let told = |template, bound: &[&str]| key(template, bound).err().unwrap().join("\n");
        assert_eq!(
            told("<boletto.id>", &["boleto", "self"]),
            "`<boletto.id>` in the key names no argument of this function; did you mean `<boleto.id>`?"
        );
        assert_eq!(
            told("<customer>", &["id", "self"]),
            "`<customer>` in the key names no argument of this function; it has `id` and `self`"
        );
        assert_eq!(
            told("<id>", &[]),
            "`<id>` in the key names no argument of this function, which has no arguments to fill it"
        );
        assert_eq!(
            told("<self.tenant>", &["id"]),
            "`<self.tenant>` in the key needs a method: this function has no `self`; it has `id`"
        );
        assert!(told("<id>", &["self", "__arg1"]).ends_with("so give that parameter a name"));
        assert_eq!(key("<a>:<b>", &[]).err().unwrap().len(), 2);
    }
}
