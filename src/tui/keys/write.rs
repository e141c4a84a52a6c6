//! The keys of writing: the composer, and every place where text is written.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Composer, Group::Write, Action::Send, &[ENTER], "send; queue while busy"),
    on(Context::Composer, Group::Write, Action::Change(Change::Newline), &[SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], "newline (or \\ Enter)"),
    on(Context::Composer, Group::Write, Action::Move(Move::Up), &[Key::plain(Code::Up)], "up; history at top"),
    on(Context::Composer, Group::Write, Action::Move(Move::Down), &[Key::plain(Code::Down)], "down; history at end"),
    on(Context::Composer, Group::Write, Action::Unqueue, &[Key::held(Mods::ALT, Code::Up)], "take queued text back"),
    on(Context::Composer, Group::Work, Action::QuitOrDelete, &[Key::ctrl('d')], "quit when empty"),
    on(Context::Composer, Group::Work, Action::Help, &[Key::char('?')], "this help (empty line)"),

    on(Context::Text, Group::Write, Action::Move(Move::Left), &[Key::plain(Code::Left), Key::ctrl('b')], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Right), &[Key::plain(Code::Right), Key::ctrl('f')], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Up), &[Key::plain(Code::Up)], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Down), &[Key::plain(Code::Down)], ""),
    on(Context::Text, Group::Write, Action::Move(Move::WordLeft), &[Key::alt('b'), CTRL_LEFT, Key::held(Mods::ALT, Code::Left)], "word left"),
    on(Context::Text, Group::Write, Action::Move(Move::WordRight), &[Key::alt('f'), CTRL_RIGHT, Key::held(Mods::ALT, Code::Right)], "word right"),
    on(Context::Text, Group::Write, Action::Move(Move::LineStart), &[Key::ctrl('a'), Key::plain(Code::Home)], "start of line"),
    on(Context::Text, Group::Write, Action::Move(Move::LineEnd), &[Key::ctrl('e'), Key::plain(Code::End)], "end of line"),
    on(Context::Text, Group::Write, Action::Change(Change::Backspace), &[Key::plain(Code::Backspace), Key::ctrl('h'), Key::held(Mods::SHIFT, Code::Backspace)], ""),
    on(Context::Text, Group::Write, Action::Change(Change::Delete), &[Key::plain(Code::Delete), Key::ctrl('d')], ""),
    on(Context::Text, Group::Write, Action::Change(Change::KillToEnd), &[Key::ctrl('k')], "cut to the end"),
    on(Context::Text, Group::Write, Action::Change(Change::KillToStart), &[Key::ctrl('u')], "cut to the start"),
    on(Context::Text, Group::Write, Action::Change(Change::KillWordBack), &[Key::ctrl('w')], "cut a word back"),
    on(Context::Text, Group::Write, Action::Change(Change::KillPartBack), &[ALT_BACKSPACE], ""),
    on(Context::Text, Group::Write, Action::Change(Change::KillWordForward), &[Key::alt('d')], "cut a word on"),
    on(Context::Text, Group::Write, Action::Change(Change::Yank), &[Key::ctrl('y')], "put back what was cut"),
    on(Context::Text, Group::Write, Action::Change(Change::YankOlder), &[Key::alt('y')], "then: what before that"),
    on(Context::Text, Group::Write, Action::Change(Change::Undo), UNDO, "undo"),
    on(Context::Text, Group::Write, Action::Change(Change::Redo), &[Key::alt('_'), Key::alt('/')], "redo"),
    on(Context::Composer, Group::Read, Action::Find(FindKey::Open), &[Key::ctrl('f')], "find (empty line)"),
    on(Context::Composer, Group::Write, Action::Stash, &[Key::ctrl('s')], "put aside, bring back"),
    on(Context::Composer, Group::Write, Action::PasteImage, &[Key::ctrl('v')], "paste image"),
    on(Context::Composer, Group::Write, Action::SearchHistory, &[Key::ctrl('r')], "search what you sent"),
    on(Context::Text, Group::Write, Action::EditOutside, &[Key::ctrl('g')], "write it in $EDITOR"),
    on(Context::Text, Group::Write, Action::Chord, &[Key::ctrl('x')], ""),
    on(Context::Chord, Group::Write, Action::EditOutside, &[Key::ctrl('e')], ""),
];
