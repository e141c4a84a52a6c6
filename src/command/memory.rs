//! `/memory` and `/forget`: what is kept beyond a session.

use super::{CommandEffect, CommandView, Commands, code};
use crate::memory::{MemoryId, MemoryRequest, MemoryScope};

/// The arguments of the command.
pub(super) const USAGE: &str = "list, search WORDS, add TEXT, edit ID, why ID, forget ID, review";

pub(super) fn memory(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    let (verb, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let rest = rest.trim();
    let request = match (verb, rest) {
        ("" | "list", "") => MemoryRequest::List,
        ("search", words) if !words.is_empty() => MemoryRequest::Search(words.to_owned()),
        ("add", text) if !text.is_empty() => {
            MemoryRequest::Add { text: text.to_owned(), tags: Vec::new(), scope: MemoryScope::User }
        }
        ("edit", rest) if !rest.is_empty() => return edit(rest),
        ("why" | "show", id) if !id.is_empty() => return with_id(id, MemoryRequest::Show),
        ("forget", id) if !id.is_empty() => return with_id(id, MemoryRequest::Forget),
        ("review", "") => MemoryRequest::Review,
        ("review", "yes") => MemoryRequest::Decay,
        _ => {
            let text = format!("{} is not one of: {USAGE}. Nothing was changed.", code(args));
            return CommandEffect::warning("memory", text);
        }
    };
    CommandEffect::Memory(request)
}

/// With a text it is changed; without one, its text is for the composer.
fn edit(rest: &str) -> CommandEffect {
    let (id, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (id.parse::<MemoryId>(), text.trim()) {
        (Err(error), _) => CommandEffect::warning("memory", format!("{error}.")),
        (Ok(id), "") => CommandEffect::EditMemory(id),
        (Ok(id), text) => CommandEffect::Memory(MemoryRequest::Edit { id, text: text.to_owned() }),
    }
}

pub(super) fn forget_one(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    if args.is_empty() {
        let text = "`/forget ID` forgets a memory; `/memory` lists them with their ids.";
        return CommandEffect::warning("forget", text);
    }
    with_id(args, MemoryRequest::Forget)
}

fn with_id(id: &str, request: fn(MemoryId) -> MemoryRequest) -> CommandEffect {
    match id.parse() {
        Ok(id) => CommandEffect::Memory(request(id)),
        Err(error) => CommandEffect::warning("memory", format!("{error}. Nothing was changed.")),
    }
}
