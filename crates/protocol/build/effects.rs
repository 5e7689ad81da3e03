//! Emits the members of the session state, and the effects of commands and events on them.

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

/// Emits `SessionMember`, `MemberValue`, `SessionFacts`, `Effect`, `EffectCode`, and the functions that read effects
/// from frames.
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

/// Member of the session state.
struct Member<'a> {
    name: &'a str,
    about: &'a Value,
    /// Type of the value; `None`: the member is implemented by hand.
    ty: Option<TokenStream>,
    /// Whether the member may have no value.
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

    /// Arm of `first_value`, if the member has one.
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
        /// Member of the session state, from `session.json`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SessionMember { #(#variant_docs #variants),* }
        impl SessionMember {
            /// All members.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// Name in the schema.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
            /// Whether an extension may change the member without a frame that reports the change.
            pub const fn is_silent(self) -> bool { matches!(self, #(Self::#silent)|*) }
            /// Whether a new process starts with the first value of the member.
            pub const fn is_fresh(self) -> bool { matches!(self, #(Self::#fresh)|*) }
            /// First value: no value, or an empty list; `None`: the server chooses it, or the member is implemented by
            /// hand.
            pub const fn first_value(self) -> Option<MemberValue> { match self { #(#firsts)* _ => None } }
        }
        impl ::std::fmt::Display for SessionMember {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }

        /// Value of a member. Serializes as the value alone.
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
        #[serde(untagged)]
        pub enum MemberValue { #(#value_docs #values(#types)),* }
        impl MemberValue {
            /// Member that has the value.
            pub const fn member(&self) -> SessionMember { match self { #(Self::#values(_) => SessionMember::#values),* } }
        }
    }
}

/// Emits the struct of the members that `get_state` returns.
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
        /// Values of the members of the session state that `get_state` returns, from the server's own knowledge.
        #[derive(Clone, Debug, PartialEq)]
        pub struct SessionFacts { #(#field_docs pub #fields: #types),* }
        impl SessionFacts {
            /// The values, each tagged with its member.
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
        /// Effect that is implemented by hand, as the vocabulary of the schema does not cover it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EffectCode { #(#variant_docs #variants),* }
        impl EffectCode {
            /// Name in the schema.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
        }

        /// Effect of a frame on the session state.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Effect {
            /// Sets the member to the value.
            Set(MemberValue),
            /// Resets the member to its first value: none, or an empty list.
            Reset(SessionMember),
            /// Makes the value of the member unknown.
            Forget(SessionMember),
            /// Appends an item to the member, a list.
            Append(SessionMember),
            /// Adds to the member, a sum.
            Add(SessionMember),
            /// Sets the member to the value that follows the current one in the second member, a list; the frame
            /// reports which.
            Next(MemberValue, SessionMember),
            /// Sets the member to the value in the second member, a list, that is nearest to the given one: equal, else
            /// the next higher, else the next lower. `None`: nearest to the current one.
            Clamp(SessionMember, Option<MemberValue>, SessionMember),
            /// Sets the member to the value after a change that is implemented by hand.
            Changed(MemberValue, EffectCode),
            /// Changes the members by an effect that is implemented by hand.
            Code(EffectCode, &'static [SessionMember]),
        }
    }
}

/// Emits the functions that read effects from a command with its success, and from an event.
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
        /// Passes the effects of a successful command to `to`, in order; none if the command and the success are of
        /// different kinds.
        #[allow(clippy::too_many_lines)]
        pub fn effects_of_success(command: &RpcCommand, success: &RpcSuccess, base: Base, to: &mut dyn FnMut(Effect)) {
            match (command, success) { #commands _ => {} }
        }
        /// Passes the effects of an event to `to`, in order.
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

/// Statement for one row of `x-effects`.
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

/// Expression of type `Option<MemberValue>` for the value of `member` in the frame.
fn value_of(member: &Member, path: &str, roots: &Roots) -> Result<TokenStream, String> {
    let (variant, ty) = (camel(member.name), member.value_type());
    let ty = ty.ok_or(format!("`{}` is kept by code of its own", member.name))?;
    let place = roots.read(path)?;
    Ok(quote! {
        #place.and_then(|value| IntoMember::<#ty>::into_member(value.clone())).map(MemberValue::#variant)
    })
}

/// Frames that a path may begin with.
struct Roots<'a> {
    bundle: &'a Bundle,
    command: Option<&'a str>,
    response: Option<&'a str>,
    event: Option<&'a str>,
}

impl Roots<'_> {
    /// Expression of type `Option<&T>` for the value at `path`; `None` if a step on the way is absent.
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

/// Emits the function that reads members from a success.
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
        /// Passes the members that a success reports to `to`, each with the JSON pointer of its value.
        pub fn members_of_success(success: &RpcSuccess, base: Base, to: &mut dyn FnMut(&'static str, MemberValue)) {
            match success { #arms _ => {} }
        }
        impl RpcCommandKind {
            /// Members of the session state that the success of the command reports.
            pub const fn reported_members(self) -> &'static [SessionMember] { match self { #names _ => &[] } }
        }
    })
}

/// Emits the members that a command may change.
fn changes(bundle: &Bundle, members: &[Member]) -> Result<TokenStream, String> {
    let mut vetoes = Vec::new();
    let (mut arms, mut dropped) = (TokenStream::new(), TokenStream::new());
    for (value, name) in branches(bundle, "RpcCommand")? {
        let Some(rows) = bundle.defs[name].get("x-effects").and_then(Value::as_array) else { continue };
        if rows.iter().any(|row| row["when"]["field"] == "data.cancelled") {
            vetoes.push(camel(&value));
        }
        let drops = rows.iter().flat_map(|row| [row.get("reset"), row.get("forget")]).flatten();
        let drops: BTreeSet<&str> = drops.filter_map(Value::as_str).collect();
        let mut changed = BTreeSet::new();
        for row in rows {
            let named = ["set", "next", "clamp", "reset", "forget", "append", "add"];
            changed.extend(named.iter().filter_map(|key| row.get(*key)?.as_str()));
            if row.get("set").is_none() && row.get("add").is_none() {
                changed.extend(strings(row, "of").unwrap_or_default());
            }
        }
        let variant = camel(&value);
        let listed = |names: &BTreeSet<&str>| -> Vec<_> {
            members.iter().filter(|it| names.contains(it.name)).map(|it| camel(it.name)).collect()
        };
        let (changed, drops) = (listed(&changed), listed(&drops));
        arms.extend(quote! { Self::#variant => &[#(SessionMember::#changed),*], });
        dropped.extend(quote! { Self::#variant => &[#(SessionMember::#drops),*], });
    }
    Ok(quote! {
        impl RpcCommandKind {
            /// Members of the session state that the success of the command may change.
            pub const fn changes(self) -> &'static [SessionMember] { match self { #arms _ => &[] } }
            /// Members whose value is lost with the success of the command: they are reset or unknown then.
            pub const fn drops(self) -> &'static [SessionMember] { match self { #dropped _ => &[] } }
            /// Whether the success of the command replaces the session by another.
            pub fn replaces_session(self) -> bool { self.drops().contains(&SessionMember::SessionId) }
        }
        impl RpcSuccess {
            /// Whether an extension vetoed the command, so that nothing has changed.
            pub const fn is_vetoed(&self) -> bool {
                match self { #(Self::#vetoes(response) => response.data.cancelled,)* _ => false }
            }
        }
    })
}
