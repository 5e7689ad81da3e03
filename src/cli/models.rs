//! `pi-rpc models`, and pi's `--list-models`.

pub(super) mod auth;

use super::{print, refuse};
use clap::Args;
use pi_rpc_config::{
    self as config, Config, Environment, Keys, SelectionOptions, Sources, catalogue::BUILT_IN,
    pattern::full_id,
};
use pi_rpc_files::{harmless::harmless_lines, secrets::redact_url};
use pi_rpc_model::request::Endpoint;
use pi_rpc_protocol::{Dialect, InputKind, ThinkingLevel};
use serde_json::{Number, Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    process::ExitCode,
};

/// Options of `pi-rpc models`.
#[derive(Args, Default)]
pub struct Options {
    /// List only models whose provider, id or name contains all these words
    pattern: Vec<String>,
    /// Print which credential each provider has, from where and until when, instead of models
    #[arg(long)]
    auth: bool,
    /// Print all known properties as JSON
    #[arg(long)]
    json: bool,
    /// Ask model servers on this machine (Ollama, llama.cpp, LM Studio, vLLM), at their usual ports or at these
    /// addresses, and print an entry for models.json
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "")]
    discover: Option<Vec<String>>,
    /// Use the agent directory of this dialect
    #[arg(long, default_value_t = super::options::DEFAULT_DIALECT.as_str().to_owned(), env = "PI_RPC_DIALECT")]
    dialect: String,
}

/// Maximum width of the names' column, so that a line has at most 97 characters.
const NAME_WIDTH: usize = 40;

/// Prints the models.
pub fn run(options: &Options) -> ExitCode {
    if let Some(addresses) = &options.discover {
        let named: Vec<String> = addresses.iter().filter(|it| !it.is_empty()).cloned().collect();
        return super::discover::run(&named);
    }
    let Some(dialect) = Dialect::parse(&options.dialect) else {
        return refuse(&super::unknown_dialect(&options.dialect), super::USAGE);
    };
    let config = match read_configuration(dialect) {
        Ok(config) => config,
        Err(status) => return status,
    };
    if options.auth {
        return print(&match options.json {
            true => format!("{:#}", auth::as_json(&config)),
            false => harmless_lines(&auth::as_text(&config)),
        });
    }
    let words: Vec<String> = options.pattern.iter().map(|word| word.to_lowercase()).collect();
    let all = config.models();
    let models: Vec<&Endpoint> = all.iter().filter(|endpoint| has_words(endpoint, &words)).collect();
    print(&match options.json {
        true => format!("{:#}", as_json(&config, &models, &words)),
        false => harmless_lines(as_text(&config, &models, &words).trim_end()),
    })
}

/// Prints the models that can be used as pi's `--list-models` does: a table and nothing else. Warnings go to stderr.
pub fn list(words: &str, dialect: Dialect) -> ExitCode {
    let config = match read_configuration(dialect) {
        Ok(config) => config,
        Err(status) => return status,
    };
    for warning in &config.warnings {
        // stderr may be closed.
        let _ = writeln!(io::stderr(), "Warning: {}", harmless_lines(&warning.to_string()));
    }
    let pattern: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let all = config.models();
    let usable: Vec<&Endpoint> =
        all.iter().filter(|endpoint| config.keys.check(&endpoint.model).is_ok()).collect();
    let mut models: Vec<&Endpoint> =
        usable.iter().copied().filter(|endpoint| has_words(endpoint, &pattern)).collect();
    models.sort_by(|one, other| {
        let key = |endpoint: &Endpoint| (endpoint.model.provider.clone(), endpoint.model.id.clone());
        key(one).cmp(&key(other))
    });
    print(&match models[..] {
        [] if usable.is_empty() => {
            "No models available; pi-rpc models says what each provider needs".to_owned()
        }
        [] => format!("No models matching \"{}\"", harmless_lines(words)),
        _ => harmless_lines(table_of_pi(&models).trim_end_matches('\n')),
    })
}

/// The table of `--list-models`. Source: pi 1.6.0, observed.
fn table_of_pi(models: &[&Endpoint]) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let mut rows = vec![["provider", "model", "context", "max-out", "thinking", "images"].map(str::to_owned)];
    rows.extend(models.iter().map(|Endpoint { model, .. }| {
        [
            model.provider.clone(),
            model.id.clone(),
            tokens_of_pi(model.context_window),
            tokens_of_pi(model.max_tokens),
            yes(model.reasoning),
            yes(model.input.contains(&InputKind::Image)),
        ]
    }));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let lines = rows.iter().map(|row| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  "))
    });
    lines.collect()
}

/// A number of tokens as pi abbreviates it: `200K`, `16.4K`, `1M`.
fn tokens_of_pi(tokens: u64) -> String {
    let (unit, letter) = match tokens {
        0..1_000 => return tokens.to_string(),
        1_000..1_000_000 => (1_000, 'K'),
        _ => (1_000_000, 'M'),
    };
    match tokens % unit {
        0 => format!("{}{letter}", tokens / unit),
        _ => format!("{:.1}{letter}", tokens as f64 / unit as f64),
    }
}

/// The configuration of the process; the error is printed, and its exit status returned.
fn read_configuration(dialect: Dialect) -> Result<Config, ExitCode> {
    let working_directory =
        std::env::current_dir().map_err(|error| refuse(&format!("the working directory: {error}"), 1))?;
    let environment = Environment::of_process();
    Ok(config::load(Sources { dialect, working_directory, environment, approve: None }))
}

/// Whether provider, id or name have all these words.
fn has_words(endpoint: &Endpoint, words: &[String]) -> bool {
    let text = format!("{} {}", full_id(&endpoint.model), endpoint.model.name).to_lowercase();
    words.iter().all(|word| text.contains(word))
}

fn as_json(config: &Config, models: &[&Endpoint], words: &[String]) -> Value {
    let start = config::select(config, &SelectionOptions::default()).ok().map(|selection| {
        let model = &selection.offers[selection.start].endpoint.model;
        json!({"provider": model.provider, "id": model.id, "thinkingLevel": selection.level})
    });
    let models = models.iter().map(|endpoint| {
        let model = &endpoint.model;
        json!({
            "provider": model.provider,
            "id": model.id,
            "name": model.name,
            "api": model.api,
            "baseUrl": redact_url(&model.base_url),
            "contextWindow": model.context_window,
            "maxTokens": model.max_tokens,
            "thinkingLevels": endpoint.levels,
            "input": model.input,
            "cost": model.cost,
            "listed": config.keys.is_configured(&model.provider),
            "unusable": config.keys.check(model).err().map(|reason| reason.to_string()),
        })
    });
    json!({
        "agentDirectory": config.directories.agent,
        "projectDirectory": config.directories.project,
        "files": config.files,
        "catalogue": {"date": BUILT_IN.date, "source": BUILT_IN.source},
        "warnings": config.warnings,
        "start": start,
        "models": models.collect::<Vec<_>>(),
        "others": others(words),
    })
}

/// Models that answer no prompts and have all these words in provider or id: by type, ids by provider.
fn others(words: &[String]) -> BTreeMap<&'static str, BTreeMap<&'static str, Vec<&'static str>>> {
    let fits = |provider: &str, id: &str| {
        let text = format!("{provider}/{id}").to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let mut types: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
    for (kind, lists) in BUILT_IN.others {
        let models = lists.iter().flat_map(|list| list.ids.iter().map(|id| (list.provider, *id)));
        for (provider, id) in models.filter(|(provider, id)| fits(provider, id)) {
            types.entry(*kind).or_default().entry(provider).or_default().push(id);
        }
    }
    types
}

/// The same for people: without words, how many each provider has.
fn listed_others(words: &[String]) -> String {
    let mut text = String::new();
    for (kind, lists) in others(words) {
        let count: usize = lists.values().map(Vec::len).sum();
        let _ = writeln!(text, "For scripts of codemode, not offered: {count} of type {kind}");
        for (provider, ids) in lists {
            match words.is_empty() {
                true => text += &format!("  {provider}: {}\n", ids.len()),
                false => ids.iter().for_each(|id| text += &format!("  {provider}/{id}\n")),
            }
        }
    }
    text
}

fn as_text(config: &Config, models: &[&Endpoint], words: &[String]) -> String {
    let usable = |endpoint: &&&Endpoint| config.keys.check(&endpoint.model).is_ok();
    let can: Vec<&Endpoint> = models.iter().filter(usable).copied().collect();
    let cannot: Vec<&Endpoint> = models.iter().filter(|endpoint| !usable(endpoint)).copied().collect();
    let others = listed_others(words);
    let is_none = models.is_empty() && others.is_empty();
    let none = if is_none { "No model has these words in its provider, id or name.\n" } else { "" };
    let (broken, keyless) =
        (unusable_models(&config.keys, &cannot), providers_without_key(&config.keys, &cannot));
    let unsupported = unsupported_apis(config);
    let parts = [sources(config), model_table(&can), broken, unsupported, keyless, others, none.to_owned()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// The files of the configuration, the first model, and warnings.
fn sources(config: &Config) -> String {
    let mut text = format!("Agent directory  {}\n", config.directories.agent.display());
    for file in &config.files {
        let _ = writeln!(text, "Read             {}", file.display());
    }
    let _ = writeln!(text, "Built in         {}, {}", BUILT_IN.source, BUILT_IN.date);
    let (start, warnings) = match config::select(config, &SelectionOptions::default()) {
        Ok(selection) => {
            let model = &selection.offers[selection.start].endpoint.model;
            (format!("{}, thinking {}", full_id(model), selection.level), selection.warnings)
        }
        Err(_) => ("no model yet".to_owned(), Vec::new()),
    };
    let _ = writeln!(text, "Starts with      {start}");
    for warning in config.warnings.iter().chain(&warnings) {
        let _ = writeln!(text, "\nWarning: {warning}");
    }
    text
}

/// The table of usable models.
fn model_table(models: &[&Endpoint]) -> String {
    if models.is_empty() {
        return String::new();
    }
    let names: Vec<String> = models.iter().map(|endpoint| full_id(&endpoint.model)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0).clamp(8, NAME_WIDTH);
    let row = |name: &str, cells: [&str; 6]| {
        let [context, output, levels, images, read, written] = cells;
        // A long name has a line of its own, so that the columns stay.
        let name = if name.len() > width { format!("{name}\n{:width$}", "") } else { name.to_owned() };
        format!("{name:width$} {context:>7} {output:>6}  {levels:19} {images:6} {read:>6} {written:>6}\n")
    };
    let mut text = row("MODEL", ["CONTEXT", "OUTPUT", "THINKING", "IMAGES", "$ IN", "$ OUT"]);
    for (endpoint, name) in models.iter().zip(&names) {
        let model = &endpoint.model;
        let images = if model.input.contains(&InputKind::Image) { "yes" } else { "-" };
        text += &row(
            name,
            [
                &tokens(model.context_window),
                &tokens(model.max_tokens),
                &levels(&endpoint.levels),
                images,
                &price(&model.cost.input),
                &price(&model.cost.output),
            ],
        );
    }
    text += "Prices in US dollars per million tokens.\n";
    text
}

/// Models of configured providers that cannot be used, with the reasons.
fn unusable_models(keys: &Keys, models: &[&Endpoint]) -> String {
    let lines =
        unusable_groups(keys, models).into_iter().map(|(name, reason)| format!("  {name}: {reason}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("Unusable:\n{lines}") }
}

/// Names of models of configured providers that cannot be used, each with the reason: a provider once where all have the same.
pub(super) fn unusable_groups(keys: &Keys, models: &[&Endpoint]) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<&Endpoint>)> = Vec::new();
    for endpoint in models.iter().filter(|endpoint| keys.is_configured(&endpoint.model.provider)) {
        let Some(reason) = keys.check(&endpoint.model).err().map(|reason| reason.to_string()) else {
            continue;
        };
        let provider = &endpoint.model.provider;
        match groups.iter_mut().find(|(known, them)| *known == reason && them[0].model.provider == *provider)
        {
            Some((_, them)) => them.push(endpoint),
            None => groups.push((reason, vec![endpoint])),
        }
    }
    let named = groups.into_iter().map(|(reason, them)| {
        let name = match &them[..] {
            [one] => full_id(&one.model),
            several => format!("{}, {} models", several[0].model.provider, several.len()),
        };
        (name, reason.lines().next().unwrap_or_default().to_owned())
    });
    named.collect()
}

/// Providers with a key whose API is not supported.
fn unsupported_apis(config: &Config) -> String {
    let has_models = |id: &str| !config.models_of(|provider| provider == id).is_empty();
    let configured = |id: &str| config.keys.is_configured(id) && !has_models(id);
    let providers = BUILT_IN.providers.iter().filter(|provider| configured(provider.id));
    let lines: String =
        providers.map(|provider| format!("  {:14} speaks {}\n", provider.id, provider.api)).collect();
    if lines.is_empty() { lines } else { format!("With a key, but with an unsupported API:\n{lines}") }
}

/// Providers without a key, with the variables that would set one.
fn providers_without_key(keys: &Keys, models: &[&Endpoint]) -> String {
    let counts = keyless_providers(keys, models);
    if counts.is_empty() {
        return String::new();
    }
    let mut text = "Without a key (set the variable, or use auth.json or models.json):\n".to_owned();
    let width = counts.keys().map(|provider| provider.len()).max().unwrap_or(0);
    for (provider, count) in counts {
        let models = if count == 1 { "model" } else { "models" };
        let variables = match keys.variables(provider) {
            [] => "a login in auth.json".to_owned(),
            names => names.join(" or "),
        };
        let _ = writeln!(text, "  {provider:width$} {count:>4} {models:6}  {variables}");
    }
    text
}

/// Providers of these models for which nothing is configured, and how many of the models each has.
pub(super) fn keyless_providers<'a>(keys: &Keys, models: &[&'a Endpoint]) -> BTreeMap<&'a str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for endpoint in models.iter().filter(|endpoint| !keys.is_configured(&endpoint.model.provider)) {
        *counts.entry(&endpoint.model.provider).or_default() += 1;
    }
    counts
}

/// A number of tokens, abbreviated: `200K`, `1M`.
fn tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}K", (tokens + 500) / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6).replace(".0M", "M"),
    }
}

/// A price with four decimals at most.
fn price(price: &Number) -> String {
    let price = price.as_f64().unwrap_or_default();
    format!("{}", (price * 10_000.0).round() / 10_000.0)
}

/// The levels, with `..` in place of those between.
fn levels(levels: &[ThinkingLevel]) -> String {
    if levels == [ThinkingLevel::Off] {
        return "-".to_owned();
    }
    let mut runs: Vec<(ThinkingLevel, ThinkingLevel)> = Vec::new();
    for level in levels {
        match runs.last_mut() {
            Some((_, last)) if *last as u8 + 1 == *level as u8 => *last = *level,
            _ => runs.push((*level, *level)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}..{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}
