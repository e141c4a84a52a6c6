//! The texts of the tour. Plain Markdown, honest, and short.

/// Said once, before the first answer of a conversation.
pub const WHO_I_AM: &str = "\
**I am not a language model.** I am the tour that is built into `co`: a fixed set of rules that understands a few plain \
requests. What I do with them is real, though: real files, real commands, and your approval before anything changes.

";

/// How to talk to a real model.
pub const HOW_TO_CONNECT: &str = "\
To connect a real model, type `/login` on the screen: it asks for a service and its key. Or do one of these and start \
`co` again:

- run `co auth add NAME` to keep a key; `co auth list` names the services,
- or set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or that of another service in your environment,
- or start a model server on this machine (Ollama, LM Studio, llama.cpp): `co` finds it by itself,
- or set it in your settings: `co config` shows each setting and its source.

`/model` lists what is ready and switches at once.
";

/// In place of a summary of older messages.
pub const SUMMARY: &str = "\
The tour writes no summaries. What the user asked and what was changed is listed above; the rest was left out.";

/// The title of every session.
pub const TITLE: &str = "A tour of co";

/// The commands that it understands.
pub const WHAT_I_CAN_DO: &str = include_str!("what_i_can_do.md");

/// The answer to a greeting.
pub const HELLO: &str = "Hello! Try `show me around`, or ask `what can you do`.\n";

/// The answer to what no rule fits.
pub const NOT_UNDERSTOOD: &str = "\
I did not understand that; I only know a few plain requests, and I will not make things up.

";

/// Said before a call that needs approval.
pub const PROPOSED_RUN: &str =
    "This is the command. It waits for your decision, unless the sandbox or a rule lets it run.\n";
pub const PROPOSED_WRITE: &str = "This is the change; it is waiting for your decision.\n";
pub const PROPOSED_EDIT: &str = "\nNow the change; it is waiting for your decision.\n";

/// The content of a note for which no text was given.
pub const EMPTY_NOTE: &str = "# A note\n\nWritten by the tour of `co`, because you asked for a note.\n";

/// A page of Markdown, to see how it is drawn.
pub const MARKDOWN: &str = "\
# A heading

Text with *emphasis*, **weight**, `code` and ~~a mistake~~. A list:

1. first
2. second
   - with a point below
   - and another

| column | number |
|:--|--:|
| one | 1 |
| two | 22 |

```rust
fn main() {
    println!(\"a block of code\");
}
```

> A quotation, and that is all.
";

/// Said in the tour before its first calls.
pub const TOUR_LOOK: &str = "\
Let us look around. I call two tools at once; both only read, so they need no approval.
";

/// Said in the tour before it writes.
pub const TOUR_WRITE: &str = "\n\
Now something that changes a file. I propose to write `co-tour.md`; nothing happens until you decide. Look at the preview, \
then press `y`, or `n`, or `e` to change the text first.
";

/// The file that the tour writes.
pub const TOUR_NOTE: &str = "\
# A note from the tour of co

You approved this file. Delete it whenever you like.
";

/// The end of the tour.
pub const TOUR_END: &str = "\n\
That was the tour: reads ran at once, the change waited for you. Ask `what can you do` for more, or connect a model:

";
