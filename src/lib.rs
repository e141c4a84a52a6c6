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
//! | L7 | [`accounts`] |
//! | L8 | [`app`], [`runtime`], [`cli`] |
//!
//! - [`stdx`]: what the standard library lacks: widths and cutting of text, framing of event streams and JSON, paths
//!   confined to a folder, atomic and owner-only files, the clock, names of files that hold secrets.
//! - [`bash`]: a shell command line read by a grammar and by a strict lexer that must agree; which programs it runs, and
//!   whether all of them are read-only (`programs.txt`).
//! - [`message`]: messages, parts, calls, returns, usage, stop reasons. Stored for good.
//! - [`config`]: one table of settings; reading, layering, checking, describing and the typed result derive from it.
//! - [`sandbox`]: the seam, and the plain child process, the only room with `unsafe`.
//! - [`tool`]: the seam, what follows from a tool's schema and from a preview; `builtin/` has one file a tool.
//! - [`hook`]: the seam, and programs of the person's own that are asked or told at eight moments.
//! - [`approval`]: the policy, rules, grants, taint of arguments, requests and approvals. No I/O.
//! - [`provider`]: the seam, the table of failures, five pure codecs, the HTTP shell that makes any of them a provider,
//!   the catalogue of services and models, and the offline tour.
//! - [`history`]: the records of a session and their fold, the one way in which a conversation changes.
//! - [`store`]: one SQLite database on its own thread: records, requests and decisions, audit, usage, wake-ups between
//!   processes, copies and repair.
//! - [`session`]: one owner of one history, by a lock that death frees.
//! - [`agent`]: one user turn: `turn/` is the machine, `calls/` its calls and their schedule, `driver/` the one place that
//!   awaits.
//! - [`command`]: slash commands, one file each: what they may know, and what they want done.
//! - [`frontend`]: print, JSON, the plain face, and the link between an interactive face and its session.
//! - [`tui`]: the full screen: model, update, view, and a thin shell, which alone knows the terminal.
//! - [`accounts`]: accounts with model services: keys, logging in, what they offer, and which model answers.
//! - [`app`]: the composition root: builds what the others are given; hooks, rules and trust of folders.
//! - [`runtime`]: what owns a session: behind an interactive face, in headless turns, beside the session at hand.
//! - [`cli`]: the command line, its errors and exit codes, and its commands.
//!
//! Beside `src`: `tests/kit` is a crate that does not ship (scripted replies and the server that gives them, the runner of
//! turn scripts), `evals` holds turn scripts and golden tables, `prompts` the texts for models.
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

pub mod accounts;

pub mod app;
pub mod runtime;

pub mod cli;
