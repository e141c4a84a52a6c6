//! Mentions of tool servers in a prompt: their resources as `@server:uri`, and their prompts as `/server:prompt`. The texts
//! are the servers', and count as untrusted.

use std::collections::BTreeMap;

use crate::config::ServerSettings;
use crate::frontend::images::Prompt;
use crate::message::images::Mention;
use crate::message::{NoteKind, ReturnPart, UserPart};
use crate::tool::mcp::{ServerPrompt, ServerText, Servers};

/// A resource that a prompt names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedResource {
    server: String,
    uri: String,
}

/// Takes the resources of the servers in use out of what a prompt names; its text stays.
pub fn take_resources(prompt: &mut Prompt, servers: &BTreeMap<String, ServerSettings>) -> Vec<NamedResource> {
    let resource = |mention: &Mention| {
        let (server, uri) = mention.path.split_once(':')?;
        let is_one = servers.get(server).is_some_and(ServerSettings::is_used) && !uri.is_empty();
        is_one.then(|| NamedResource { server: server.to_owned(), uri: uri.to_owned() })
    };
    let mut found: Vec<NamedResource> = Vec::new();
    for one in prompt.named.iter().filter_map(resource) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    prompt.named.retain(|mention| resource(mention).is_none());
    found
}

/// Reads resources, as parts of a prompt; a text of more than `limit` bytes is cut. Errs with the reason.
pub async fn read_resources(
    wanted: Vec<NamedResource>,
    servers: &Servers,
    limit: usize,
) -> Result<Vec<UserPart>, String> {
    let mut parts = Vec::new();
    for NamedResource { server, uri } in wanted {
        let read = servers.read(&server, &uri).await;
        let read = read.map_err(|why| format!("the resource {uri} of {server} cannot be read: {why}"))?;
        parts.extend(self::parts(NoteKind::Resource { server }, read, limit));
    }
    Ok(parts)
}

/// Fills in a prompt of a server, as parts of a prompt. Errs with the reason.
pub async fn fill_in(
    prompt: ServerPrompt,
    arguments: Vec<(String, String)>,
    servers: &Servers,
    limit: usize,
) -> Result<Vec<UserPart>, String> {
    let ServerPrompt { server, name, .. } = prompt;
    let filled = servers.prompt(&server, &name, arguments).await;
    let filled = filled.map_err(|why| format!("the prompt {name} of {server} cannot be used: {why}"))?;
    Ok(parts(NoteKind::ServerPrompt { server }, filled, limit))
}

fn parts(kind: NoteKind, read: ServerText, limit: usize) -> Vec<UserPart> {
    let ServerText { mut text, images } = read;
    if text.len() > limit {
        let all = text.len();
        text.truncate(text.floor_char_boundary(limit));
        text.push_str(&format!("\n[cut: {limit} of {all} bytes]"));
    }
    let image = |part: ReturnPart| match part {
        ReturnPart::Image { media_type, data } => Some(UserPart::Image { media_type, data }),
        ReturnPart::Text { .. } => None,
    };
    let images = images.into_iter().filter_map(image);
    std::iter::once(UserPart::Note { kind, text }).chain(images).collect()
}

/// Reads the arguments of a prompt: `name=text` each, with quotes around spaces; a prompt with one argument also takes all of
/// the text as that. Errs with what is wrong.
pub fn arguments(prompt: &ServerPrompt, text: &str) -> Result<Vec<(String, String)>, String> {
    let usage = || format!("`/{}:{} {}`", prompt.server, prompt.name, prompt.usage());
    let known = |name: &str| prompt.arguments.iter().any(|one| one.name == name);
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    let pair = |word: &String| {
        let (name, value) = word.split_once('=')?;
        known(name).then(|| (name.to_owned(), value.to_owned()))
    };
    let pairs: Option<Vec<(String, String)>> = words.iter().map(pair).collect();
    let found = match (pairs, prompt.arguments.as_slice()) {
        (Some(pairs), _) => pairs,
        (None, [only]) => vec![(only.name.clone(), text.trim().to_owned())],
        (None, _) => return Err(format!("write it as {}", usage())),
    };
    let missing = prompt.arguments.iter().filter(|one| one.is_required);
    let mut missing = missing.filter(|one| found.iter().all(|(name, _)| *name != one.name));
    match missing.next() {
        Some(one) => Err(format!("{} is needed: {}", one.name, usage())),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::mcp::PromptArgument;

    #[test]
    fn arguments_are_named_quoted_or_the_whole_text() {
        let argument = |name: &str, is_required| PromptArgument { name: name.to_owned(), is_required };
        let prompt = |arguments| ServerPrompt {
            server: "s".to_owned(),
            name: "greet".to_owned(),
            about: String::new(),
            arguments,
        };
        let two = prompt(vec![argument("name", true), argument("style", false)]);
        let one = prompt(vec![argument("topic", true)]);
        for (prompt, text, expected) in [
            (&two, "name=Ada", Ok("name=Ada")),
            (&two, "name='Ada L.' style=\"very kind\"", Ok("name=Ada L.|style=very kind")),
            (&two, "style=kind", Err("name is needed: `/s:greet name=… [style=…]`")),
            (&two, "Ada", Err("write it as `/s:greet name=… [style=…]`")),
            (&two, "name='Ada", Err("a quote is not closed")),
            (&one, "the sea at night", Ok("topic=the sea at night")),
            (&one, "topic=sea", Ok("topic=sea")),
            (&one, "", Err("topic is needed: `/s:greet topic=…`")),
        ] {
            let found = arguments(prompt, text);
            let found = found.map(|all| {
                all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("|")
            });
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
