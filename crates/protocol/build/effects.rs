//! The state of a session: its members, and what commands and events make of them.

use crate::{
    bundle::{Bundle, Shape, description, ref_name, strings},
    checks::bases,
    names::{camel, docs, exact},
    structs::field_ident,
};
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;
use std::collections::BTreeSet;

/// Emits `SessionMember`, `MemberValue`, `SessionFacts`, `Effect`, `EffectCode`, and the functions that read effects out of frames.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let members: Vec<Member> = Member::all(bundle)?;
    let parts = [
        member_types(&members),
        facts(bundle, &members),
        codes(bundle),
        effects(bundle, &members)?,
        tells(bundle, &members)?,
        changes(bundle, &members)?,
    ];
    Ok(parts.into_iter().collect())
}

/// A member of the session's state.
struct Member<'a> {
    name: &'a str,
    about: &'a Value,
    /// The type of its value; `None`: the value is kept by code of its own.
    ty: Option<TokenStream>,
    /// It may have no value.
    absent: bool,
}

impl<'a> Member<'a> {
    fn all(bundle: &'a Bundle) -> Result<Vec<Self>, String> {
        let members = bundle.session["members"].as_object().ok_or("session.json: no members")?;
        members
            .iter()
            .map(|(name, about)| {
                let ty = about.get("type").map(|schema| rust_type(schema, name)).transpose()?;
                Ok(Self { name, about, ty, absent: about["absent"] == true })
            })
            .collect()
    }

    fn value_type(&self) -> Option<TokenStream> {
        let ty = self.ty.as_ref()?;
        Some(if self.absent { quote!(Option<#ty>) } else { ty.clone() })
    }

    /// The arm of `first_value`, where there is one.
    fn first_value(&self) -> Option<TokenStream> {
        let is_list = self.about["type"]["type"] == "array";
        let first = match (is_list, self.absent) {
            (true, false) => quote!(Vec::new()),
            (_, true) => quote!(None),
            (false, false) => return None,
        };
        let name = camel(self.name);
        Some(quote! { Self::#name => Some(MemberValue::#name(#first)), })
    }
}

fn rust_type(schema: &Value, member: &str) -> Result<TokenStream, String> {
    if let Some(name) = ref_name(schema) {
        let ident = exact(name);
        return Ok(quote!(#ident));
    }
    match schema["type"].as_str() {
        Some("string") => Ok(quote!(String)),
        Some("boolean") => Ok(quote!(bool)),
        Some("array") => {
            let item = rust_type(&schema["items"], member)?;
            Ok(quote!(Vec<#item>))
        }
        _ => Err(format!("session.json: {member}: a type that is no $ref, string, boolean or array")),
    }
}

fn member_types(members: &[Member]) -> TokenStream {
    let names: Vec<&str> = members.iter().map(|member| member.name).collect();
    let variants: Vec<_> = names.iter().map(|name| camel(name)).collect();
    let variant_docs = members.iter().map(|member| docs(description(member.about)));
    let count = names.len();
    let silent: Vec<_> =
        members.iter().filter(|m| m.about["silent"] == true).map(|m| camel(m.name)).collect();
    let fresh: Vec<_> = members.iter().filter(|m| m.about["fresh"] == true).map(|m| camel(m.name)).collect();
    let typed: Vec<&Member> = members.iter().filter(|member| member.ty.is_some()).collect();
    let values: Vec<_> = typed.iter().map(|member| camel(member.name)).collect();
    let types: Vec<_> = typed.iter().filter_map(|member| member.value_type()).collect();
    let value_docs = typed.iter().map(|member| docs(description(member.about)));
    let firsts = typed.iter().filter_map(|member| member.first_value());
    quote! {
        /// A member of the session's state, as `session.json` lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SessionMember { #(#variant_docs #variants),* }
        impl SessionMember {
            /// Every one.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// As the schema spells it.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
            /// Whether an extension may change it without a frame that says so.
            pub const fn is_silent(self) -> bool { matches!(self, #(Self::#silent)|*) }
            /// Whether a new process begins with its first value.
            pub const fn is_fresh(self) -> bool { matches!(self, #(Self::#fresh)|*) }
            /// What it begins with: no value, or an empty list; `None`: the server chooses, or it is kept by code of its own.
            pub const fn first_value(self) -> Option<MemberValue> { match self { #(#firsts)* _ => None } }
        }
        impl ::std::fmt::Display for SessionMember {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }

        /// The value of a member. Serializes as the value alone.
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        #[serde(untagged)]
        pub enum MemberValue { #(#value_docs #values(#types)),* }
        impl MemberValue {
            /// The member whose value it is.
            pub const fn member(&self) -> SessionMember { match self { #(Self::#values(_) => SessionMember::#values),* } }
        }
    }
}

/// The struct of the members that `get_state` tells: its server knows each.
fn facts(bundle: &Bundle, members: &[Member]) -> TokenStream {
    let told = &bundle.defs["GetStateResponse"]["x-tells"];
    let typed: Vec<&Member> =
        members.iter().filter(|member| member.ty.is_some() && told.get(member.name).is_some()).collect();
    let variants: Vec<_> = typed.iter().map(|member| camel(member.name)).collect();
    let fields: Vec<_> = typed.iter().map(|member| field_ident(member.name)).collect();
    let types = typed.iter().filter_map(|member| member.value_type());
    let field_docs = typed.iter().map(|member| docs(description(member.about)));
    let count = typed.len();
    quote! {
        /// The members of the session's state that `get_state` tells, as its server knows them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct SessionFacts { #(#field_docs pub #fields: #types),* }
        impl SessionFacts {
            /// The values, each with its member.
            pub fn into_values(self) -> [MemberValue; #count] { [#(MemberValue::#variants(self.#fields)),*] }
        }
    }
}

fn codes(bundle: &Bundle) -> TokenStream {
    let map = bundle.session["codes"].as_object().cloned().unwrap_or_default();
    let names: Vec<&String> = map.keys().collect();
    let variants: Vec<_> = names.iter().map(|name| camel(name)).collect();
    let variant_docs = map.values().map(|text| docs(text.as_str().unwrap_or_default()));
    quote! {
        /// An effect that the vocabulary cannot say.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EffectCode { #(#variant_docs #variants),* }
        impl EffectCode {
            /// As the schema spells it.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
        }

        /// What a frame does to the session's state.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Effect {
            /// The member has this value from now on.
            Set(MemberValue),
            /// The member has its first value again: none, or an empty list.
            Reset(SessionMember),
            /// The member has another value, which the frame does not tell.
            Forget(SessionMember),
            /// The member, a list, has one more item.
            Append(SessionMember),
            /// The frame adds to the member, a sum.
            Add(SessionMember),
            /// The member has the value that follows its own in the second member, a list: this one, as the frame tells.
            Next(MemberValue, SessionMember),
            /// The member has the value of the second member, a list, that is nearest to this one: the next higher, else the
            /// next lower. `None`: to the value that it has.
            Clamp(SessionMember, Option<MemberValue>, SessionMember),
            /// The member has this value, changed by a code.
            Changed(MemberValue, EffectCode),
            /// A code of that name says what becomes of these members.
            Code(EffectCode, &'static [SessionMember]),
        }
    }
}

/// The functions that read the effects out of a command with its success, and out of an event.
fn effects(bundle: &Bundle, members: &[Member]) -> Result<TokenStream, String> {
    let mut commands = TokenStream::new();
    for (value, name) in branches(bundle, "RpcCommand")? {
        let def = &bundle.defs[name];
        let Some(rows) = def.get("x-effects").and_then(Value::as_array) else { continue };
        let response = def["x-response"].as_str().ok_or(format!("{name}: no x-response"))?;
        let roots = Roots { bundle, command: Some(name), response: Some(response), event: None };
        let rows = rows.iter().map(|row| effect(row, &roots, members)).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|error| format!("{name}: x-effects: {error}"))?;
        let variant = camel(&value);
        commands.extend(quote! {
            (RpcCommand::#variant(command), RpcSuccess::#variant(response)) => { let _ = (command, response); #(#rows)* }
        });
    }
    let mut events = TokenStream::new();
    for (value, name) in branches(bundle, "AgentSessionEvent")? {
        let Some(rows) = bundle.defs[name].get("x-effects").and_then(Value::as_array) else { continue };
        let roots = Roots { bundle, command: None, response: None, event: Some(name) };
        let rows = rows.iter().map(|row| effect(row, &roots, members)).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|error| format!("{name}: x-effects: {error}"))?;
        let variant = camel(&value);
        events.extend(quote! { AgentSessionEvent::#variant(event) => { let _ = event; #(#rows)* } });
    }
    Ok(quote! {
        /// Reads what a command that succeeded has done, in order. Commands and successes of different kinds do nothing.
        #[allow(clippy::too_many_lines)]
        pub fn effects_of_success(command: &RpcCommand, success: &RpcSuccess, base: Base, to: &mut dyn FnMut(Effect)) {
            match (command, success) { #commands _ => {} }
        }
        /// Reads what an event does, in order.
        pub fn effects_of_event(event: &AgentSessionEvent, base: Base, to: &mut dyn FnMut(Effect)) {
            match event { #events _ => {} }
        }
    })
}

fn branches<'a>(bundle: &'a Bundle, union: &str) -> Result<Vec<(String, &'a str)>, String> {
    match bundle.shape(union) {
        Shape::Tagged { branches, .. } => Ok(branches),
        _ => Err(format!("{union} is not a tagged union")),
    }
}

/// The statement of one row of `x-effects`.
fn effect(row: &Value, roots: &Roots, members: &[Member]) -> Result<TokenStream, String> {
    let member = |key: &str| -> Result<Option<&Member>, String> {
        let Some(name) = row.get(key).and_then(Value::as_str) else { return Ok(None) };
        members.iter().find(|m| m.name == name).map(Some).ok_or(format!("`{key}`: no member `{name}`"))
    };
    let list = member("in")?.map(|list| camel(list.name));
    let to = row.get("to").and_then(Value::as_str);
    let statement = if let Some(member) = member("set")? {
        let value = value_of(member, to.ok_or("`set` without `to`")?, roots)?;
        match row.get("code").and_then(Value::as_str).map(camel) {
            Some(code) => {
                quote! { if let Some(value) = #value { to(Effect::Changed(value, EffectCode::#code)); } }
            }
            None => quote! { if let Some(value) = #value { to(Effect::Set(value)); } },
        }
    } else if let Some(member) = member("next")? {
        let (value, list) =
            (value_of(member, to.ok_or("`next` without `to`")?, roots)?, list.ok_or("`next` without `in`")?);
        quote! { if let Some(value) = #value { to(Effect::Next(value, SessionMember::#list)); } }
    } else if let Some(member) = member("clamp")? {
        let (name, list) = (camel(member.name), list.ok_or("`clamp` without `in`")?);
        let value = to.map_or(Ok(quote!(None)), |to| value_of(member, to, roots))?;
        quote! { to(Effect::Clamp(SessionMember::#name, #value, SessionMember::#list)); }
    } else if let Some(member) = member("reset")? {
        let name = camel(member.name);
        quote! { to(Effect::Reset(SessionMember::#name)); }
    } else if let Some(member) = member("forget")? {
        let name = camel(member.name);
        quote! { to(Effect::Forget(SessionMember::#name)); }
    } else if let Some(member) = member("append")? {
        let name = camel(member.name);
        quote! { to(Effect::Append(SessionMember::#name)); }
    } else if let Some(member) = member("add")? {
        let name = camel(member.name);
        quote! { to(Effect::Add(SessionMember::#name)); }
    } else if let Some(code) = row.get("code").and_then(Value::as_str).map(camel) {
        let of = strings(row, "of").unwrap_or_default().into_iter().map(camel);
        quote! { to(Effect::Code(EffectCode::#code, &[#(SessionMember::#of),*])); }
    } else {
        return Err(format!("{row} has no effect"));
    };
    let mut conditions = Vec::new();
    if let Some(only) = bases(row, "dialects") {
        conditions.push(quote!(base.is_in(#only)));
    }
    if let Some(when) = row.get("when") {
        let place = roots.read(when["field"].as_str().ok_or("`when` without `field`")?)?;
        let is = strings(when, "is").ok_or("`when` without `is`")?;
        conditions
            .push(quote!((#place).is_some_and(|value| [#(#is),*].contains(&value.to_string().as_str()))));
    }
    Ok(match conditions.is_empty() {
        true => statement,
        false => quote! { if #(#conditions)&&* { #statement } },
    })
}

/// An expression for the value that the frame tells of `member`: an `Option<MemberValue>`.
fn value_of(member: &Member, path: &str, roots: &Roots) -> Result<TokenStream, String> {
    let (variant, ty) = (camel(member.name), member.value_type());
    let ty = ty.ok_or(format!("`{}` is kept by code of its own", member.name))?;
    let place = roots.read(path)?;
    Ok(quote! {
        #place.and_then(|value| IntoMember::<#ty>::into_member(value.clone())).map(MemberValue::#variant)
    })
}

/// The frames that a path may begin with.
struct Roots<'a> {
    bundle: &'a Bundle,
    command: Option<&'a str>,
    response: Option<&'a str>,
    event: Option<&'a str>,
}

impl Roots<'_> {
    /// An expression for what stands at `path`: an `Option` of a reference, `None` where a step on the way is absent.
    fn read(&self, path: &str) -> Result<TokenStream, String> {
        let mut steps = path.split('.');
        let root = steps.next().unwrap_or_default();
        let (mut at, mut def) = match (root, self.command, self.response, self.event) {
            ("command", Some(name), ..) => (quote!(Some(command)), name),
            ("event", _, _, Some(name)) => (quote!(Some(event)), name),
            ("data", _, Some(name), _) => (quote!(Some(response)), name),
            _ => return Err(format!("`{path}` begins with none of the frames at hand")),
        };
        let steps: Vec<&str> =
            if root == "data" { ["data"].into_iter().chain(steps).collect() } else { steps.collect() };
        for (place, step) in steps.iter().enumerate() {
            let property = self.bundle.defs[def]["properties"].get(*step);
            let property = property.ok_or(format!("`{path}`: {def} has no `{step}`"))?;
            let field = field_ident(step);
            let is_last = place + 1 == steps.len();
            let required = strings(&self.bundle.defs[def], "required").unwrap_or_default().contains(step);
            let branch = property["oneOf"].as_array().into_iter().flatten().find_map(ref_name);
            let is_optional = !required || property.get("x-dialects").is_some() || branch.is_some();
            at = match is_optional && !is_last {
                true => quote!(#at.and_then(|it| it.#field.as_ref())),
                false => quote!(#at.map(|it| &it.#field)),
            };
            if !is_last {
                def = branch.or(ref_name(property)).ok_or(format!("`{path}`: `{step}` is no object"))?;
            }
        }
        Ok(at)
    }
}

/// The function that reads which members a success tells.
fn tells(bundle: &Bundle, members: &[Member]) -> Result<TokenStream, String> {
    let (mut arms, mut names) = (TokenStream::new(), TokenStream::new());
    for (value, command) in branches(bundle, "RpcCommand")? {
        let response = bundle.defs[command]["x-response"].as_str().unwrap_or_default();
        let Some(told) = bundle.defs[response].get("x-tells").and_then(Value::as_object) else { continue };
        let roots = Roots { bundle, command: None, response: Some(response), event: None };
        let mut rows = Vec::new();
        let (variant, all) = (camel(&value), told.keys().map(|name| camel(name)));
        names.extend(quote! { Self::#variant => &[#(SessionMember::#all),*], });
        for (name, path) in told {
            let member = members.iter().find(|member| member.name == name);
            let member = member.ok_or(format!("{response}: x-tells: no member `{name}`"))?;
            if member.ty.is_none() {
                continue;
            }
            let path = path.as_str().ok_or(format!("{response}: x-tells: `{name}` is no path"))?;
            let value =
                value_of(member, path, &roots).map_err(|error| format!("{response}: x-tells: {error}"))?;
            let pointer = format!("/{}", path.replace('.', "/"));
            let of = bases(member.about, "dialects").map(|only| quote!(base.is_in(#only) &&));
            rows.push(quote! {
                if #of true && let Some(value) = #value { to(#pointer, value); }
            });
        }
        if !rows.is_empty() {
            arms.extend(quote! { RpcSuccess::#variant(response) => { #(#rows)* } });
        }
    }
    Ok(quote! {
        /// Reads which members a success tells, each with the JSON pointer to its value.
        pub fn members_of_success(success: &RpcSuccess, base: Base, to: &mut dyn FnMut(&'static str, MemberValue)) {
            match success { #arms _ => {} }
        }
        impl RpcCommandKind {
            /// The members of the session's state that its success tells.
            pub const fn reported_members(self) -> &'static [SessionMember] { match self { #names _ => &[] } }
        }
    })
}

/// The members that a command may change, whatever comes of it.
fn changes(bundle: &Bundle, members: &[Member]) -> Result<TokenStream, String> {
    let mut arms = TokenStream::new();
    for (value, name) in branches(bundle, "RpcCommand")? {
        let Some(rows) = bundle.defs[name].get("x-effects").and_then(Value::as_array) else { continue };
        let mut changed = BTreeSet::new();
        for row in rows {
            let named = ["set", "next", "clamp", "reset", "forget", "append", "add"];
            changed.extend(named.iter().filter_map(|key| row.get(*key)?.as_str()));
            if row.get("set").is_none() && row.get("add").is_none() {
                changed.extend(strings(row, "of").unwrap_or_default());
            }
        }
        let known =
            members.iter().filter(|member| changed.contains(member.name)).map(|member| camel(member.name));
        let variant = camel(&value);
        arms.extend(quote! { Self::#variant => &[#(SessionMember::#known),*], });
    }
    Ok(quote! {
        impl RpcCommandKind {
            /// The members of the session's state that its success may change.
            pub const fn changes(self) -> &'static [SessionMember] { match self { #arms _ => &[] } }
        }
    })
}
