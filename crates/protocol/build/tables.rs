//! Emits the tables: the states, the dispositions of commands, and the states in which events may occur.

use crate::{
    bundle::{Bundle, Shape, description, ref_name, strings},
    checks::bases,
    names::{camel, docs, exact},
    structs::field_ident,
};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::{Map, Value};

/// Emits all tables.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let parts = [
        states(bundle)?,
        dispositions(bundle),
        commands(bundle)?,
        dialogs(bundle)?,
        extension_frames(bundle)?,
        entries(bundle)?,
        events(bundle)?,
        fires(bundle)?,
        frame_types(bundle),
    ];
    Ok(parts.into_iter().collect())
}

fn flow_states(bundle: &Bundle) -> Vec<&Value> {
    let flow = bundle.states["regions"].as_array().into_iter().flatten().find(|r| r["name"] == "flow");
    flow.and_then(|f| f["states"].as_array()).into_iter().flatten().collect()
}

/// Leaf states of the state `name`.
fn leaves<'a>(bundle: &'a Bundle, name: &str) -> Vec<&'a str> {
    let all = flow_states(bundle);
    let is_parent = |state: &str| all.iter().any(|s| s["parent"] == state);
    let names = all.iter().filter_map(|s| s["name"].as_str()).filter(|s| !is_parent(s));
    let inside = format!("{name}.");
    names.filter(|s| name == "*" || *s == name || s.starts_with(&inside)).collect()
}

/// State whose dispositions apply in `name` for commands without an entry for it.
fn like<'a>(bundle: &'a Bundle, name: &str) -> Option<&'a str> {
    flow_states(bundle).into_iter().find(|state| state["name"] == name)?["like"].as_str()
}

fn states(bundle: &Bundle) -> Result<TokenStream, String> {
    let names = leaves(bundle, "*");
    let variants: Vec<_> = names.iter().map(|n| camel(n)).collect();
    let all = flow_states(bundle);
    let doc_of = |name: &&str| docs(all.iter().find(|s| s["name"] == **name).map_or("", |s| description(s)));
    let variant_docs = names.iter().map(doc_of);
    let count = names.len();
    let only = all.iter().filter_map(|state| {
        let (list, variant) = (bases(state, "dialects")?, camel(state["name"].as_str()?));
        Some(quote! { Self::#variant => base.is_in(#list), })
    });
    let is_compaction = |name: &&str| {
        name.ends_with("compacting") || like(bundle, name).is_some_and(|other| other == "compacting")
    };
    let compacting: Vec<_> = names.iter().copied().filter(is_compaction).map(camel).collect();
    let streaming: Vec<_> = leaves(bundle, "streaming").into_iter().map(camel).collect();
    let parents = names.iter().map(|n| n.split_once('.').map_or("", |(parent, _)| parent));
    Ok(quote! {
        /// State of the region `flow`, the activity of the agent.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FlowState { #(#variant_docs #variants),* }

        impl FlowState {
            /// All states.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// Name in reports, such as `streaming.tools`.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
            /// Whether `base` has the state.
            pub fn is_in(self, base: Base) -> bool { match self { #(#only)* _ => true } }
            /// Name of the superstate; empty at the top level.
            pub const fn parent(self) -> &'static str { match self { #(Self::#variants => #parents),* } }

            /// Whether a run is open.
            pub const fn is_streaming(self) -> bool { matches!(self, #(Self::#streaming)|*) }

            /// Whether a compaction is under way.
            pub const fn is_compacting(self) -> bool { matches!(self, #(Self::#compacting)|*) }
        }
        impl ::std::fmt::Display for FlowState {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
    })
}

fn dispositions(bundle: &Bundle) -> TokenStream {
    let empty = Map::new();
    let map = bundle.states["dispositions"].as_object().unwrap_or(&empty);
    let variants: Vec<_> = map.keys().map(|n| camel(n)).collect();
    let names: Vec<_> = map.keys().collect();
    let variant_docs = map.values().map(|d| docs(d.as_str().unwrap_or_default()));
    quote! {
        /// Treatment of a command in the state in which it arrives.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Disposition { #(#variant_docs #variants),* }

        impl Disposition {
            /// Name in reports.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
        }
    }
}

fn commands(bundle: &Bundle) -> Result<TokenStream, String> {
    let Shape::Tagged { branches, .. } = bundle.shape("RpcCommand") else {
        return Err("RpcCommand is not a tagged union".into());
    };
    let mut cases = TokenStream::new();
    let mut leads = TokenStream::new();
    let mut choices = TokenStream::new();
    let mut acknowledge = TokenStream::new();
    let mut cuts = Vec::new();
    let mut control = Vec::new();
    let mut unserved = Vec::new();
    let mut reads = Vec::new();
    let mut meanwhile = Vec::new();
    let mut logins = Vec::new();
    let mut ends_runs = Vec::new();
    let (mut prompts, mut messages) = (Vec::new(), Vec::new());
    let (mut times, mut ends) = (TokenStream::new(), TokenStream::new());
    let mut fails = TokenStream::new();
    let mut typed = TokenStream::new();
    let variants: Vec<_> = branches.iter().map(|(value, _)| camel(value)).collect();
    for (value, name) in &branches {
        let def = &bundle.defs[*name];
        let variant = camel(value);
        let table = def.get("x-in").and_then(Value::as_object).ok_or(format!("{name}: no x-in"))?;
        let mut groups: Vec<(&Value, Vec<_>)> = Vec::new();
        for state in leaves(bundle, "*") {
            let parent = state.split_once('.').map_or(state, |(parent, _)| parent);
            let entry =
                table.get(state).or_else(|| table.get(parent)).or_else(|| table.get(like(bundle, state)?));
            let entry = entry.ok_or(format!("{name}: x-in says nothing of {state}"))?;
            match groups.iter_mut().find(|(known, _)| *known == entry) {
                Some((_, states)) => states.push(camel(state)),
                None => groups.push((entry, vec![camel(state)])),
            }
        }
        let all = leaves(bundle, "*").len();
        if groups.iter().any(|(entry, _)| has_disposition(entry, &["run", "queue"])) {
            messages.push(variant.clone());
        }
        for (entry, states) in groups {
            let rows = case_rows(name, entry)?;
            let states = if states.len() == all { quote!(_) } else { quote!(#(FlowState::#states)|*) };
            cases.extend(quote! { (Self::#variant, #states) => &[#(#rows),*], });
        }
        if def["x-leads-to"].get("idle").is_some() {
            prompts.push(variant.clone());
        }
        for (state, to) in def.get("x-leads-to").and_then(Value::as_object).into_iter().flatten() {
            let to = camel(to.as_str().ok_or(format!("{name}: x-leads-to"))?);
            for state in leaves(bundle, state) {
                let state = camel(state);
                leads.extend(quote! { (Self::#variant, FlowState::#state) => Some(FlowState::#to), });
            }
        }
        for field in condition_fields(table) {
            let ident = field_ident(field);
            choices.extend(quote! {
                (Self::#variant(command), #field) => command.#ident.map(|value| value.as_str()),
            });
        }
        let response = def["x-response"].as_str().ok_or(format!("{name}: no x-response"))?;
        let data = bundle.defs.get(response).and_then(|r| r["properties"].get("data"));
        typed.extend(command(name, &variant, data)?);
        let some_have_data = data.is_some_and(|data| data.get("x-dialects").is_some());
        if data.is_none() || some_have_data {
            let (response, none) = (exact(response), some_have_data.then(|| quote!(data: None)));
            acknowledge.extend(quote! { Self::#variant => RpcSuccess::#variant(#response { id, #none }), });
        }
        if def["x-served"] == false {
            unserved.push(variant.clone());
        }
        if def["x-control"] == true {
            control.push(variant.clone());
        }
        if def["x-reads"] == true {
            reads.push(variant.clone());
        }
        if def["x-meanwhile"] == true {
            meanwhile.push(variant.clone());
        }
        if def["x-limit"] == "logins" {
            logins.push(variant.clone());
        }
        if let Some(time) = def["x-answered"].as_str().map(camel) {
            times.extend(quote! { Self::#variant => Some(ResponseTime::#time), });
        }
        if let Some(work) = def["x-ends"].as_str().map(camel) {
            ends.extend(quote! { Self::#variant => Some(EndedWork::#work), });
        }
        if strings(def, "x-causes").is_some_and(|causes| causes.contains(&"agent_end")) {
            ends_runs.push(variant.clone());
        }
        for (state, to) in def.get("x-fails-to").and_then(Value::as_object).into_iter().flatten() {
            let to = camel(to.as_str().ok_or(format!("{name}: x-fails-to"))?);
            for state in leaves(bundle, state) {
                let state = camel(state);
                fails.extend(quote! { (Self::#variant, FlowState::#state) => Some(FlowState::#to), });
            }
        }
        if def["x-cuts"] == true {
            cuts.push(variant.clone());
        }
    }
    Ok(quote! {
        impl RpcCommandKind {
            /// Cases of the command in `state`; the first that applies wins.
            pub const fn cases(self, state: FlowState) -> &'static [Case] { match (self, state) { #cases } }
            /// State that the success response leads to from `state`; `None`: the state stays.
            pub const fn leads_to(self, state: FlowState) -> Option<FlowState> {
                match (self, state) { #leads _ => None }
            }
            /// State that the error response leads to from `state`; `None`: the state stays.
            pub const fn fails_to(self, state: FlowState) -> Option<FlowState> {
                match (self, state) { #fails _ => None }
            }
            /// Whether the command overtakes earlier ones in dialects that serve commands one by one.
            pub const fn is_control(self) -> bool { matches!(self, #(Self::#control)|*) }
            /// Whether this server implements the command; it refuses the others by name.
            pub const fn is_served(self) -> bool { !matches!(self, #(Self::#unserved)|*) }
            /// Whether the command only reads; it is then answered at once in every dialect.
            pub const fn is_read(self) -> bool { matches!(self, #(Self::#reads)|*) }
            /// How long the response may take, where nothing holds the server up; `None`: it depends on what goes on.
            pub const fn response_time(self) -> Option<ResponseTime> {
                match self { #(Self::#reads)|* => Some(ResponseTime::Always), #times _ => None }
            }
            /// Work under way that the command ends; `None`: it is not given to end any.
            pub const fn ended_work(self) -> Option<EndedWork> { match self { #ends _ => None } }
            /// Whether the command neither shows nor changes the conversation, so that it is served while an entry is being
            /// written.
            pub const fn is_served_meanwhile(self) -> bool { matches!(self, #(Self::#meanwhile)|*) }
            /// Whether a host serves the command only to clients with the limit `logins`.
            pub const fn needs_logins(self) -> bool { matches!(self, #(Self::#logins)|*) }
            /// Whether the success response ends an open run without closing events, in the originals.
            pub const fn cuts(self) -> bool { matches!(self, #(Self::#cuts)|*) }
            /// Whether the success response of the command says that a run follows, if nothing is under way.
            pub const fn is_prompt(self) -> bool { matches!(self, #(Self::#prompts)|*) }
            /// Whether the command has a message of the user, for a run or for a queue.
            pub const fn has_message(self) -> bool { matches!(self, #(Self::#messages)|*) }
            /// Whether the command ends an open run before its end (`agent_end` in `x-causes`).
            pub const fn ends_run(self) -> bool { matches!(self, #(Self::#ends_runs)|*) }
            /// Success response of a command that has no data, or none in some dialects; `None` for one
            /// that always has data.
            pub fn acknowledge(self, id: Option<RequestId>) -> Option<RpcSuccess> {
                Some(match self { #acknowledge _ => return None })
            }
        }
        impl RpcCommand {
            /// Id of the command, as given.
            pub const fn id(&self) -> Option<&RequestId> {
                match self { #(Self::#variants(command) => command.id.as_ref()),* }
            }
            /// Sets the id, which the response repeats.
            pub fn set_id(&mut self, id: RequestId) {
                match self { #(Self::#variants(command) => command.id = Some(id)),* }
            }
            /// Value of a member that the disposition may depend on.
            pub fn choice(&self, field: &str) -> Option<&'static str> {
                match (self, field) { #choices _ => None }
            }
        }
        #typed
        impl RpcSuccess {
            /// Kind of the command that this responds to.
            pub const fn command(&self) -> RpcCommandKind {
                match self { #(Self::#variants(_) => RpcCommandKind::#variants),* }
            }
            /// Id of the command that this responds to.
            pub const fn id(&self) -> Option<&RequestId> {
                match self { #(Self::#variants(response) => response.id.as_ref()),* }
            }
        }
    })
}

/// Emits `Command` for a command, with the type of its `data`.
fn command(name: &str, variant: &Ident, data: Option<&Value>) -> Result<TokenStream, String> {
    let ident = exact(name);
    let (success, field) = match data {
        None => (quote!(()), quote!(drop(response))),
        Some(data) => {
            let either = data["oneOf"].as_array().into_iter().flatten().find_map(ref_name);
            let of = exact(either.or(ref_name(data)).ok_or(format!("{name}: data that is no $ref"))?);
            let is_optional = either.is_some() || data.get("x-dialects").is_some();
            let success = if is_optional { quote!(Option<#of>) } else { quote!(#of) };
            (success, quote!(response.data))
        }
    };
    Ok(quote! {
        impl Command for #ident {
            type Success = #success;
            fn success(response: RpcSuccess) -> Option<Self::Success> {
                match response { RpcSuccess::#variant(response) => Some(#field), _ => None }
            }
        }
    })
}

fn case_rows(name: &str, entry: &Value) -> Result<Vec<TokenStream>, String> {
    let one = |case: &Value| -> Result<TokenStream, String> {
        let disposition = case.as_str().or_else(|| case["disposition"].as_str());
        let disposition = camel(disposition.ok_or(format!("{name}: a case without disposition"))?);
        let only = bases(case, "dialects").map_or(quote!(None), |list| quote!(Some(#list)));
        let when = when_row(case);
        let error = case.get("error").and_then(Value::as_str).map(camel);
        let error = error.map_or(quote!(None), |error| quote!(Some(ErrorText::#error)));
        Ok(quote!(Case { only: #only, when: #when, disposition: Disposition::#disposition, error: #error }))
    };
    match entry {
        Value::Array(list) => list.iter().map(one).collect(),
        other => Ok(vec![one(other)?]),
    }
}

/// Whether an entry of `x-in` has a case with one of these dispositions.
fn has_disposition(entry: &Value, names: &[&str]) -> bool {
    let of = |case: &Value| {
        case.as_str().or_else(|| case["disposition"].as_str()).is_some_and(|it| names.contains(&it))
    };
    entry.as_array().map_or_else(|| of(entry), |cases| cases.iter().any(of))
}

fn when_row(case: &Value) -> TokenStream {
    match case.get("when") {
        Some(when) => {
            let field = when["field"].as_str().unwrap_or_default();
            let is: Vec<String> =
                when["is"].as_array().into_iter().flatten().map(crate::bundle::tag_text).collect();
            quote!(Some((#field, &[#(#is),*])))
        }
        None => quote!(None),
    }
}

fn condition_fields(table: &Map<String, Value>) -> Vec<&str> {
    let cases = table.values().filter_map(Value::as_array).flatten();
    let mut fields: Vec<&str> = cases.filter_map(|c| c["when"]["field"].as_str()).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

fn dialogs(bundle: &Bundle) -> Result<TokenStream, String> {
    let (Shape::Tagged { branches, .. }, Shape::Either(answers)) =
        (bundle.shape("RpcExtensionUIRequest"), bundle.shape("RpcExtensionUIResponse"))
    else {
        return Err("RpcExtensionUIRequest or RpcExtensionUIResponse is no union of its kind".into());
    };
    let requests: Vec<_> = branches.iter().map(|(value, _)| camel(value)).collect();
    let asking = branches.iter().filter(|(_, name)| bundle.defs[*name]["x-answer"].is_string());
    let asking = asking.map(|(value, _)| camel(value));
    let closing =
        branches.iter().filter(|(_, name)| bundle.defs[*name]["properties"].get("timeout").is_some());
    let closing = closing.map(|(value, _)| camel(value));
    let answers: Vec<_> = answers.iter().filter_map(|a| ref_name(a)).map(exact).collect();
    Ok(quote! {
        impl RpcExtensionUIRequestKind {
            /// Whether the request is a dialog, which needs a response, and not a notice.
            pub const fn is_dialog(self) -> bool { matches!(self, #(Self::#asking)|*) }
            /// Whether the request may have a `timeout`, after which it closes by itself.
            pub const fn has_timeout(self) -> bool { matches!(self, #(Self::#closing)|*) }
        }
        impl RpcExtensionUIRequest {
            /// Id of the request, which a dialog response repeats.
            pub fn id(&self) -> &str { match self { #(Self::#requests(request) => &request.id),* } }

            /// Sets the id.
            pub fn set_id(&mut self, id: String) { match self { #(Self::#requests(request) => request.id = id),* } }
        }
        impl RpcExtensionUIResponse {
            /// Id of the dialog that this responds to.
            pub fn id(&self) -> &str { match self { #(Self::#answers(answer) => &answer.id),* } }

            /// Sets the id of the dialog that this responds to.
            pub fn set_id(&mut self, id: String) { match self { #(Self::#answers(answer) => answer.id = id),* } }
        }
    })
}

fn extension_frames(bundle: &Bundle) -> Result<TokenStream, String> {
    let Shape::Tagged { branches, .. } = bundle.shape("FromExtension") else {
        return Err("FromExtension is no union of its kind".into());
    };
    let has = |name: &str, field: &str| bundle.defs[name]["properties"].get(field).is_some();
    let requires = |name: &str, field: &str| {
        bundle.defs[name]["required"].as_array().into_iter().flatten().any(|it| it == field)
    };
    let (mut origins, mut required, mut optional) = (Vec::new(), Vec::new(), Vec::new());
    for (value, name) in &branches {
        let from_request = has(name, "origin");
        match has(name, "id") {
            true if !requires(name, "id") => optional.push(camel(value)),
            true if from_request => required.push(camel(value)),
            _ => {}
        }
        if from_request {
            origins.push(camel(value));
        }
    }
    Ok(quote! {
        impl FromExtension {
            /// Id of the request that the frame belongs to.
            pub fn origin(&self) -> Option<&str> {
                match self { #(Self::#origins(frame) => frame.origin.as_deref(),)* _ => None }
            }

            /// Id of an action, if it has one; the extension then waits for its response.
            pub fn action_id(&self) -> Option<&str> {
                match self {
                    #(Self::#required(frame) => Some(&frame.id),)*
                    #(Self::#optional(frame) => frame.id.as_deref(),)*
                    _ => None,
                }
            }
        }
    })
}

fn entries(bundle: &Bundle) -> Result<TokenStream, String> {
    let Shape::Tagged { branches, .. } = bundle.shape("SessionEntry") else {
        return Err("SessionEntry is no union of its kind".into());
    };
    let variants: Vec<_> = branches.iter().map(|(value, _)| camel(value)).collect();
    Ok(quote! {
        impl SessionEntry {
            /// Id of the entry.
            pub fn id(&self) -> &str { match self { #(Self::#variants(entry) => &entry.id),* } }

            /// Id of the entry before this one; `None`: there is none.
            pub fn parent_id(&self) -> Option<&str> {
                match self { #(Self::#variants(entry) => entry.parent_id.as_deref()),* }
            }
        }
    })
}

fn events(bundle: &Bundle) -> Result<TokenStream, String> {
    let Shape::Tagged { branches, .. } = bundle.shape("AgentSessionEvent") else {
        return Err("AgentSessionEvent is no union of its kind".into());
    };
    let named = branches.iter().filter(|(_, name)| bundle.defs[*name]["properties"].get("id").is_some());
    let named = named.map(|(value, _)| camel(value));
    let unfiltered = branches.iter().filter(|(_, name)| bundle.defs[*name]["x-unfiltered"] == true);
    let unfiltered = unfiltered.map(|(value, _)| camel(value));
    let updates = branches.iter().filter(|(_, name)| bundle.defs[*name]["x-update"] == true);
    let updates = updates.map(|(value, _)| camel(value));
    Ok(quote! {
        impl AgentSessionEventKind {
            /// Whether `set_event_filter` selects whether the event is sent.
            pub const fn is_filtered(self) -> bool { !matches!(self, #(Self::#unfiltered)|*) }
            /// Whether the event only continues what another one has begun, and another one will end.
            pub const fn is_update(self) -> bool { matches!(self, #(Self::#updates)|*) }
            /// Whether the event has the `id` of the command that it belongs to.
            pub const fn has_id(self) -> bool { matches!(self, #(Self::#named)|*) }
        }
    })
}

fn fires(bundle: &Bundle) -> Result<TokenStream, String> {
    let (mut tables, mut arms) = (TokenStream::new(), TokenStream::new());
    let mut anywhere = Vec::new();
    let mut listed = Vec::new();
    for (name, def) in &bundle.defs {
        let Some(cases) = def.get("x-fires-in").and_then(Value::as_array) else { continue };
        let value = def.pointer("/properties/method/const").or_else(|| def.pointer("/properties/type/const"));
        let value = value.and_then(Value::as_str).ok_or(format!("{name}: x-fires-in without a type"))?;
        let mut rows = Vec::new();
        for case in cases {
            let only = bases(case, "dialects")
                .or_else(|| bases(def, "x-dialects"))
                .map_or(quote!(None), |list| quote!(Some(#list)));
            let when = when_row(case);
            let states = strings(case, "in").ok_or(format!("{name}: x-fires-in without `in`"))?;
            let states: Vec<_> = states.iter().flat_map(|s| leaves(bundle, s)).map(camel).collect();
            let to = case.get("to").and_then(Value::as_str).map(camel);
            let to = to.map_or(quote!(None), |to| quote!(Some(FlowState::#to)));
            rows.push(quote!(Fires {
                only: #only, when: #when, states: &[#(FlowState::#states),*],
                mask: 0 #(| 1 << FlowState::#states as u32)*, to: #to,
            }));
        }
        let table = fires_table(name);
        tables.extend(quote! { const #table: &[Fires] = &[#(#rows),*]; });
        arms.extend(quote! { #value => #table, });
        listed.push(name.as_str());
        if cases.iter().any(|case| strings(case, "in").is_some_and(|states| states == ["*"])) {
            anywhere.push(value);
        }
    }
    let by_kind = ["AgentSessionEvent", "RpcExtensionUIRequest"].map(|union| {
        let Shape::Tagged { branches, .. } = bundle.shape(union) else {
            return Err(format!("{union} is no union of its kind"));
        };
        let arms = branches.iter().map(|(value, name)| {
            let (variant, table) = (camel(value), fires_table(name));
            let table = if listed.contains(name) { quote!(#table) } else { quote!(&[]) };
            quote! { Self::#variant => #table, }
        });
        let kind = exact(&format!("{union}Kind"));
        Ok(quote! {
            impl #kind {
                /// States in which a frame of this kind may be emitted, and the ones that it leads to.
                pub const fn fires(self) -> &'static [Fires] { match self { #(#arms)* } }
            }
        })
    });
    let by_kind: Vec<TokenStream> = by_kind.into_iter().collect::<Result<_, _>>()?;
    Ok(quote! {
        #tables
        #(#by_kind)*

        /// Whether the outbound frame with this `type` (for UI requests: `method`) may be emitted in every state.
        pub fn fires_anywhere(frame: &str) -> bool { matches!(frame, #(#anywhere)|*) }

        /// States in which the outbound frame with this `type` (for UI requests: `method`) may be emitted, and the ones
        /// that it leads to. Empty for an unknown type.
        pub fn fires(frame: &str) -> &'static [Fires] { match frame { #arms _ => &[] } }
    })
}

/// Emits the `type` of each family of frames that has one alone, and of the header of session files.
fn frame_types(bundle: &Bundle) -> TokenStream {
    let families =
        ["Inbound", "Outbound"].into_iter().flat_map(|union| bundle.defs[union]["oneOf"].as_array());
    let types = families.flatten().filter_map(ref_name).chain(["SessionHeader"]).filter_map(|name| {
        let (ident, value) = (exact(name), type_of(bundle, name)?);
        Some(quote! {
            impl #ident {
                /// Value of the member `type`.
                pub const TYPE: &'static str = #value;
            }
        })
    });
    types.collect()
}

/// The constant `type` of a def, or of all branches of a union.
fn type_of<'a>(bundle: &'a Bundle, name: &str) -> Option<&'a str> {
    let def = &bundle.defs[name];
    match def["oneOf"].as_array() {
        None => def["properties"]["type"]["const"].as_str(),
        Some(branches) => {
            let mut types = branches.iter().map(|branch| type_of(bundle, ref_name(branch)?));
            let first = types.next()?;
            first.filter(|_| types.all(|other| other == first))
        }
    }
}

/// Name of the table of a def's rows.
fn fires_table(def: &str) -> Ident {
    exact(&format!("FIRES_{}", def.to_uppercase()))
}
