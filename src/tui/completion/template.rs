//! The open places of resource templates (`@server:scheme://{place}`), whose values the server suggests.

/// The place of a template at which a typed text ends.
#[derive(Debug, PartialEq, Eq)]
pub struct TemplateGap<'a> {
    pub name: &'a str,
    /// The typed text before the place.
    pub before: &'a str,
    /// The typed part of its value.
    pub typed: &'a str,
}

impl<'a> TemplateGap<'a> {
    /// Returns it if the text follows the template up to there. A place with several names is none.
    pub fn of(template: &'a str, text: &'a str) -> Option<Self> {
        let (mut template, mut rest) = (template, text);
        loop {
            let (literal, from) = template.split_once('{')?;
            let (name, after) = from.split_once('}')?;
            let typed = rest.strip_prefix(literal)?;
            let next = after.split('{').next().unwrap_or_default();
            match typed.find(next).filter(|_| !next.is_empty()) {
                Some(end) => (template, rest) = (after, typed.split_at(end).1),
                None => {
                    // An operator of RFC 6570, as in `{+path}`, says how the value is written.
                    let name = name.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
                    let before = text.split_at(text.len() - typed.len()).0;
                    return (!name.contains(',')).then_some(Self { name, before, typed });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_is_typed_is_found() {
        for (template, text, found) in [
            ("s:note://{name}", "s:note://", Some(("name", "s:note://", ""))),
            ("s:note://{name}", "s:note://ke", Some(("name", "s:note://", "ke"))),
            ("s:note://{name}", "s:not", None),
            ("s:note://{name}", "t:note://x", None),
            ("s:note://one", "s:note://one", None),
            ("s:db://{table}/{+id}", "s:db://us", Some(("table", "s:db://", "us"))),
            ("s:db://{table}/{+id}", "s:db://users/é", Some(("id", "s:db://users/", "é"))),
            ("s:db://{table}/end", "s:db://users/", Some(("table", "s:db://", "users/"))),
            ("s:q://x{?a,b}", "s:q://x", None),
            ("s:q://{open", "s:q://x", None),
        ] {
            let place = TemplateGap::of(template, text).map(|one| (one.name, one.before, one.typed));
            assert_eq!(place, found, "{template} {text}");
        }
    }
}
