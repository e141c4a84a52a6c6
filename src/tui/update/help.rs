//! The list of keys: typing narrows it, Enter does what the marked key does. It never approves anything.

use super::{flash, inbox, key, login};
use crate::tui::help::{Help, HelpArea, can_run};
use crate::tui::keys::{Context, HelpKey, Nav};
use crate::tui::model::{Focus, Model, Overlay};
use crate::tui::msg::Cmd;

/// Opens the list, narrowed to this.
pub fn open(model: &mut Model, filter: &str) {
    model.overlay = Overlay::Help(Help::filtered(filter));
}

pub fn act(model: &mut Model, key: HelpKey, cmds: &mut Vec<Cmd>) {
    match key {
        HelpKey::Run => run(model, cmds),
        HelpKey::Erase => edit(model, Help::widen),
        HelpKey::Clear => edit(model, |help| *help = Help::default()),
    }
}

pub fn typed(model: &mut Model, c: char) {
    edit(model, |help| help.narrow(c));
}

fn edit(model: &mut Model, change: impl FnOnce(&mut Help)) {
    if let Overlay::Help(help) = &mut model.overlay {
        change(help);
    }
}

/// Escape: the filter goes first, then the list.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    match &mut model.overlay {
        Overlay::Help(help) if !help.filter.is_empty() => *help = Help::default(),
        Overlay::Help(_) | Overlay::None => model.overlay = Overlay::None,
        Overlay::Pick(_) | Overlay::Login(_) => login::escape(model, cmds),
        Overlay::Inbox(_) => inbox::escape(model),
    }
}

/// Moves the mark, where a filter leaves one; else the lines. Neither leaves the list.
pub fn navigate(model: &mut Model, nav: Nav) {
    let area = HelpArea::of(usize::from(model.columns), model.areas().pane);
    let Overlay::Help(help) = &mut model.overlay else { return };
    let lines = help.lines(&model.keymap, area, model.glyphs).len();
    let (at, last) = if help.is_filtered() {
        (&mut help.marked, lines.saturating_sub(1))
    } else {
        (&mut help.scroll, lines.saturating_sub(area.rows))
    };
    let page = area.rows.saturating_sub(1).max(1);
    *at = match nav {
        Nav::PageUp => at.saturating_sub(page),
        Nav::PageDown => *at + page,
        Nav::Up | Nav::LineUp => at.saturating_sub(1),
        Nav::Down | Nav::LineDown => *at + 1,
    };
    *at = (*at).min(last);
    if help.is_filtered() {
        help.scroll = help.scroll.clamp((help.marked + 1).saturating_sub(area.rows), help.marked);
    }
}

fn run(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Help(help) = &model.overlay else { return };
    let Some(row) = help.marked(&model.keymap) else { return };
    let (context, action) = (row.binding.context, row.binding.action);
    if !can_run(row) {
        return flash(model, &format!("not from here: it acts {}", context.about()));
    }
    model.overlay = Overlay::None;
    if context == Context::Composer {
        model.focus = Focus::Composer;
    }
    key::act(model, action, cmds);
}
