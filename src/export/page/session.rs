//! The state of a session: its members, and what each frame makes of them.

use super::{
    book::Book,
    words::{alike, marks, only, prose, term, text, type_of},
};
use crate::{
    export::{EffectAbout, EffectCondition, MemberAbout},
    protocol::Dialect,
};
use maud::{Markup, html};

/// Every member, with who tells it and who changes it.
pub(super) fn session(book: &Book) -> Markup {
    let about = book.part("session");
    html! {
        section aria-labelledby="session" {
            h2 id="session" { "The state of a session" }
            p {
                "What a host knows of the session from frames alone. A command changes it when its success comes; what stands here is "
                "what the frames say for certain, and a member that a frame leaves open is not known until a response tells it."
            }
            div.wide { table {
                thead { tr { @for head in ["Member", "What it is", "Told by", "Changed by"] { th scope="col" { (head) } } } }
                tbody {
                    @for (name, about) in about["members"].as_object().into_iter().flatten() {
                        tr id={ "member-" (name) } {
                            th scope="row" { a.anchor href={ "#member-" (name) } { code { (name) } } (only(book, &having(book, name))) }
                            td { (member(book, name, text(&about["description"]))) }
                            td { (names(book, &tellers(book, name))) }
                            td { (names(book, &changers(book, name))) }
                        }
                    }
                }
            } }
            p { "What no such word says is code with a name:" }
            dl.texts {
                @for (name, means) in about["codes"].as_object().into_iter().flatten() {
                    dt id={ "code-" (name) } { a.anchor href={ "#code-" (name) } { code { (name) } } }
                    dd { p { (prose(book, text(means))) } }
                }
            }
        }
    }
}

/// What the success of a command changes, or an event; nothing for what changes nothing.
pub(super) fn changes(book: &Book, def: &str) -> Option<Markup> {
    let groups = alike(book.bases.iter().filter_map(|base| Some((*base, effects(book, *base, def)?))));
    let some = groups.iter().any(|(_, effects)| !effects.is_empty());
    some.then(|| {
        html! {
            @for (bases, effects) in groups.iter().filter(|(_, effects)| !effects.is_empty()) {
                div {
                    @if groups.len() > 1 { (marks(bases)) " " }
                    ul { @for effect in *effects { li { (words(effect)) } } }
                }
            }
        }
    })
}

/// The members that the success of a command tells.
pub(super) fn tells(book: &Book, def: &str) -> Option<Markup> {
    let told = |base: Dialect| {
        let mut commands = book.meta(base)?.commands.iter();
        let tells = &commands.find(|command| command.request == def)?.tells;
        Some((base, tells.iter().collect::<Vec<_>>()))
    };
    let groups = alike(book.bases.iter().filter_map(|base| told(*base)));
    groups.iter().any(|(_, told)| !told.is_empty()).then(|| {
        html! {
            @for (bases, told) in groups.iter().filter(|(_, told)| !told.is_empty()) {
                div {
                    @if groups.len() > 1 { (marks(bases)) " " }
                    @for (at, (name, path)) in told.iter().enumerate() {
                        @if at > 0 { ", " }
                        (link(name)) " by " code { (path) }
                    }
                }
            }
        }
    })
}

/// The effects of a frame in a dialect; `None`: the dialect does not have it.
fn effects<'a>(book: &'a Book, base: Dialect, def: &str) -> Option<&'a Vec<EffectAbout>> {
    let meta = book.meta(base)?;
    let command = meta.commands.iter().find(|command| command.request == def);
    let event = || meta.events.iter().find(|event| event.def == def);
    command.map(|command| &command.effects).or_else(|| event().map(|event| &event.effects))
}

/// An effect as a sentence.
fn words(effect: &EffectAbout) -> Markup {
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
            "forget" => { (members) " is another, which is not told" },
            _ => { (code) " says what becomes of " (members) },
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

/// What a member is, and of which type.
fn member(book: &Book, name: &str, description: &str) -> Markup {
    let about = book.bases.iter().find_map(|base| member_of(book, *base, name));
    html! {
        (prose(book, description))
        @if let Some(about) = about {
            p.soft {
                (type_of(book, &about.schema)) @if about.absent { ", or none" }
                @if about.silent { "; an extension may change it without a frame that says so" }
                @if about.fresh { "; empty in a new process" }
            }
        }
    }
}

fn member_of<'a>(book: &'a Book, base: Dialect, name: &str) -> Option<&'a MemberAbout> {
    book.meta(base)?.session.members.iter().find(|member| member.name == name)
}

/// The bases that have a member.
fn having(book: &Book, name: &str) -> Vec<Dialect> {
    book.bases.iter().copied().filter(|base| member_of(book, *base, name).is_some()).collect()
}

/// The commands whose success tells a member.
fn tellers(book: &Book, name: &str) -> Vec<String> {
    let commands = book.bases.iter().filter_map(|base| book.meta(*base)).flat_map(|meta| &meta.commands);
    once(commands.filter(|command| command.tells.contains_key(name)).map(|command| command.r#type.clone()))
}

/// The commands and events that change a member.
fn changers(book: &Book, name: &str) -> Vec<String> {
    let changes =
        |effects: &[EffectAbout]| effects.iter().any(|effect| effect.members.iter().any(|it| it == name));
    let metas = || book.bases.iter().filter_map(|base| book.meta(*base));
    let commands = metas().flat_map(|meta| &meta.commands).filter(|it| changes(&it.effects));
    let events = metas().flat_map(|meta| &meta.events).filter(|it| changes(&it.effects));
    once(commands.map(|it| it.r#type.clone()).chain(events.map(|it| it.r#type.clone())))
}

fn once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut list = Vec::new();
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
    list
}

fn names(book: &Book, names: &[String]) -> Markup {
    html! { @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } (command_or_event(book, name)) } }
}

/// A link to the command of that name, else to whatever has the name.
fn command_or_event(book: &Book, name: &str) -> Markup {
    match book.command(name) {
        Some(place) => html! { a href={ "#" (place) } { code { (name) } } },
        None => term(book, name),
    }
}
