//! `"boleto:<id>"` to text and placeholders. Text only: whether a placeholder names something is for `key.rs`.

use syn::ext::IdentExt;
use syn::parse::Parser;

/// A part of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Value(Placeholder),
}

/// `<req.id>` or `{req.id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// Between the brackets, as written: `req.id`.
    pub(crate) name: String,
    /// The parameter, or a name that its pattern binds; without `r#`.
    pub(crate) root: String,
    /// Fields below it, outermost first.
    pub(crate) fields: Vec<Field>,
}

/// A step below a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// A field's name, without `r#`.
    Name(String),
    Index(u32),
}

/// The pieces, or every mistake in a sentence.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, Vec<String>> {
    if text.is_empty() {
        return Err(vec![
            "the key is empty; name what must not run twice at once, as in \"boleto:<id>\""
                .to_owned(),
        ]);
    }
    let mut reading = Reading::default();
    reading.read(text);
    reading.separated();
    if reading.mistakes.is_empty() {
        Ok(reading.pieces)
    } else {
        Err(reading.mistakes)
    }
}

#[derive(Default)]
struct Reading {
    pieces: Vec<Piece>,
    mistakes: Vec<String>,
}

impl Reading {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = match c {
                '<' => self.bracket(rest, '<', '>'),
                '{' => self.bracket(rest, '{', '}'),
                '>' | '}' => self.closing(rest, c),
                _ => {
                    let plain = rest.find(['<', '>', '{', '}']).unwrap_or(rest.len());
                    let (plain, behind) = rest.split_at(plain);
                    self.text(plain);
                    behind
                }
            };
        }
    }

    /// At an opening bracket: an escape, or a placeholder. Gives what is left to read.
    fn bracket<'a>(&mut self, rest: &'a str, open: char, close: char) -> &'a str {
        let inside = rest.get(1..).unwrap_or_default();
        if let Some(behind) = inside.strip_prefix(open) {
            self.text(&open.to_string());
            return behind;
        }
        let opening = inside.find(['<', '{']).unwrap_or(inside.len());
        match inside.split_once(close) {
            Some((name, behind)) if name.len() <= opening => {
                self.placeholder(name, open, close);
                behind
            }
            _ => self.unclosed(inside, opening, open, close),
        }
    }

    /// A placeholder doesn't end, or not before another begins. The mistake is told once; reading goes on behind it.
    fn unclosed<'a>(
        &mut self,
        inside: &'a str,
        opening: usize,
        open: char,
        close: char,
    ) -> &'a str {
        let (before, inner) = inside.split_at(opening);
        let wrong = if close == '>' { '}' } else { '>' };
        if let Some((name, _)) = before.split_once(wrong) {
            self.mistakes.push(format!(
                "`{open}{name}{wrong}` in the key closes with the wrong bracket; write `{open}{name}{close}`"
            ));
            return inside.split_once(wrong).map_or("", |(_, behind)| behind);
        }
        let plain = format!("`{open}{open}` for a plain `{open}`");
        if inner.is_empty() {
            let name = before
                .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'))
                .next()
                .unwrap_or_default();
            self.mistakes.push(format!(
                "`{open}{before}` in the key is not closed; write `{open}{name}{close}`, or {plain}"
            ));
            return "";
        }
        self.mistakes.push(format!(
            "`{open}{before}` in the key opens a placeholder that holds another; write {plain}"
        ));
        // behind the inner placeholder and the end of the outer one
        inner.rsplit_once(close).map_or("", |(_, behind)| behind)
    }

    /// At a closing bracket outside of a placeholder.
    fn closing<'a>(&mut self, rest: &'a str, close: char) -> &'a str {
        let behind = rest.get(1..).unwrap_or_default();
        if let Some(behind) = behind.strip_prefix(close) {
            self.text(&close.to_string());
            return behind;
        }
        self.mistakes.push(format!(
            "`{close}` in the key closes nothing; write `{close}{close}` for a plain `{close}`"
        ));
        behind
    }

    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn placeholder(&mut self, name: &str, open: char, close: char) {
        match placeholder(name) {
            Ok(placeholder) => self.pieces.push(Piece::Value(placeholder)),
            Err(why) => self
                .mistakes
                .push(format!("`{open}{name}{close}` in the key {why}")),
        }
    }

    /// Values never hold a plain `:`, so one between two of them keeps different values in different keys.
    fn separated(&mut self) {
        let mut before: Option<(&str, bool)> = None;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    if let Some((_, separated)) = &mut before {
                        *separated |= text.contains(':');
                    }
                }
                Piece::Value(value) => {
                    if let Some((first, false)) = before {
                        self.mistakes.push(format!(
                            "`<{first}>` and `<{second}>` need a `:` between them, else different values could give the same key; \
                             write `<{first}>:<{second}>`",
                            second = value.name
                        ));
                    }
                    before = Some((&value.name, false));
                }
            }
        }
    }
}

/// What stands between the brackets, or what is wrong with it.
fn placeholder(name: &str) -> Result<Placeholder, String> {
    if name.trim().is_empty() {
        return Err("is empty; write the name of an argument between the brackets".to_owned());
    }
    if name.trim() != name {
        return Err(format!("has spaces inside; write `{}`", name.trim()));
    }
    let mut steps = name.split('.');
    let root = steps.next().unwrap_or_default();
    let (Some(root), Some(fields)) = (identifier(root), steps.map(field).collect()) else {
        return Err(unreadable(name).to_owned());
    };
    Ok(Placeholder {
        name: name.to_owned(),
        root,
        fields,
    })
}

fn field(step: &str) -> Option<Field> {
    if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = step == "0" || !step.starts_with('0');
        return plain.then(|| step.parse().ok().map(Field::Index)).flatten();
    }
    identifier(step).map(Field::Name)
}

/// An identifier, keywords included, without its `r#`.
fn identifier(word: &str) -> Option<String> {
    let parsed = syn::Ident::parse_any.parse_str(word).ok()?;
    // the parser would skip blanks and comments
    (parsed == word && word != "_").then(|| parsed.unraw().to_string())
}

fn unreadable(name: &str) -> &'static str {
    if name.contains('(') {
        "calls something, which a key doesn't; make the value an argument, or take the lock with `LockManager::lock`"
    } else if name.contains('[') {
        "uses an index; only fields are possible, as in `<req.id>` or `<pair.0>`"
    } else if name.contains("::") {
        "is a path; a placeholder starts with an argument or `self`"
    } else if name.contains([':', '?', '#']) && !name.starts_with("r#") {
        "has format options; values are written by their `Display`, as in `<id>`"
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        "is a number; a placeholder names an argument, as in `<id>`"
    } else if name.starts_with(['&', '*']) {
        "has an operator; write only the name, references are followed by themselves"
    } else {
        "is not a name; write an argument and then fields, as in `<id>` or `<req.id>`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn value(name: &str) -> Piece {
        Piece::Value(placeholder(name).unwrap())
    }

    fn mistake(template: &str) -> String {
        let mut mistakes = parse(template).unwrap_err();
        assert_eq!(mistakes.len(), 1, "{template:?}: {mistakes:?}");
        mistakes.remove(0)
    }

    #[test]
    fn placeholders_of_both_kinds() {
        assert_eq!(parse("boleto:<id>"), Ok(vec![text("boleto:"), value("id")]));
        assert_eq!(parse("boleto:{id}"), Ok(vec![text("boleto:"), value("id")]));
        assert_eq!(
            parse("<a>:{b}/x"),
            Ok(vec![value("a"), text(":"), value("b"), text("/x")])
        );
        assert_eq!(parse("nightly report"), Ok(vec![text("nightly report")]));
    }

    #[test]
    fn fields_and_indices() {
        assert_eq!(
            placeholder("req.owner.0.r#type"),
            Ok(Placeholder {
                name: "req.owner.0.r#type".to_owned(),
                root: "req".to_owned(),
                fields: vec![
                    Field::Name("owner".to_owned()),
                    Field::Index(0),
                    Field::Name("type".to_owned())
                ],
            })
        );
        assert_eq!(placeholder("self.tenant").unwrap().root, "self");
        assert_eq!(placeholder("r#type").unwrap().root, "type");
        assert_eq!(placeholder("número").unwrap().root, "número");
    }

    #[test]
    fn escapes() {
        assert_eq!(parse("<<id>> {{x}}"), Ok(vec![text("<id> {x}")]));
        assert_eq!(
            parse("<<<id>>>"),
            Ok(vec![text("<"), value("id"), text(">")])
        );
        assert_eq!(
            parse("{{{id}}}"),
            Ok(vec![text("{"), value("id"), text("}")])
        );
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (template, part) in [
            ("", "the key is empty"),
            ("boleto:<id", "`<id` in the key is not closed; write `<id>`"),
            ("boleto:{", "is not closed"),
            ("boleto:<", "is not closed"),
            ("boleto:<id}", "closes with the wrong bracket; write `<id>`"),
            ("boleto:id>", "`>` in the key closes nothing; write `>>`"),
            ("boleto:<a<b>>", "opens a placeholder that holds another"),
            ("boleto:{a{b}c}x", "opens a placeholder that holds another"),
            ("boleto:<>", "`<>` in the key is empty"),
            ("boleto:{}", "`{}` in the key is empty"),
            ("boleto:< id >", "has spaces inside; write `id`"),
            ("boleto:<id.to_string()>", "calls something"),
            ("boleto:<ids[0]>", "uses an index"),
            ("boleto:<a::B>", "is a path"),
            ("boleto:{id:?}", "has format options"),
            ("boleto:{id:>4}", "has format options"),
            ("boleto:<a}:<b>", "closes with the wrong bracket"),
            ("boleto:{0}", "is a number"),
            ("boleto:<&id>", "has an operator"),
            ("boleto:<id.>", "is not a name"),
            ("boleto:<.id>", "is not a name"),
            ("boleto:<a.00>", "is not a name"),
            ("boleto:<_>", "is not a name"),
            ("boleto:<a b>", "is not a name"),
            ("boleto:<a /*b*/>", "is not a name"),
        ] {
            let mistake = parse(template).unwrap_err().remove(0);
            assert!(mistake.contains(part), "{template:?}: {mistake}");
        }
    }

    #[test]
    fn one_mistake_gives_one_message() {
        for template in [
            "a<id",
            "a<a<b>>",
            "a{a{b}c}x",
            "a<id}:<x>",
            "a<>:<x>",
            "<a><b>",
        ] {
            mistake(template);
        }
        assert_eq!(parse("<>:{x y}").unwrap_err().len(), 2);
    }

    #[test]
    fn values_side_by_side_need_a_separator() {
        assert!(mistake("<a><b>").contains("write `<a>:<b>`"));
        assert!(mistake("<a>-<b>").contains("`<a>` and `<b>` need a `:`"));
        assert!(mistake("<a>:<b>{c}").contains("`<b>` and `<c>` need a `:`"));
        assert!(parse("x-<a>/y:<b>-z").is_ok());
    }
}
