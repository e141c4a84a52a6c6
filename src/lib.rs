//! `co`: a full-screen terminal assistant with deferred approvals.
//!
//! A user talks to a language model, and the model proposes tool calls. Read-only calls run at once; calls that
//! change something wait for the user's approval: now, in another terminal, or tomorrow after a restart.
//! Nothing is lost and nothing runs twice on the way.
//!
//! # Code map
//!
//! A pure core in an imperative shell, in layers. A module imports lower layers and, in its own layer,
//! only modules listed to its left; `tests/it/tidy.rs` reads every `use crate::` and enforces it.
//!
//! | layer | modules | crate |
//! |---|---|---|
//! | L0 | [`stdx`] | `co-base` |
//! | L1 | [`bash`], [`message`], [`config`] | `co-base` |
//! | L2 | [`sandbox`], [`tool`], [`hook`], [`approval`], [`provider`], [`history`]: the seams | `co-engine` |
//! | L3 | [`store`], [`session`], [`telemetry`], [`undo`], [`memory`] | `co-engine` |
//! | L4 | [`agent`] | `co-engine` |
//! | L5 | `provider/*`, `sandbox/*`, `hook/*`, `tool/builtin/*`, `tool/mcp/*`: implementations of the seams | `co-engine` |
//! | L6 | [`command`], [`frontend`], [`tui`] | `co` |
//! | L7 | [`accounts`], [`workspace`] | `co` |
//! | L8 | [`app`], [`runtime`], [`eval`], [`cli`] | `co` |
//!
//! The crates are for the time of a build: `src/base` needs few dependencies and is built while the others are, `src/engine`
//! in parallel with those that only front ends need. Each crate exports the modules of the crates below it again, so that paths
//! begin with `crate::` in all of them.
//!
//! - [`stdx`]: what the standard library lacks: widths and cutting of text, framing of event streams and JSON, paths
//!   confined to a folder, atomic and owner-only files, the clock, names of files that hold secrets.
//! - [`bash`]: a shell command line read by a grammar and by a strict lexer that must agree; which programs it runs, and
//!   whether all of them are read-only (`programs.txt`).
//! - [`message`]: messages, parts, calls, returns, usage, stop reasons. Stored for good.
//! - [`config`]: one table of settings; reading, layering, checking, describing and the typed result derive from it.
//! - [`sandbox`]: the seam; what a command may do and what a backend holds, as data; the child process, plain, in
//!   bubblewrap, in a container, or confined by Landlock and a filter of system calls in a stage of this same binary. The only room with
//!   `unsafe`, but for two calls of `stdx` about the memory of the process.
//! - [`tool`]: the seam, what follows from a tool's schema and from a preview; `builtin/` has one file a tool, `mcp/` the
//!   tools of servers that speak the Model Context Protocol.
//! - [`hook`]: the seam, and the user's own programs, which are asked or notified at eight events.
//! - [`approval`]: the policy, rules, grants, taint of arguments, requests and approvals. No I/O.
//! - [`provider`]: the seam, the table of failures, five pure codecs, the HTTP shell that makes any of them a provider,
//!   the catalogue of services and models, and the offline tour.
//! - [`history`]: the records of a session and their fold, the one way in which a conversation changes; the records of a
//!   copy.
//! - [`store`]: one SQLite database on threads of its own: records, requests and decisions, audit, usage, wake-ups between
//!   processes, copies and repair.
//! - [`session`]: one owner of one history, by a lock that death frees.
//! - [`telemetry`]: spans of turns: a SQLite file of their own and an OTLP collector, written by threads that nothing waits for;
//!   reading and counting them.
//! - [`undo`]: what calls and commands changed in files: states and contents in a SQLite file of their own, and the way back.
//! - [`memory`]: facts that are kept beyond a session: Markdown files that may be edited by hand, a full-text index that
//!   follows from them, what says the same, what applies to a prompt, and what goes when there are too many.
//! - [`agent`]: one user turn: `turn/` is the machine, `calls/` its calls and their schedule, `context/` what the model
//!   sees and what a summary keeps, `prompt/` the texts before the conversation, their order and what single models need,
//!   `driver/` the one place that awaits.
//! - [`command`]: slash commands: a table of them, a file for each that takes more than a line, what they may know, and what they
//!   want done; and those of Markdown files.
//! - [`frontend`]: print, JSON, exports and imports, the plain front end, the rules of an approval dialogue for all front
//!   ends, and the link between an interactive front end and its session.
//! - [`tui`]: the full screen: model, update, view, the panels over the transcript (`panel/`, a file each), the parts of a card
//!   with keys of their own (`batch/`, `form/`, `rule/`, `cap/`: data, keys and drawing each), and a thin shell, which alone
//!   knows the terminal.
//! - [`accounts`]: accounts with model services: keys, logging in, what they offer, and which model answers.
//! - [`workspace`]: the folder of a session: what the process was given there, its rules, hooks, tool servers, texts for
//!   the model, commands and trust, and the policy that follows.
//! - [`app`]: the composition root: builds what the others are given.
//! - [`runtime`]: what owns a session: behind an interactive front end, in headless turns, in the background;
//!   what a prompt mentions, and the settings of tool servers.
//! - [`eval`]: golden cases of tool calling: scores, comparisons and reports, pure; and the runs.
//! - [`cli`]: the command line, its errors and exit codes, its commands, the reference (`help/`: one topic from the tables
//!   of the program or a text file), completions, the manual page, and the log of `--debug-file`.
//!
//! Outside of `src`: `tests/kit` is a crate over `co-engine` that does not ship (scripted replies and the server that gives them,
//! the runner of turn scripts), the example `co-conformance` is our client under the conformance suite of MCP, `evals` holds
//! turn scripts and golden tables, `prompts` the texts for models. The build script sets linker options.
//!
//! # Where this differs from the first design and from the seeds
//!
//! - Requests are recorded (`Asked`) and shown only after their reply is committed; planning in mid-stream is done
//!   for calls without side effects only. Nothing of a reply is stored before it, and no side effect starts.
//! - Calls are ordered by their `after` links first and call order second; dependencies and conflicts both point
//!   back in that order, so no call can wait for itself. A reply holds 200 calls at most.
//! - Late calls (their turn went on before they were decided) are settled by the turn machine like all others:
//!   before each request, and between turns in a turn without a request.
//! - Date, mode and sandbox are a note in the conversation, repeated when they change. The system prompt is a list
//!   of sections that holds nothing that changes, so that a provider's cache survives a change of the mode.
//! - A conversation that does not fit is shortened by the turn machine, in a phase of its own, before the request is
//!   made; the tools of a request are those of its moment, and the prefix changes only if they did.
//! - Decisions that the owner of a session makes and taking them in are one transaction: on a card or in the inbox, on one
//!   request or many, by the user or by a new grant. One of another process is two.
//! - `a` on a card allows such calls for this session; it never covers HIGH, nor a command beyond its own text. A
//!   shell command is MEDIUM or HIGH by what it does.
//! - To the provider that made it a call goes back under its own id, whatever the form; other ids are fitted. Of a service
//!   with models of several makers only a family of models counts, by its name: one maker may refuse another one's ids.
//! - A service that is overloaded gets one retry before the fallback model, and a wait of more than a minute none;
//!   without a fallback it is asked again for about a minute.
//!   Each turn begins with the chosen model; within five minutes after it was given up it gets one try.
//! - A retry count starts anew with each reply that arrives whole: a long turn survives several short outages, and
//!   the request budget still bounds it.
//! - A turn whose front end goes away stays open, as one that was killed: `co resume` repeats its request. So does
//!   one that failed at its provider.
//! - The settings are layered by our own code over `toml_edit`, because each value must know its source. Keys cannot
//!   be set by a project's file, trusted or not.
//! - Trust covers what a folder contained when it was trusted: changed files do not count until the user has seen
//!   them. It is about the folder itself, not about folders below it.
//! - An allow rule by words covers flags that the table of programs knows, and files of the workspace that hold no
//!   secrets. `git` commands are not read-only where the repository's settings can name programs.
//! - No rule, grant, hook, mode or yolo answers what a plan reserves for a person, leaving the sandbox among it.
//! - A command runs in the narrowest of three confinements that its words allow: reading, the workspace, the network. What
//!   the sandbox holds it to decides whether it asks; an approval never widens it. Landlock holds reading only.
//! - Each command in docker has a container of its own, not one a session: what one command leaves running, or does to the
//!   mounts over protected paths, must not reach the next one. Only the folder for temporary files is shared.
//! - A user's own command leaves the sandbox as `!unsandboxed`, seen whole in the composer; no key runs a failed one at once.
//! - The full-text index holds words only; the text around a hit is read from the record and masked again.
//! - `Y` and `co approvals yes --unread` approve the contents of a file that were not all shown; never a command, HIGH or
//!   untrusted text. The request itself says which.
//! - A card takes the keys by itself from an empty composer where no key came for a second. Only `y`, `n` and `v` are for
//!   it then, after its half second; a letter that another key follows within 300 ms is text, with what follows it.
//! - Events of one key with shorter pauses are one press, and a press that may be the repetition of a key that approved
//!   is decided at its end: a key that is held down approves one thing, whatever the keyboard's delay.
//! - `v` is a pager over a card or a list; there `y` approves all that is shown, never HIGH or untrusted text among others.
//!   On a list, of this session or the inbox, it approves what is marked; HIGH is marked once it was shown whole, and a
//!   round with it needs the second press. `n` is no on every card; `]` and `[` go through hunks.
//! - File tools walk by descriptors, one name at a time and through no link, on every system: the same promise as
//!   `openat2`, with one implementation.
//! - Frames are compared and sent by our own canvas, which moves rows by scroll regions: a third of the bytes of cell
//!   differences alone while an answer streams. The glyph set is a setting: probing it would hold all keys back.
//! - What arrives together of a reply is fed to the turn as one batch. Without a screen one thread does all work of a turn,
//!   and a pipe gets each reply once it is committed.
//! - A project's servers (`.mcp.json`) count in a trusted folder, each once the user agreed to what is written of it and to
//!   the files that its command names. A question of a server is a stored request that any process can answer, without a
//!   record in the session. It is withdrawn when its server or its process does not wait any more: the call is over then, and
//!   no later answer is kept for another one. Headless runs answer no questions, because no user may be present.
//! - Tools of servers are offered once they are connected, not as they were listed last: what is offered can be called. The
//!   last list serves where a call is explained or changed. A server's definition is accepted by its first run.
//! - `/clear` starts a new session: the one before stays whole, with its title and its requests, in `/resume`.
//! - On a network file system, detected by its type, the database keeps a rollback journal: a write-ahead log needs shared memory.
//!   It is said at the start, by `co status` and by `co doctor`. The same applies to its sidecar files.
//! - The session used last is the last in the list whatever the clock says, unless its time is two days ahead. Unasked, nothing
//!   goes by age until the clock or the user has been here for a day.
//! - The tour is a provider of its own, whose replies are scripts: what ships holds no test kit.
//! - A session goes on with the model that answered last in it, unless the command line names one.
//! - A short write-ahead log is kept when the database is closed: writing it back waits for the disk three
//!   times.
//! - The span of a resumed turn is a child of the span in which the turn began; a wait for approval is written by the process
//!   that goes on, with the times at which it was asked and decided. A link to another span is an event `link`, because the
//!   table of the seed has no column for it.
//! - The spans of an eval are in a file of its own and end in the report's page, so that statistics are of real work only.
//! - Moving and deleting are HIGH, copying and making folders medium; of git, pushing and pulling are HIGH. Staging, committing,
//!   switching and running tests are commands by other names: hooks, filters and build scripts decide what they do.
//! - What a command changed is known only by two looks at the workspace: it is listed before it is taken back, and a secret
//!   that appeared is not removed. A command that was cut off with its process cannot be taken back.
//! - A web page is read unasked only if what the user typed or what the web returned contains its whole address: an
//!   address that a model makes up can carry away what it knows. Pages can still list addresses from which a model chooses.
//!   The guard checks names and literal addresses before each hop, and the addresses that a connection is made to; proxies
//!   are not used for it. `a` covers one origin, never the tool.
//! - Results are kept for `git` and the web only, by tool, arguments, folder and basis; a change of files by this program
//!   ends what depends on files at once, one by others when its seconds are over.
//! - The answer to `ask_user` is an argument that the user fills in: it is edited, deferred and audited like any other.
//! - Of arguments that stream, the last lines of the text are shown, each highlighted once, and never decide anything. Its row
//!   keeps them until the call waits or ends, if its arguments are those that were shown.
//! - `read_file` decodes UTF-16 with a mark, and Windows-1252 where no character is UTF-8. Changes keep the encoding and the line
//!   ends of a file, or are refused: a file never comes back half in another encoding.
//! - A PDF document is read by `pdftotext` in the sandbox, from its standard input: it learns no name and no environment.
//! - A memory is a file and is not changed by being used: when it was used is kept with the index. A project's memories count like
//!   its rules, and one of them that others changed suspends the trust in the folder; what `co` writes there does not.
//! - The program determines the author of a memory from the conversation, never from the model's statement; in a turn that read
//!   untrusted text, saving a memory asks the user, and the memory is marked. Opposites, other numbers and reversed statements are
//!   never merged.
//! - Memories that apply follow the prompt for which they were found, once in a conversation; the prefix contains none of them.
//! - What a project tells the model is part of the trusted content, so that a changed text does not count until it was seen.
//!   Instructions of folders below it come with the first call there, as notes that count as text of a file.
//! - What precedes the conversation is recorded with its sources whenever it differs from that of the last request: the prompt of
//!   any turn can be shown as it was sent.
//! - Models with known tendencies get an instruction against each, a tier and sampling settings by a table. The window that Ollama is asked
//!   for stays what the machine can hold, not what the seed's table says.
//! - A text of the user that cannot be used leaves the built-in one in its place; it does not end the program.
//! - Custom commands bring text only: what other programs let such files run or allow has no effect, and that is said.
//! - Picture headers are read by our own code: the crate for it accepts broken files and misreads some sound ones.

pub use co_engine::{agent, approval, bash, config, history, hook, memory, message, provider};
pub use co_engine::{sandbox, session, stdx, store, telemetry, tool, undo};

pub mod command;
pub mod frontend;

pub mod tui;

pub mod accounts;
pub mod workspace;

pub mod app;
pub mod runtime;

pub mod eval;

pub mod cli;
