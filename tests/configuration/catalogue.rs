//! The built-in catalogue of models.

use pi_rpc::{
    config::{
        Environment, Sources,
        catalogue::{BUILT_IN, OtherModels},
        load, models_file,
        pattern::full_id,
        thinking::LevelMap,
    },
    machine::{PricedTokens, costs},
    model::{api::Api, compat::Compat, compat_defaults::defaulted_members},
    protocol::{Base, Dialect, ThinkingLevel},
};
use serde_json::Value;

const MODELS: &str = include_str!("../../data/models.json");
const COMPAT_DEFAULTS: &str = include_str!("../../data/compat-defaults.json");
const SERVICE_TIERS: &str = include_str!("../../data/service-tiers.json");
const PROVIDERS: &str = include_str!("../../data/providers.json");

#[test]
fn all_catalogue_data_is_read() {
    let data: Value = serde_json::from_str(MODELS).unwrap();
    let ids = data["providers"].as_object().unwrap().iter().flat_map(|(provider, models)| {
        let models = models.as_array().unwrap().iter();
        models.map(move |model| format!("{provider}/{}", model["id"].as_str().unwrap()))
    });
    let read: Vec<String> = BUILT_IN.models(|_| true).iter().map(|entry| full_id(&entry.model)).collect();
    assert_eq!(read, ids.collect::<Vec<_>>());
    let data: Value = serde_json::from_str(PROVIDERS).unwrap();
    let known: Vec<&String> = data["providers"].as_object().unwrap().keys().collect();
    assert_eq!(BUILT_IN.providers.iter().map(|provider| provider.id).collect::<Vec<_>>(), known);
    assert_eq!((BUILT_IN.date.len(), BUILT_IN.source.contains("pi-ai")), (10, true));
}

#[test]
fn compat_defaults_are_of_the_lists_version() {
    let defaults: Value = serde_json::from_str(COMPAT_DEFAULTS).unwrap();
    let version = defaults["version"].as_str().unwrap();
    assert!(BUILT_IN.source.ends_with(&format!(" {version}")), "{}: {version}", BUILT_IN.source);
    let apis: Vec<&String> = defaults["apis"].as_object().unwrap().keys().collect();
    assert!(apis.iter().all(|name| Api::parse(name).is_some()), "{apis:?}");
    let members =
        defaults["apis"].as_object().unwrap().values().map(|api| api["compat"].as_object().unwrap());
    let count: usize = members.map(serde_json::Map::len).sum();
    assert!(defaulted_members().count() > count, "a member of a server is missing");
}

#[test]
fn service_tiers_are_of_the_lists_version() {
    let tiers: Value = serde_json::from_str(SERVICE_TIERS).unwrap();
    let version = tiers["version"].as_str().unwrap();
    assert!(BUILT_IN.source.ends_with(&format!(" {version}")), "{}: {version}", BUILT_IN.source);
    for (api, tiers) in tiers["apis"].as_object().unwrap() {
        assert!(Api::parse(api).is_some(), "{api}");
        let models = tiers["models"].as_object().unwrap();
        // A model may be listed with another of the APIs alone.
        let listed = BUILT_IN.models(|_| true);
        let is_listed = |id: &String| listed.iter().any(|it| it.model.id == *id);
        assert!(models.keys().all(is_listed), "{api}: a model that is not listed");
    }
}

/// Others refuse the role: a list without `supportsDeveloperRole: false` needs the defaults of its own version.
#[test]
fn developer_instructs_openai_alone() {
    let models = BUILT_IN.models(|_| true);
    let completions = models.iter().filter(|it| it.model.api == "openai-completions");
    let mut instructed: Vec<&str> = completions
        .filter(|it| Compat::of(&it.model).developer_role)
        .map(|it| it.model.provider.as_str())
        .collect();
    instructed.dedup();
    let stated = |provider: &str| {
        let mut all = models.iter().filter(|it| it.model.provider == provider);
        all.any(|it| it.model.compat.as_ref().is_some_and(|compat| compat["supportsDeveloperRole"] == true))
    };
    instructed.retain(|provider| *provider != "openai" && !stated(provider));
    assert_eq!(instructed, [""; 0]);
}

#[test]
fn other_models_are_listed_by_type() {
    let count = |lists: &[OtherModels]| lists.iter().map(|list| list.ids.len()).sum::<usize>();
    let counts: Vec<_> = BUILT_IN.others.iter().map(|(kind, lists)| (*kind, count(lists))).collect();
    assert_eq!(counts, [("classifier", 81), ("image", 74)]);
}

#[test]
fn catalogue_models_are_complete() {
    for entry in &BUILT_IN.models(|_| true) {
        let model = &entry.model;
        let name = full_id(model);
        assert!(Api::parse(&model.api).is_some(), "{name}: {}", model.api);
        // Azure's address is the user's own.
        let has_address = model.base_url.starts_with("https://") || model.provider == "azure";
        assert!(has_address, "{name}: {}", model.base_url);
        for base in Base::ALL {
            assert!(!entry.levels.levels(model.reasoning, base).is_empty(), "{name} takes no level");
        }
        assert!(model.context_window > 0 && model.max_tokens > 0, "{name}");
    }
}

#[test]
fn providers_have_key_variable_and_default() {
    let models = BUILT_IN.models(|_| true);
    let mut providers: Vec<&str> = models.iter().map(|it| it.model.provider.as_str()).collect();
    providers.dedup();
    assert_eq!(providers.len(), 42);
    for id in providers {
        let provider = BUILT_IN.provider(id).unwrap_or_else(|| panic!("{id}"));
        let has = |default: &&str| models.iter().any(|it| it.model.provider == id && it.model.id == *default);
        assert!(!provider.env.is_empty() || id == "openai-codex", "{id}");
        assert!(provider.defaults.iter().any(has), "{id} has none of {:?}", provider.defaults);
    }
}

#[test]
fn adaptive_models_get_efforts() {
    let sources = Sources {
        dialect: Dialect::Pi,
        working_directory: "/nonexistent".into(),
        environment: Environment::default(),
        approve: None,
    };
    let config = load(sources);
    let models = config.models();
    let of = |name: &str| {
        let endpoint = models.iter().find(|endpoint| full_id(&endpoint.model) == name).unwrap();
        (endpoint.adaptive, endpoint.efforts.get(&ThinkingLevel::Xhigh).map(String::as_str))
    };
    assert_eq!(of("anthropic/claude-opus-4-6"), (true, Some("max")));
    assert_eq!(of("anthropic/claude-opus-4-7"), (true, Some("xhigh")));
    assert_eq!(of("anthropic/claude-haiku-4-5"), (false, None));
    assert_eq!(of("deepseek/deepseek-v4-pro"), (false, Some("max")));
}

#[test]
fn models_schema_accepts_catalogue() {
    let schema: Value = serde_json::from_str(models_file::SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let data: Value = serde_json::from_str(MODELS).unwrap();
    for (provider, models) in data["providers"].as_object().unwrap() {
        let file = serde_json::json!({"providers": {provider.as_str(): {"models": models}}});
        assert!(validator.is_valid(&file), "{provider}");
    }
}

#[test]
fn levels_above_high_need_a_word() {
    let map = |map: serde_json::Value| LevelMap::new(map.as_object().unwrap());
    let levels =
        |map: &LevelMap, base| map.levels(true, base).iter().map(|it| it.as_str()).collect::<Vec<_>>();
    let usual = ["off", "minimal", "low", "medium", "high"];
    for base in Base::ALL {
        assert_eq!(levels(&LevelMap::default(), base), usual, "{base:?}");
        assert_eq!(LevelMap::default().levels(false, base), [ThinkingLevel::Off], "{base:?}");
    }
    let above = map(serde_json::json!({ "off": null, "minimal": null, "max": "ultra" }));
    assert_eq!(levels(&above, Base::Pi1), ["low", "medium", "high", "max"]);
    assert_eq!(levels(&above, Base::Pi), ["low", "medium", "high", "xhigh"], "by the name that it has");
    assert_eq!(above.efforts(Base::Pi)[&ThinkingLevel::Xhigh], "ultra");
    assert_eq!(above.efforts(Base::Pi1)[&ThinkingLevel::Max], "ultra");
    let both = map(serde_json::json!({ "xhigh": "more", "max": "most" }));
    assert_eq!(levels(&both, Base::Pi1).last(), Some(&"max"));
    assert_eq!(both.efforts(Base::Pi)[&ThinkingLevel::Xhigh], "more");
    let word = |level: &str, word: Option<&str>| (level.to_owned(), word.map(str::to_owned));
    let shown: Vec<_> = above.entries().collect();
    assert_eq!(shown, [word("off", None), word("minimal", None), word("max", Some("ultra"))]);
}

/// What a request costs by a model of the list as it stands in the file: the formula in plain numbers.
fn listed_costs(price: &Value, tokens: &PricedTokens) -> [f64; 4] {
    let asked = tokens.input + tokens.cache_read + tokens.cache_write;
    let above = |tier: &&Value| asked as f64 > tier["inputTokensAbove"].as_f64().unwrap();
    let tiers = price["tiers"].as_array().into_iter().flatten().filter(above);
    let highest = tiers.max_by_key(|tier| tier["inputTokensAbove"].as_u64());
    let of = |kind: &str| highest.unwrap_or(price)[kind].as_f64().unwrap() / 1e6;
    let short = (tokens.cache_write - tokens.cache_write_1h) as f64;
    [
        of("input") * tokens.input as f64,
        of("output") * tokens.output as f64,
        of("cacheRead") * tokens.cache_read as f64,
        of("cacheWrite") * short + 2.0 * of("input") * tokens.cache_write_1h as f64,
    ]
}

#[test]
fn costs_follow_all_catalogue_prices() {
    let data: Value = serde_json::from_str(MODELS).unwrap();
    let listed =
        data["providers"].as_object().unwrap().values().flat_map(|models| models.as_array().unwrap());
    let usages =
        [[1_000, 500, 0, 0, 0], [20_000, 9, 11_999, 1, 1], [1, 7, 90_000, 10_000, 4_000]].into_iter();
    let usages: Vec<[u64; 5]> =
        usages.chain([[200_001, 1, 0, 0, 0], [0, 3, 272_000, 1, 0], [700_000, 64_000, 1, 1, 1]]).collect();
    let mut judged = 0;
    for (entry, listed) in BUILT_IN.models(|_| true).iter().zip(listed) {
        for [input, output, cache_read, cache_write, cache_write_1h] in usages.iter().copied() {
            let tokens = PricedTokens { input, output, cache_read, cache_write, cache_write_1h };
            let expected = listed_costs(&listed["cost"], &tokens);
            let close = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-12 * one.abs().max(1.0);
            let found = costs(&entry.model.cost, &tokens);
            assert!(found.iter().zip(&expected).all(close), "{}: {tokens:?}", full_id(&entry.model));
            judged += 1;
        }
    }
    assert_eq!(judged, BUILT_IN.models(|_| true).len() * usages.len());
}
