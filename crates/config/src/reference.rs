//! Resolves the name that a user gives a model: `provider/id`, an id, or a part of an id or name, with or without a
//! `:<thinking level>`.
//!
//! Source: pi 1.5.2, but for one rule of our own: a text that begins with the name of a provider and a slash means a
//! model of that provider and of no other, even where a router has the whole text as an id.

use super::pattern::{Suffix, best_match, full_id, is_partly, without_level};
use pi_rpc_model::request::Endpoint;
use pi_rpc_protocol::ThinkingLevel;

/// A name to resolve.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'t> {
    /// The name as given.
    pub text: &'t str,
    /// The only provider that counts, in any case; `None`: all do.
    pub provider: Option<&'t str>,
    /// Accepted suffixes behind the last colon.
    pub suffix: Suffix,
    /// Whether a part of an id or of a name is enough.
    pub matches_parts: bool,
}

/// What a name means.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution<'a> {
    /// One model.
    Model(ModelMatch<'a>),
    /// Models of several providers, and nothing decides between them.
    Ambiguous {
        /// The models.
        candidates: Vec<&'a Endpoint>,
        /// How many of them belong to usable providers.
        usable: usize,
        /// Thinking level behind the last colon.
        level: Option<ThinkingLevel>,
        /// Invalid text behind the last colon, which was ignored.
        not_a_level: Option<String>,
    },
    /// No model; with a provider that was named, the id that it would have to have.
    NotFound(Option<UnlistedModel<'a>>),
}

/// A model that a name means.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMatch<'a> {
    /// The model.
    pub endpoint: &'a Endpoint,
    /// Thinking level behind the last colon.
    pub level: Option<ThinkingLevel>,
    /// Invalid text behind the last colon, which was ignored.
    pub not_a_level: Option<String>,
}

/// An id that a named provider does not list.
#[derive(Clone, Debug, PartialEq)]
pub struct UnlistedModel<'a> {
    /// The models that the provider does list, at least one.
    pub siblings: Vec<&'a Endpoint>,
    /// The id as given, with what may be a level.
    pub text: String,
    /// The id without a level.
    pub id: String,
    /// The level behind its last colon.
    pub level: Option<ThinkingLevel>,
}

/// Resolves `reference` among these models. `usable` tells of a provider whether it could be asked: it decides where
/// several have the model.
pub fn resolve<'a>(
    reference: Reference<'_>,
    among: &[&'a Endpoint],
    usable: &dyn Fn(&str) -> bool,
) -> Resolution<'a> {
    let text = reference.text.trim();
    if text.is_empty() {
        return Resolution::NotFound(None);
    }
    let front = match reference.provider {
        Some(_) => None,
        None => split_provider(text, among),
    };
    let only = reference.provider.map(str::to_lowercase).or(front.as_ref().map(|(it, _)| it.to_lowercase()));
    let of_it = |endpoint: &&&Endpoint| match &only {
        Some(only) => endpoint.model.provider.to_lowercase() == *only,
        None => true,
    };
    let pool: Vec<&Endpoint> = among.iter().filter(of_it).copied().collect();
    match resolve_text(text, reference, &pool, usable) {
        Some(resolved) => resolved,
        None if only.is_none() => Resolution::NotFound(None),
        None => Resolution::NotFound(unlisted(text, reference, &pool)),
    }
}

/// The id that a provider would have to have; `None`: it has no models at all.
fn unlisted<'a>(text: &str, reference: Reference<'_>, pool: &[&'a Endpoint]) -> Option<UnlistedModel<'a>> {
    let provider = &pool.first()?.model.provider;
    let siblings = pool.iter().filter(|it| it.model.provider == *provider).copied().collect();
    let text = split_provider(text, pool).map_or(text, |(_, rest)| rest);
    let (id, level) = match reference.suffix {
        Suffix::None => (text, None),
        Suffix::Level | Suffix::Anything => without_level(text),
    };
    Some(UnlistedModel { siblings, text: text.to_owned(), id: id.to_owned(), level })
}

fn resolve_text<'a>(
    text: &str,
    reference: Reference<'_>,
    pool: &[&'a Endpoint],
    usable: &dyn Fn(&str) -> bool,
) -> Option<Resolution<'a>> {
    let whole = by_id(text, reference, pool, usable);
    let whole = whole.or_else(|| reference.matches_parts.then(|| by_part(text, pool, usable)).flatten());
    if whole.is_some() || reference.suffix == Suffix::None {
        return whole;
    }
    let (front, back) = text.rsplit_once(':')?;
    let level = ThinkingLevel::parse(back);
    if level.is_none() && reference.suffix == Suffix::Level {
        return None;
    }
    let mut inner = resolve_text(front, reference, pool, usable)?;
    let (named, invalid) = match &mut inner {
        Resolution::Model(ModelMatch { level, not_a_level, .. })
        | Resolution::Ambiguous { level, not_a_level, .. } => (level, not_a_level),
        Resolution::NotFound(_) => return None,
    };
    // An invalid inner suffix makes the level doubtful, too.
    *named = level.filter(|_| invalid.is_none());
    if level.is_none() {
        *invalid = Some(back.to_owned());
    }
    Some(inner)
}

/// Finds the models whose id is `text`, or whose id is what follows the name of their provider in it.
fn by_id<'a>(
    text: &str,
    reference: Reference<'_>,
    pool: &[&'a Endpoint],
    usable: &dyn Fn(&str) -> bool,
) -> Option<Resolution<'a>> {
    let is_called = |endpoint: &Endpoint, id: &str| endpoint.model.id.to_lowercase() == id.to_lowercase();
    let same = pool.iter().filter(|it| is_called(it, text)).copied();
    let named = split_provider(text, pool).and_then(|(provider, rest)| {
        let own = || pool.iter().filter(|it| it.model.provider == provider).copied();
        let literal = own().find(|it| is_called(it, rest)).or_else(|| own().find(|it| is_called(it, text)));
        let parts = || reference.matches_parts.then(|| best_match(&partly(rest, &own().collect::<Vec<_>>())));
        literal.or_else(|| parts().flatten())
    });
    let mut candidates: Vec<&Endpoint> = named.into_iter().collect();
    candidates
        .extend(same.filter(|it| named.is_none_or(|named| full_id(&it.model) != full_id(&named.model))));
    let first = *candidates.first()?;
    if candidates.iter().all(|it| it.model.provider == first.model.provider) || named.is_some() {
        return Some(found(first));
    }
    let able: Vec<&Endpoint> = candidates.iter().filter(|it| usable(&it.model.provider)).copied().collect();
    Some(match able[..] {
        [one] => found(one),
        _ => ambiguous(candidates, able.len()),
    })
}

/// Finds the best of the models whose id or name contains `text`.
fn by_part<'a>(text: &str, pool: &[&'a Endpoint], usable: &dyn Fn(&str) -> bool) -> Option<Resolution<'a>> {
    let matches = partly(text, pool);
    let able: Vec<&Endpoint> = match has_several_providers(&matches) {
        true => matches.iter().filter(|it| usable(&it.model.provider)).copied().collect(),
        false => Vec::new(),
    };
    let decided = if able.is_empty() { &matches } else { &able };
    let best = best_match(decided)?;
    let tied: Vec<&Endpoint> = decided.iter().filter(|it| it.model.id == best.model.id).copied().collect();
    Some(match has_several_providers(&tied) {
        false => found(best),
        true => {
            let usable = if able.is_empty() { 0 } else { tied.len() };
            ambiguous(tied, usable)
        }
    })
}

fn partly<'a>(text: &str, pool: &[&'a Endpoint]) -> Vec<&'a Endpoint> {
    let part = text.to_lowercase();
    pool.iter().filter(|it| is_partly(&it.model, &part)).copied().collect()
}

fn has_several_providers(endpoints: &[&Endpoint]) -> bool {
    endpoints.iter().any(|it| it.model.provider != endpoints[0].model.provider)
}

fn found(endpoint: &Endpoint) -> Resolution<'_> {
    Resolution::Model(ModelMatch { endpoint, level: None, not_a_level: None })
}

fn ambiguous(candidates: Vec<&Endpoint>, usable: usize) -> Resolution<'_> {
    Resolution::Ambiguous { candidates, usable, level: None, not_a_level: None }
}

/// Splits `text` behind the name of one of the models' providers, the longest that fits; names may have slashes.
fn split_provider<'a, 't>(text: &'t str, among: &[&'a Endpoint]) -> Option<(&'a str, &'t str)> {
    let slashes = text.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    slashes.into_iter().rev().find_map(|at| {
        let (front, rest) = (text[..at].trim().to_lowercase(), text[at + 1..].trim());
        let known = among.iter().map(|it| it.model.provider.as_str());
        let provider = known.into_iter().find(|name| name.trim().to_lowercase() == front)?;
        (!rest.is_empty()).then_some((provider, rest))
    })
}
