//! `co models`: lists the models of the configured services, with windows and prices if known.
//!
//! Unknown values are shown as unknown. A service that does not answer gets its own line and does not affect
//! the others.

use std::io::IsTerminal as _;

use serde_json::{Value, json};

use super::args::{Flags, Models};
use super::console;
use super::error::{CliError, Kind, Result};
use crate::accounts::{ListSource, Offer, OfferedModel, dollars, offers, tokens};
use crate::provider::Price;
use crate::stdx::text::{sanitize_line, width};
use crate::workspace::{World, load_settings};

/// The width of a model's name; the columns after it end at 80 cells. A longer name gets its own line,
/// because a truncated name is useless.
const NAME: usize = 46;

/// Shown for unknown values.
const UNKNOWN: &str = "unknown";

pub(super) async fn run(what: &Models, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let lists = if what.offline { ListSource::Known } else { ListSource::Live };
    if lists == ListSource::Live && std::io::stderr().is_terminal() {
        console::note("co: asking the services for their lists…");
    }
    let offers = offers(&loaded.settings, what.service.as_deref(), lists).await.map_err(CliError::from)?;
    if what.json {
        console::json(&offers.iter().map(as_json).collect::<Vec<_>>())?;
    } else if offers.is_empty() {
        console::out(
            "No service is set up: `co auth add NAME` saves a key, `co auth list` lists them; or start a model server on \
             this machine.\n",
        )?;
    } else {
        console::out(&as_text(&offers))?;
    }
    match offers.iter().find_map(|offer| offer.models.as_ref().err()) {
        Some(error) if offers.iter().all(|offer| offer.models.is_err()) => {
            let message = match offers.len() {
                1 => "the service did not list its models",
                _ => "no service listed its models",
            };
            let error = CliError::message(Kind::Provider, message).hint(error.advice());
            Err(error.hint("`co models --offline` lists what is known without asking"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Formats a table for each service, and a line for each that did not answer.
fn as_text(offers: &[Offer]) -> String {
    let mut out = String::new();
    for offer in offers {
        if !out.is_empty() {
            out.push('\n');
        }
        let service = sanitize_line(&offer.service);
        let address = offer.address.as_deref().map(|address| format!(" ({address})")).unwrap_or_default();
        match &offer.models {
            Err(error) => out.push_str(&format!("{service}{}: {error}\n", sanitize_line(&address))),
            Ok(models) if models.is_empty() => {
                out.push_str(&format!("{service}{}: no models\n", sanitize_line(&address)));
            }
            Ok(models) => {
                out.push_str(&row(
                    &format!("{service}{}", sanitize_line(&address)),
                    ["WINDOW", "$/M IN ", "$/M OUT "],
                ));
                models.iter().for_each(|model| out.push_str(&line(model)));
            }
        }
    }
    let models = offers.iter().flat_map(|offer| offer.models.iter().flatten());
    let prices: Vec<Price> = models.clone().filter_map(|model| model.profile.price).collect();
    if models.clone().any(|model| model.in_use) {
        out.push_str("\n* in use");
    }
    if prices.iter().any(|price| price.long.is_some()) {
        out.push_str("\n+ costs more for long inputs: see `co models --json`");
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn line(model: &OfferedModel) -> String {
    let mark = if model.in_use { '*' } else { ' ' };
    let window = model.profile.window.map_or_else(|| UNKNOWN.to_owned(), tokens);
    // Reserves a cell for the `+`, so that the amounts are aligned.
    let price = |part: fn(&Price) -> u64| match &model.profile.price {
        Some(price) => {
            let more = if price.long.is_some() { '+' } else { ' ' };
            format!("{}{more}", dollars(part(price)).trim_start_matches('$'))
        }
        None => format!("{UNKNOWN} "),
    };
    let cells = [window, price(|price| price.input), price(|price| price.output)];
    row(&format!("{mark} {}", sanitize_line(&model.name)), cells.each_ref().map(String::as_str))
}

/// Formats a name and three right-aligned cells; a long name gets its own line.
fn row(name: &str, [window, input, output]: [&str; 3]) -> String {
    let cells = format!("{window:>9} {input:>10} {output:>10}");
    let cells = cells.trim_end();
    match NAME.checked_sub(width(name)) {
        Some(room) => format!("{name}{}{cells}\n", " ".repeat(room)),
        None => format!("{name}\n{}{cells}\n", " ".repeat(NAME)),
    }
}

fn as_json(offer: &Offer) -> Value {
    let models = offer
        .models
        .as_ref()
        .map(|models| models.iter().map(|model| model_as_json(&offer.service, model)).collect::<Vec<_>>());
    json!({
        "service": offer.service,
        "address": offer.address,
        "error": models.as_ref().err().map(ToString::to_string),
        "models": models.unwrap_or_default(),
    })
}

fn model_as_json(service: &str, model: &OfferedModel) -> Value {
    let profile = &model.profile;
    json!({
        "name": model.name,
        "id": format!("{service}/{}", model.name),
        "window": profile.window,
        "max_output": profile.max_output,
        "usd_per_million": profile.price.map(price_as_json),
        "images": profile.images,
        "in_use": model.in_use,
    })
}

fn price_as_json(price: Price) -> Value {
    let long = price.long.map(|long| {
        json!({
            "over_input_tokens": long.over,
            "input": usd(long.input),
            "output": usd(long.output),
            "cached_input": long.cached_input.map(usd),
            "cache_write": long.cache_write.map(usd),
        })
    });
    json!({
        "input": usd(price.input),
        "output": usd(price.output),
        "cached_input": price.cached_input.map(usd),
        "cache_write": price.cache_write.map(usd),
        "reasoning": price.reasoning.map(usd),
        "long_input": long,
    })
}

/// Converts millionths of a dollar to dollars.
#[expect(clippy::cast_precision_loss, reason = "a price is far below where a number loses its millionths")]
fn usd(millionths: u64) -> f64 {
    millionths as f64 / 1_000_000.0
}
