//! Walks over argument patterns.

use proc_macro2::Ident;
use syn::{Pat, PatIdent, PatRest, PatWild, Token};

/// Calls `found` for every binding, outermost first. (A unit struct's name can't be told from a binding; it does no harm.)
pub(crate) fn for_each_binding(pattern: &mut Pat, found: &mut dyn FnMut(&mut PatIdent)) {
    if let Pat::Ident(binding) = pattern {
        found(binding);
    }
    for_each_part(pattern, &mut |part| for_each_binding(part, found));
}

/// The names that a pattern binds.
pub(crate) fn names(pattern: &Pat) -> Vec<Ident> {
    let mut names: Vec<Ident> = Vec::new();
    for_each_binding(&mut pattern.clone(), &mut |binding| {
        // the sides of an or-pattern bind the same names
        if !names.contains(&binding.ident) {
            names.push(binding.ident.clone());
        }
    });
    names
}

/// Whether it has a `ref mut`: what it is matched against must be mutable then.
pub(crate) fn borrows_mutably(pattern: &Pat) -> bool {
    let mut found = false;
    for_each_binding(&mut pattern.clone(), &mut |binding| {
        found |= binding.by_ref.is_some() && binding.mutability.is_some();
    });
    found
}

/// The same pattern, to be matched against a reference, binding nothing but `name`: it borrows what the pattern would take.
pub(crate) fn borrowing(pattern: &Pat, name: &Ident) -> Pat {
    let mut pattern = pattern.clone();
    reduce(&mut pattern, name);
    pattern
}

fn reduce(pattern: &mut Pat, name: &Ident) {
    let replacement = match pattern {
        Pat::Ident(binding) if binding.ident == *name => {
            binding.by_ref = None;
            binding.mutability = None;
            // `rest @ ..` needs its dots
            binding
                .subpat
                .take_if(|(_, sub)| !matches!(**sub, Pat::Rest(_)));
            None
        }
        Pat::Ident(PatIdent {
            subpat: Some((_, sub)),
            ..
        }) => Some((**sub).clone()),
        Pat::Ident(binding) => Some(wild(binding)),
        // a reference is matched through, as everything below it
        Pat::Reference(reference) => Some((*reference.pat).clone()),
        _ => None,
    };
    match replacement {
        Some(mut inner) => {
            if !matches!(inner, Pat::Wild(_)) {
                reduce(&mut inner, name);
            }
            *pattern = inner;
        }
        None if matches!(pattern, Pat::Ident(_)) => {}
        None => {
            keep_field(pattern, name);
            for_each_part(pattern, &mut |part| reduce(part, name));
        }
    }
}

/// Of a struct's fields, only the one that binds `name` stays: `Order { id, items }` becomes `Order { id, .. }`.
fn keep_field(pattern: &mut Pat, name: &Ident) {
    if let Pat::Struct(pattern) = pattern {
        let fields = std::mem::take(&mut pattern.fields);
        pattern.fields = fields
            .into_iter()
            .filter(|field| names(&field.pat).contains(name))
            .collect();
        if !pattern.fields.empty_or_trailing() {
            pattern.fields.push_punct(Token![,](name.span()));
        }
        pattern.rest.get_or_insert_with(|| PatRest {
            attrs: Vec::new(),
            dot2_token: Token![..](name.span()),
        });
    }
}

fn wild(binding: &PatIdent) -> Pat {
    Pat::Wild(PatWild {
        attrs: Vec::new(),
        underscore_token: Token![_](binding.ident.span()),
    })
}

fn for_each_part(pattern: &mut Pat, visit: &mut dyn FnMut(&mut Pat)) {
    match pattern {
        Pat::Ident(PatIdent {
            subpat: Some((_, sub)),
            ..
        }) => visit(sub),
        Pat::Or(or) => or.cases.iter_mut().for_each(visit),
        Pat::Paren(paren) => visit(&mut paren.pat),
        Pat::Reference(reference) => visit(&mut reference.pat),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(visit),
        Pat::Struct(fields) => fields
            .fields
            .iter_mut()
            .for_each(|field| visit(&mut field.pat)),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(visit),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(visit),
        Pat::Type(typed) => visit(&mut typed.pat),
        // the others bind nothing, or nothing that can be seen (macros)
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::parse::Parser;

    use super::*;

    fn pattern(text: &str) -> Pat {
        Pat::parse_single.parse_str(text).unwrap()
    }

    #[test]
    fn names_of_every_kind_of_pattern() {
        for (text, expected) in [
            ("id", "id"),
            ("_", ""),
            ("Path(id)", "id"),
            ("(a, mut b, _, ..)", "a b"),
            ("Order { id, ref items, at: (x, y), .. }", "id items x y"),
            ("[first, rest @ ..]", "first rest"),
            ("whole @ Pair(a, _)", "whole a"),
            ("&(a, &b)", "a b"),
            ("(Ok(x) | Err(x))", "x"),
            ("r#type", "r#type"),
        ] {
            let names: Vec<String> = names(&pattern(text))
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn borrowing_patterns_bind_one_name() {
        for (text, name, expected) in [
            ("Path(id)", "id", "Path (id)"),
            ("(a, mut b, _, ..)", "b", "(_ , b , _ , ..)"),
            (
                "Order { id, ref items, at: (x, y) }",
                "items",
                "Order { items , .. }",
            ),
            (
                "Order { id, at: (x, y), .. }",
                "y",
                "Order { at : (_ , y) , .. }",
            ),
            ("[first, rest @ ..]", "first", "[first , ..]"),
            ("[first, rest @ ..]", "rest", "[_ , rest @ ..]"),
            ("whole @ Pair(a, _)", "whole", "whole"),
            ("whole @ Pair(a, _)", "a", "Pair (a , _)"),
            ("&(a, &b)", "b", "(_ , b)"),
            ("(Ok(x) | Err(x))", "x", "(Ok (x) | Err (x))"),
        ] {
            let name = syn::parse_str(name).unwrap();
            assert_eq!(
                borrowing(&pattern(text), &name)
                    .to_token_stream()
                    .to_string(),
                expected,
                "{text}"
            );
        }
    }
}
