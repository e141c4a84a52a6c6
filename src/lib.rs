//! `co`: a full-screen terminal assistant with deferred approvals.
//!
//! A person talks to a language model; the model proposes tool calls. What only looks is done at once;
//! what touches the world waits for the person's yes: now, in another terminal, or tomorrow after a
//! restart. Nothing is lost and nothing runs twice on the way.
//!
//! # Code map
//!
//! A pure core in an imperative shell, in layers. A module imports lower layers and, in its own layer,
//! only modules listed to its left; `tests/it/tidy.rs` reads every `use crate::` and enforces it.
//!
//! | layer | modules |
//! |---|---|
//! | L0 | [`stdx`] |
//! | L1 | [`bash`], [`message`], [`config`] |
//! | L2 | [`sandbox`], [`tool`], [`hook`], [`approval`], [`provider`], [`history`]: the seams |
//! | L3 | [`store`], [`session`] |
//! | L4 | [`agent`] |
//! | L5 | `provider/*`, `sandbox/*`, `hook/*`, `tool/builtin/*`: implementations of the seams |
//! | L6 | [`command`], [`frontend`], [`tui`] |
//! | L8 | [`app`], [`cli`] |
//!
//! - [`stdx`]: what the standard library lacks. `text/` (widths, wrapping, cutting, making control
//!   characters visible), `sse.rs` (event-stream framing), `json_items.rs` (JSON values one after another), `json_stream.rs`
//!   (strings out of JSON that still arrives), `paths.rs` (confinement), `fs.rs` (atomic and owner-only files), `beneath.rs` (files reached by descriptors),
//!   `secret_files.rs` (names of files that hold secrets), `clock.rs`, `image.rs` (what a picture's header says),
//!   `secrecy.rs` (what may be shown of an address).
//! - [`bash`]: what a shell command line says, by a real grammar (`tree.rs`) and by a strict reader (`lexer.rs`, `lexer/`) that must
//!   agree (`reading.rs`), and whether it only looks (`look.rs`): what programs run (`wrap.rs`), and a table of those that
//!   look (`programs.rs` reads `programs.txt`; `flags.rs`, `special.rs`, `notes.rs`).
//! - [`message`]: messages, parts, calls, returns, usage, stop reasons. Stored for good. `images.rs` names images in
//!   what a person says.
//! - [`config`]: one table of settings (`settings.rs`), services in sections (`providers.rs`), what is said of models
//!   (`models.rs`); reading (`read.rs`, `file.rs`), layering (`load.rs`), checking (`value.rs`, `problem.rs`), what is trusted of a folder (`trust.rs`), describing
//!   (`describe.rs`) and the typed result (`typed.rs`) derive
//!   from it.
//! - [`sandbox`]: the seam, and the plain child process (`subprocess.rs`, `child.rs` and `shield.rs` with the only
//!   `unsafe`, `env.rs`, `survivors.rs`).
//! - [`tool`]: the seam; what follows from a tool's schema (`schema.rs`) and from a preview (`diff.rs`, `hunks.rs` and
//!   `hunks/`: a change without some of its hunks); `builtin/` holds one file per tool.
//! - [`hook`]: programs of the person's own that look at what happens: the seam; definitions (`file.rs`), which of them
//!   may run (`trust.rs`), running one (`command.rs`, `process.rs`, `answer.rs`), the files a shell text names (`words.rs`), what the person hears of it (`told.rs`).
//! - [`approval`]: the policy (`policy.rs`, `stages.rs`), standing grants (`grants.rs`, `words.rs`), rules (`rules/`),
//!   whose words arguments carry (`provenance.rs`, `provenance/`), requests and approvals.
//! - [`provider`]: the seam, its one table of failures (`error.rs`) and what is known of a model (`profile.rs`). Codecs are pure
//!   (`anthropic/`, `gemini/`, `ollama/`, `openai_chat/`, `openai_responses/`; what they share is in `decoder.rs`,
//!   `classify.rs`, `classify/`, `retry_headers.rs`, `retry_words.rs`, `wire_text.rs`); one HTTP shell (`http.rs`, `http/`) makes any
//!   of them a provider;
//!   `replay/` serves scripts and recordings; `offline/` needs no model; `catalog.rs` and `catalog/`
//!   know services (`presets.rs`) and find local ones, know models (`models.rs`, `models/`) and read services' lists of
//!   them (`listing.rs`); `fuzz.rs` is what holds for any bytes.
//! - [`history`]: the records of a session and their fold (`fold.rs`; `late.rs`: calls without their turn); `cap.rs` names caps; `repair.rs` for foreign ones.
//! - [`store`]: one SQLite database on its own thread (`schema.rs`, `writer.rs`, `lane.rs`). Records
//!   (`records.rs`, `encode.rs`, `num.rs`, `redact.rs`), the list of sessions (`index.rs`), requests and their
//!   decisions (`requests.rs`, `standing.rs`, `expiry.rs`, `inbox.rs`, `rows.rs`, `decide.rs`), the audit (`audit/`), what
//!   requests used (`usage.rs`), wake-ups between processes (`wake.rs`), whether the files are sound and their copies
//!   (`health.rs`), what `co doctor` does (`doctor.rs`), `error.rs`.
//! - [`session`]: one owner of one history, by a lock that death frees (`lock.rs`); who holds which (`holders.rs`).
//! - [`agent`]: one user turn. `turn/` is the machine, `calls/` its calls and their schedule,
//!   `assemble.rs` one reply, `budget.rs`, `caps.rs` (tokens and money), `circling.rs` (the loop guard), `context.rs` (what is left out),
//!   `prompt.rs`, `port.rs` (what a
//!   front end is), and `driver/`, the one place that awaits.
//! - [`command`]: what a typed line is (`dispatch.rs`), what commands may know and want (`view.rs`,
//!   `words.rs`), and the slash commands of `command/`, one file each.
//! - [`frontend`]: print (`print.rs`, `rows.rs`), JSON (`json.rs`), the recorder (`recording.rs`), image files
//!   of a prompt (`images.rs`, `images/`), the link
//!   between an interactive face and its session (`link.rs`, `channel.rs`), and the plain face over that link:
//!   `plain/`, a pure state (`state.rs`, `cap.rs`, `events.rs`, `notices.rs`, `answers.rs`, `approvals.rs`, `inbox.rs`, `sessions.rs`, `words.rs`, `page.rs`) and its
//!   loop (`run.rs`).
//! - [`tui`]: the full screen: model (`model.rs`, `cards.rs`, `cap.rs`, `hunks.rs`, `batch.rs`, `form/`, `rule.rs`, `transcript.rs`,
//!   `transcript/`, `selection.rs`, `find.rs`, `help.rs`, `composer/`, `completion.rs`, `completion/`, `pick.rs`, `inbox.rs`, `inbox/`, `login.rs`,
//!   `fuzzy.rs`), update (`msg.rs`, `key.rs`, `keys/` with the one table of keys, `update/`), view (`line.rs`, `line/`,
//!   `link.rs`, `copied.rs`, `theme.rs`, `cells/`, `markdown/`, `view/`, `exit.rs`), and a thin shell
//!   (`shell.rs`, `shell/`). Only the shell knows crossterm.
//! - [`app`]: the composition root (`build.rs`, `models.rs`, `models/`, `services.rs`, `services/`, `profiles.rs` (what is
//!   known of a model), `offers.rs` (what services offer), `opening.rs`, `world.rs`); `keys.rs` and `keys/` keys of
//!   services, `login.rs` and `login/` setting one up;
//!   `conductor/` owns the session behind an interactive face, `headless.rs` turns that nobody watches, `images.rs` their images,
//!   `hooks.rs` the hooks that count, `trust.rs` trusted folders, `rules.rs` and `rules/` files of rules, `left.rs` what a
//!   killed `co` left behind, `status.rs` the facts to show.
//! - [`cli`]: the command line (`args.rs`, `input.rs`, `console.rs`, `secret.rs`, `setup.rs`, `signals.rs`, `table.rs`, `day.rs`), its errors and
//!   exit codes (`error.rs`), and its commands, one file each in `cli/`.
//!
//! # Where this differs from the first design
//!
//! - Requests are recorded (`Asked`) and shown only after their reply is committed; planning in
//!   mid-stream is done for calls without side effects only. Nothing of a reply is stored before it.
//! - A service that is overloaded gets one retry before the fallback model, and a wait of more than a minute none.
//!   Each turn begins with the chosen model; within five minutes after it was given up it gets one try.
//! - A retry count starts anew with each reply that arrives whole: a long turn survives several
//!   short outages, and the request budget still bounds it.
//! - Calls are ordered by their `after` links first and call order second; dependencies and conflicts
//!   both point back in that order, so no call can wait for itself.
//! - The settings are layered by our own code over `toml_edit`, because each value must know its source.
//! - Frames are compared and sent by our own canvas, which moves rows by scroll regions: a third of the bytes of
//!   cell differences alone while an answer runs down the screen.
//! - After a yes no other yes counts for a second, and no key for half a second after each that came too early: a
//!   key that is held down decides one thing at most. `n` is no on every card, so `]` and `[` go through hunks.
//! - The glyph set is a setting, not probed: the terminal library tells the cursor's place only by holding all keys
//!   back meanwhile.
//! - What arrives together of a reply is fed to the turn as one batch; where nothing is drawn one thread does it all, and
//!   a pipe gets each reply once it is committed.
//! - A reply holds 200 calls at most; the schedule compares each call with all before it at once, in one walk.
//! - File tools walk by descriptors, one name at a time and through no link (`stdx/beneath.rs`), on every system: the
//!   same promise as `openat2`, with one implementation.
//! - Trust is in what a folder said when it was trusted (`config/trust.rs` keeps the texts): what changed does not count
//!   until it was looked at, and it is about the folder itself, not what lies below.
//! - An allow by words covers flags that the table of programs knows and files of the workspace that are no secrets; where
//!   the table knows nothing, these words and no more. Reading by `git` is no reading for the classifier where the
//!   repository's settings can name programs.
//! - A turn whose front end goes away is left open, as one that was killed: `co resume` repeats its request. So is one that
//!   failed at its provider.
//! - What a plan keeps for a person no rule, grant, hook, mode or yolo answers.
//! - A short write-ahead log stays beside the database when it is closed: writing it back waits for the disk three times.
//! - The keys cannot be set by a project's file, trusted or not: what a key means is the person's alone.

pub mod stdx;

pub mod bash;
pub mod config;
pub mod message;

pub mod approval;
pub mod history;
pub mod hook;
pub mod provider;
pub mod sandbox;
pub mod tool;

pub mod session;
pub mod store;

pub mod agent;

pub mod command;
pub mod frontend;

pub mod tui;

pub mod app;
pub mod cli;
