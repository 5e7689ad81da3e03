//! The section on the session's state: members, and the effects of frames on them.

use super::{
    inline::{dialect_marks, grouped_by_value, only, prose, term, text, type_of},
    schema_index::SchemaIndex,
};
use crate::{EffectAbout, EffectCondition, MemberAbout};
use maud::{Markup, html};
use pi_rpc_protocol::Dialect;

/// The table of members, with the commands that read them and the frames that change them.
pub(super) fn session(index: &SchemaIndex) -> Markup {
    let about = index.part("session");
    html! {
        section aria-labelledby="session" {
            h2 id="session" { "The state of a session" }
            p {
                "The state that a host can derive from frames alone. Commands take effect with their success response. A member whose "
                "new value does not follow from a frame is unknown until a response has it."
            }
            div.wide { table {
                thead { tr { @for head in ["Member", "Meaning", "Read by", "Changed by"] { th scope="col" { (head) } } } }
                tbody {
                    @for (name, about) in about["members"].as_object().into_iter().flatten() {
                        tr id={ "member-" (name) } {
                            th scope="row" { a.anchor href={ "#member-" (name) } { code { (name) } } (only(index, &bases_with_member(index, name))) }
                            td { (member(index, name, text(&about["description"]))) }
                            td { (names(index, &reading_commands(index, name))) }
                            td { (names(index, &changing_frames(index, name))) }
                        }
                    }
                }
            } }
            p { "Effects that need code have names:" }
            dl.texts {
                @for (name, means) in about["codes"].as_object().into_iter().flatten() {
                    dt id={ "code-" (name) } { a.anchor href={ "#code-" (name) } { code { (name) } } }
                    dd { p { (prose(index, text(means))) } }
                }
            }
        }
    }
}

/// The effects of a command's success or of an event; `None` without any.
pub(super) fn frame_effects(index: &SchemaIndex, def: &str) -> Option<Markup> {
    let groups =
        grouped_by_value(index.bases.iter().filter_map(|base| Some((*base, effects(index, *base, def)?))));
    let some = groups.iter().any(|(_, effects)| !effects.is_empty());
    some.then(|| {
        html! {
            @for (bases, effects) in groups.iter().filter(|(_, effects)| !effects.is_empty()) {
                div {
                    @if groups.len() > 1 { (dialect_marks(bases)) " " }
                    ul { @for effect in *effects { li { (effect_sentence(effect)) } } }
                }
            }
        }
    })
}

/// The members in a command's success response.
pub(super) fn members_in_response(index: &SchemaIndex, def: &str) -> Option<Markup> {
    let members_in = |base: Dialect| {
        let mut commands = index.meta(base)?.commands.iter();
        let tells = &commands.find(|command| command.request == def)?.tells;
        Some((base, tells.iter().collect::<Vec<_>>()))
    };
    let groups = grouped_by_value(index.bases.iter().filter_map(|base| members_in(*base)));
    groups.iter().any(|(_, members)| !members.is_empty()).then(|| {
        html! {
            @for (bases, members) in groups.iter().filter(|(_, members)| !members.is_empty()) {
                div {
                    @if groups.len() > 1 { (dialect_marks(bases)) " " }
                    @for (at, (name, path)) in members.iter().enumerate() {
                        @if at > 0 { ", " }
                        (link(name)) " by " code { (path) }
                    }
                }
            }
        }
    })
}

/// The effects of a frame in a dialect; `None` if the dialect does not have it.
fn effects<'a>(index: &'a SchemaIndex, base: Dialect, def: &str) -> Option<&'a Vec<EffectAbout>> {
    let meta = index.meta(base)?;
    let command = meta.commands.iter().find(|command| command.request == def);
    let event = || meta.events.iter().find(|event| event.def == def);
    command.map(|command| &command.effects).or_else(|| event().map(|event| &event.effects))
}

/// An effect as a sentence.
fn effect_sentence(effect: &EffectAbout) -> Markup {
    let members =
        html! { @for (at, name) in effect.members.iter().enumerate() { @if at > 0 { ", " } (link(name)) } };
    let value = html! { @if let Some(path) = &effect.value { code { (path) } } };
    let list = html! { @if let Some(list) = &effect.r#in { (link(list)) } };
    let code = html! { @if let Some(code) = &effect.code { a href={ "#code-" (code) } { code { (code) } } } };
    html! {
        @match effect.effect.as_str() {
            "set" => { (members) " becomes " (value) @if effect.code.is_some() { ", as " (code) " has it" } },
            "next" => { (members) " becomes " (value) ", the next in " (list) },
            "clamp" => {
                (members) " becomes what in " (list) " is nearest to "
                @if effect.value.is_some() { (value) } @else { "it" }
            },
            "append" => { (value) " is appended to " (members) },
            "add" => { (value) " is added to " (members) },
            "reset" => { (members) " is empty" },
            "forget" => { (members) " gets a value that the frame does not have" },
            _ => { (code) " computes " (members) },
        }
        @if let Some(EffectCondition { field, is }) = &effect.when {
            ", if " code { (field) } " is "
            @for (at, value) in is.iter().enumerate() { @if at > 0 { " or " } code { (value) } }
        }
    }
}

fn link(member: &str) -> Markup {
    html! { a href={ "#member-" (member) } { code { (member) } } }
}

/// The description and type of a member.
fn member(index: &SchemaIndex, name: &str, description: &str) -> Markup {
    let about = index.bases.iter().find_map(|base| member_of(index, *base, name));
    html! {
        (prose(index, description))
        @if let Some(about) = about {
            p.soft {
                (type_of(index, &about.schema)) @if about.absent { ", or none" }
                @if about.silent { "; an extension may change it without a frame" }
                @if about.fresh { "; empty in a new process" }
            }
        }
    }
}

fn member_of<'a>(index: &'a SchemaIndex, base: Dialect, name: &str) -> Option<&'a MemberAbout> {
    index.meta(base)?.session.members.iter().find(|member| member.name == name)
}

/// The bases that have a member.
fn bases_with_member(index: &SchemaIndex, name: &str) -> Vec<Dialect> {
    index.bases.iter().copied().filter(|base| member_of(index, *base, name).is_some()).collect()
}

/// The commands whose success response has a member.
fn reading_commands(index: &SchemaIndex, name: &str) -> Vec<String> {
    let commands = index.bases.iter().filter_map(|base| index.meta(*base)).flat_map(|meta| &meta.commands);
    deduplicated(
        commands.filter(|command| command.tells.contains_key(name)).map(|command| command.r#type.clone()),
    )
}

/// The commands and events that change a member.
fn changing_frames(index: &SchemaIndex, name: &str) -> Vec<String> {
    let changes =
        |effects: &[EffectAbout]| effects.iter().any(|effect| effect.members.iter().any(|it| it == name));
    let metas = || index.bases.iter().filter_map(|base| index.meta(*base));
    let commands = metas().flat_map(|meta| &meta.commands).filter(|it| changes(&it.effects));
    let events = metas().flat_map(|meta| &meta.events).filter(|it| changes(&it.effects));
    deduplicated(commands.map(|it| it.r#type.clone()).chain(events.map(|it| it.r#type.clone())))
}

fn deduplicated(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut list = Vec::new();
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list
}

fn names(index: &SchemaIndex, names: &[String]) -> Markup {
    html! { @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } (command_or_event(index, name)) } }
}

/// A link to the command of this name, else to another definition.
fn command_or_event(index: &SchemaIndex, name: &str) -> Markup {
    match index.command(name) {
        Some(place) => html! { a href={ "#" (place) } { code { (name) } } },
        None => term(index, name),
    }
}
