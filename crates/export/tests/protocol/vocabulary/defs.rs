//! Rules for every def: style, references, unions, bounds, dialects, sources.

use super::*;

/// The keywords of the subset and the annotations, with where they may stand: on defs, on properties, inside both.
const KEYWORDS: [(&str, &[Place]); 50] = {
    use Place::{Def, Inner, Property};
    const ALL: &[Place] = &[Def, Property, Inner];
    const OUTER: &[Place] = &[Def, Property];
    [
        ("title", &[Def]),
        ("description", ALL),
        ("type", ALL),
        ("$ref", &[Property, Inner]),
        ("const", &[Property]),
        ("enum", &[Def]),
        ("properties", &[Def]),
        ("required", &[Def]),
        ("additionalProperties", &[Def]),
        ("items", ALL),
        ("oneOf", OUTER),
        ("discriminator", &[Def]),
        ("minimum", OUTER),
        ("maximum", OUTER),
        ("x-dialects", OUTER),
        ("x-required-in", &[Property]),
        ("x-enum-in", &[Def]),
        ("x-null", OUTER),
        ("x-writes-null", &[Property]),
        ("x-type-in", &[Property]),
        ("x-source", OUTER),
        ("x-since", OUTER),
        ("x-free", &[Property]),
        ("x-redact", OUTER),
        ("x-doc", &[Def]),
        ("x-rust", &[Def]),
        ("x-response", &[Def]),
        ("x-in", &[Def]),
        ("x-leads-to", &[Def]),
        ("x-fails-to", &[Def]),
        ("x-control", &[Def]),
        ("x-served", &[Def]),
        ("x-result", &[Def]),
        ("x-reads", &[Def]),
        ("x-answered", &[Def]),
        ("x-ends", &[Def]),
        ("x-meanwhile", &[Def]),
        ("x-limit", &[Def]),
        ("x-update", &[Def]),
        ("x-handler", &[Def]),
        ("x-in-run", &[Def]),
        ("x-unfiltered", &[Def]),
        ("x-cuts", &[Def]),
        ("x-causes", &[Def]),
        ("x-after", &[Def]),
        ("x-fires-in", &[Def]),
        ("x-answer", &[Def]),
        ("x-union", &[Def]),
        ("x-effects", &[Def]),
        ("x-tells", &[Def]),
    ]
};

const SOURCES: &str = include_str!("../../../../../schema/sources.json");

/// The largest whole number up to which a double holds every one.
const EXACT: i64 = (1 << 53) - 1;

#[derive(PartialEq)]
enum Place {
    Def,
    Property,
    Inner,
}

fn place(at: &str) -> Place {
    let inner = ["items", "additionalProperties"].iter().any(|key| at.ends_with(key)) || at.ends_with(']');
    match at.split('.').count() {
        1 => Place::Def,
        2 if !inner => Place::Property,
        _ => Place::Inner,
    }
}

pub fn titles(bundle: &Value) -> Complaints {
    let wrong = defs(bundle).filter(|(name, def)| def["title"] != ***name);
    wrong.map(|(name, def)| format!("{name}: its title is {}", def["title"])).collect()
}

pub fn descriptions(bundle: &Value) -> Complaints {
    let is_missing =
        |schema: &Value| schema["description"].as_str().is_none_or(|text| text.trim().is_empty());
    let defs = defs(bundle).filter(|(_, def)| is_missing(def)).map(|(name, _)| name.clone());
    let properties = properties(bundle).filter(|(.., schema)| is_missing(schema)).map(|(at, ..)| at);
    let texts = members(&bundle["errors"]).chain(members(&bundle["texts"]));
    let texts = texts.filter(|(_, text)| is_missing(text)).map(|(name, _)| name.clone());
    defs.chain(properties).chain(texts).map(|at| format!("{at}: no description")).collect()
}

pub fn keywords(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (at, schema) in schemas(bundle) {
        for (keyword, _) in members(schema) {
            match KEYWORDS.iter().find(|(known, _)| known == keyword) {
                None => out.push(format!("{at}: `{keyword}` is not in the subset")),
                Some((_, places)) if !places.contains(&place(&at)) => {
                    out.push(format!("{at}: `{keyword}` does not belong here"));
                }
                Some(_) => {}
            }
        }
    }
    out
}

pub fn refs(bundle: &Value) -> Complaints {
    let wrong = |schema: &Value| {
        let target = schema.get("$ref")?;
        let known = ref_name(schema).is_some_and(|name| bundle["$defs"].get(name).is_some());
        (!known).then(|| target.to_string())
    };
    let schemas = schemas(bundle).into_iter();
    schemas.filter_map(|(at, schema)| Some(format!("{at}: $ref to {}", wrong(schema)?))).collect()
}

pub fn objects(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (name, def) in defs(bundle).filter(|(_, def)| def.get("properties").is_some()) {
        if def["type"] != "object" {
            out.push(format!("{name}: has properties but is no object"));
        }
        if def.get("additionalProperties").is_some_and(|more| *more != serde_json::json!({})) {
            out.push(format!("{name}: additionalProperties can only be {{}}"));
        }
        let required = texts(&def["required"]);
        if !def["required"].is_array() {
            out.push(format!("{name}: does not say what is required"));
        }
        for key in required.iter().filter(|key| def["properties"].get(**key).is_none()) {
            out.push(format!("{name}: requires `{key}`, which it does not have"));
        }
    }
    out
}

pub fn enumerations(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (name, def) in defs(bundle).filter(|(_, def)| def.get("enum").is_some()) {
        let values = texts(&def["enum"]);
        if def["type"] != "string" || values.len() != items(&def["enum"]).count() || values.is_empty() {
            out.push(format!("{name}: an enumeration lists strings"));
        }
        let twice = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value));
        out.extend(twice.map(|(_, value)| format!("{name}: lists `{value}` twice")));
    }
    out
}

pub fn unions(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (at, schema) in schemas(bundle) {
        let branches: Vec<&Value> = items(&schema["oneOf"]).collect();
        let nullable =
            branches.len() == 2 && ref_name(branches[0]).is_some() && branches[1]["type"] == "null";
        if branches.is_empty() || nullable {
            continue;
        }
        let known = ["families", "response", "shape"];
        match (schema.get("discriminator"), schema["x-union"].as_str()) {
            (Some(discriminator), None) => out.extend(wrong_mapping(&at, &branches, discriminator)),
            (Some(_), Some(_)) => out.push(format!("{at}: has both a discriminator and x-union")),
            (None, Some(how)) if known.contains(&how) => {}
            (None, Some(how)) => out.push(format!("{at}: x-union `{how}` is unknown")),
            (None, None) => out.push(format!("{at}: a union without discriminator and x-union")),
        }
    }
    out
}

fn wrong_mapping(at: &str, branches: &[&Value], discriminator: &Value) -> Option<String> {
    let branches: Vec<&str> = branches.iter().filter_map(|branch| branch["$ref"].as_str()).collect();
    let mapped: Vec<&str> = members(&discriminator["mapping"]).filter_map(|(_, to)| to.as_str()).collect();
    (branches != mapped).then(|| format!("{at}: the mapping does not list the branches in their order"))
}

pub fn tags(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (name, def) in defs(bundle) {
        let tag = def["discriminator"]["propertyName"].as_str().unwrap_or_default();
        for (value, target) in members(&def["discriminator"]["mapping"]) {
            let branch = target.as_str().and_then(|to| to.strip_prefix("#/$defs/")).unwrap_or_default();
            let schema = &bundle["$defs"][branch];
            if schema["properties"][tag]["const"] != **value || schema["properties"][tag]["type"] != "string"
            {
                out.push(format!("{branch}: `{tag}` is not the constant `{value}` that {name} maps"));
            }
            if !texts(&schema["required"]).contains(&tag) {
                out.push(format!("{branch}: does not require its tag `{tag}`"));
            }
        }
    }
    out
}

pub fn bounds(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (at, schema) in schemas(bundle) {
        let is = |ty: &str| schema["type"] == ty || texts(&schema["type"]).contains(&ty);
        let bound = |key: &str| schema[key].as_i64().filter(|bound| (-EXACT..=EXACT).contains(bound));
        if is("integer") && (bound("minimum").is_none() || bound("maximum").is_none()) {
            out.push(format!("{at}: an integer needs both bounds, exact in a double"));
        }
        let is_from_zero = is("number") && schema["minimum"] == 0;
        let has_bounds =
            schema.get("maximum").is_some() || (schema.get("minimum").is_some() && !is_from_zero);
        if !is("integer") && has_bounds {
            out.push(format!("{at}: only integers have bounds; other numbers can start at 0"));
        }
    }
    out
}

pub fn dialects(bundle: &Value) -> Complaints {
    let known = bases(bundle);
    let mut out = Complaints::new();
    let mut list = |at: &str, key: &str, list: &Value| {
        let wrong = texts(list).into_iter().find(|id| !known.contains(id));
        match (wrong, texts(list).len() == items(list).count() && items(list).next().is_some()) {
            (Some(id), _) => out.push(format!("{at}: {key} names `{id}`, which is no base dialect")),
            (None, false) => out.push(format!("{at}: {key} lists no dialects")),
            (None, true) => {}
        }
    };
    for (at, schema) in schemas(bundle) {
        for key in ["x-dialects", "x-required-in"] {
            schema.get(key).into_iter().for_each(|ids| list(&at, key, ids));
        }
        members(&schema["x-enum-in"]).for_each(|(_, ids)| list(&at, "x-enum-in", ids));
    }
    for (name, def) in defs(bundle) {
        let values = texts(&def["enum"]);
        let strange = members(&def["x-enum-in"]).filter(|(value, _)| !values.contains(&value.as_str()));
        out.extend(strange.map(|(value, _)| format!("{name}: x-enum-in names `{value}`, which is no value")));
    }
    for (at, def, key, schema) in properties(bundle) {
        let asked = texts(&schema["x-required-in"]);
        if !asked.is_empty() && texts(&def["required"]).contains(&key.as_str()) {
            out.push(format!("{at}: is required everywhere and has x-required-in"));
        }
        let wrong = asked.iter().find(|id| known.contains(id) && !bases_of(bundle, schema).contains(id));
        out.extend(wrong.map(|id| format!("{at}: is required in {id}, where it does not exist")));
    }
    out
}

pub fn reach(bundle: &Value) -> Complaints {
    fn inner<'b>(schema: &'b Value, into: &mut Vec<&'b str>) {
        into.extend(ref_name(schema));
        ["items", "additionalProperties"]
            .iter()
            .filter_map(|key| schema.get(key))
            .for_each(|one| inner(one, into));
        items(&schema["oneOf"]).for_each(|one| inner(one, into));
    }
    let mut out = Complaints::new();
    for (at, def, _, schema) in properties(bundle) {
        let mut names = Vec::new();
        inner(schema, &mut names);
        for name in names {
            let (there, own) = (bases_of(bundle, &bundle["$defs"][name]), bases_of(bundle, schema));
            let missing =
                bases_of(bundle, def).into_iter().find(|id| own.contains(id) && !there.contains(id));
            out.extend(missing.map(|id| format!("{at}: holds {name}, which {id} does not have")));
        }
    }
    out
}

pub fn redactions(bundle: &Value) -> Complaints {
    let known = ["keep", "command", "all", "json"];
    let wrong = |schema: &Value| {
        let says = schema.get("x-redact")?;
        (schema.get("const").is_some() || !known.iter().any(|word| says == word)).then(|| says.to_string())
    };
    let schemas = schemas(bundle).into_iter();
    schemas.filter_map(|(at, schema)| Some(format!("{at}: x-redact: {}", wrong(schema)?))).collect()
}

pub fn free_members(bundle: &Value) -> Complaints {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_reason = |value: &Value| match value.as_object() {
        Some(parts) => {
            !parts.is_empty()
                && parts.iter().all(|(pointer, reason)| pointer.starts_with('/') && is_text(reason))
        }
        None => is_text(value),
    };
    let wrong =
        properties(bundle).filter(|(.., schema)| schema.get("x-free").is_some_and(|it| !is_reason(it)));
    wrong.map(|(at, ..)| format!("{at}: x-free without a reason")).collect()
}

pub fn nulls(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (at, def, key, schema) in properties(bundle).filter(|(.., schema)| schema.get("x-null").is_some()) {
        let nullable = texts(&schema["type"]).contains(&"null")
            || items(&schema["oneOf"]).any(|one| one["type"] == "null");
        if schema["x-null"] != true || !nullable {
            out.push(format!("{at}: x-null where null may not be"));
        }
        if texts(&def["required"]).contains(&key.as_str()) {
            out.push(format!("{at}: null means absent, but it is required"));
        }
    }
    for (at, _, _, schema) in properties(bundle).filter(|(.., schema)| schema.get("x-writes-null").is_some())
    {
        if schema["x-writes-null"] != true || schema["x-null"] != true {
            out.push(format!("{at}: x-writes-null without x-null"));
        }
    }
    for (name, def) in defs(bundle).filter(|(_, def)| def.get("x-null").is_some()) {
        if def["x-null"] != true || def.get("x-union").is_none() {
            out.push(format!("{name}: x-null on what is no union of frames"));
        }
    }
    out
}

pub fn sources(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    let places = schemas(bundle).into_iter().filter(|(_, schema)| schema.get("x-source").is_some());
    let known = [serde_json::json!("seed"), serde_json::json!("observed")];
    let unknown = places.filter(|(_, schema)| !known.contains(&schema["x-source"]));
    out.extend(unknown.map(|(at, schema)| format!("{at}: x-source {} is unknown", schema["x-source"])));
    for (at, def, key, schema) in properties(bundle).filter(|(.., schema)| schema["x-source"] == "observed") {
        if texts(&def["required"]).contains(&key.as_str()) || schema.get("x-required-in").is_some() {
            out.push(format!("{at}: only observed, but required"));
        }
    }
    out
}

pub fn since(bundle: &Value) -> Complaints {
    let own = |def: &Value, schema: &Value| -> Vec<&str> {
        let outer = bases_of(bundle, def);
        bases_of(bundle, schema).into_iter().filter(|base| outer.contains(base)).collect()
    };
    let with_value = |def: &Value, value: &str| -> Vec<&str> {
        let listed = def["x-enum-in"].get(value).map(texts);
        let there = bases_of(bundle, def).into_iter();
        there.filter(|base| listed.as_ref().is_none_or(|list| list.contains(base))).collect()
    };
    let mut dated: Vec<(String, &Value, Vec<&str>)> = Vec::new();
    let mut out = Complaints::new();
    for (name, def) in defs(bundle).filter(|(_, def)| def.get("x-since").is_some()) {
        match def["x-since"].as_object() {
            None => dated.push((name.clone(), &def["x-since"], bases_of(bundle, def))),
            Some(by_value) => {
                for (value, since) in by_value {
                    match texts(&def["enum"]).contains(&value.as_str()) {
                        true => dated.push((format!("{name}.{value}"), since, with_value(def, value))),
                        false => out.push(format!("{name}: x-since names `{value}`, which is no value")),
                    }
                }
            }
        }
    }
    let properties = properties(bundle).filter(|(.., schema)| schema.get("x-since").is_some());
    dated.extend(properties.map(|(at, def, _, schema)| (at, &schema["x-since"], own(def, schema))));
    for (at, since, there) in dated {
        let text = since.as_str().unwrap_or_default();
        let Some(came) = version(text) else {
            out.push(format!("{at}: x-since {since} is no version"));
            continue;
        };
        // An overlay with frames of its own says from which version of pi on it holds; what it extends is older.
        let is_older = |base: &&str| match base.split_once('@').filter(|_| base.starts_with("pi")) {
            Some((_, of)) => version(&format!("{of}.0")).is_some_and(|of| of < came),
            None => items(&bundle["dialects"]).any(|overlay| {
                let of = overlay["id"].as_str().and_then(|id| id.split_once('@')).map(|(_, of)| of);
                let extends = overlay["extends"] == **base && overlay["frames"] == overlay["id"];
                extends
                    && base.starts_with("pi")
                    && of.is_some_and(|of| version(&format!("{of}.0")).is_some())
            }),
        };
        out.extend(
            there
                .into_iter()
                .filter(is_older)
                .map(|base| format!("{at}: came with {text}, but {base} has it")),
        );
    }
    out
}

fn version(text: &str) -> Option<[u64; 3]> {
    let parts: Vec<u64> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

pub fn docs(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (name, def) in defs(bundle) {
        let list = texts(&def["x-doc"]);
        if list.is_empty() {
            out.push(format!("{name}: no x-doc"));
        }
        let known: serde_json::Map<String, Value> = serde_json::from_str(SOURCES).expect("it is JSON");
        let source = |text: &str| known.keys().any(|s| text == s || text.starts_with(&format!("{s}: ")));
        let strange = list.into_iter().find(|text| !source(text));
        out.extend(strange.map(|text| format!("{name}: x-doc names `{text}`, which is no known source")));
    }
    out
}
