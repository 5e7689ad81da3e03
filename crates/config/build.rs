//! Compiles the models and providers that are known without any file into a table: nothing of it is read before it is asked for.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};
use std::{env, fs, path::Path};

/// Where the data are.
const FOLDER: &str = "../../data";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={FOLDER}");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out).join("catalogue.rs");
    let written =
        emit(Path::new(&root)).and_then(|table| fs::write(out, table.to_string()).map_err(|e| e.to_string()));
    if let Err(text) = written {
        eprintln!("error: {text}");
        std::process::exit(1);
    }
}

/// Emits the expression of the one `Catalogue`: of models each provider's list as JSON, of providers everything.
fn emit(root: &Path) -> Result<TokenStream, String> {
    let models = object(&root.join(FOLDER).join("models.json"))?;
    let providers = object(&root.join(FOLDER).join("providers.json"))?;
    let dated = |error: String| format!("models.json: {error}");
    let (date, source) = (text(&models, "date").map_err(dated)?, text(&models, "source").map_err(dated)?);
    let lists = members(&models)?.iter().map(|(name, list)| {
        let list = list.to_string();
        quote!((#name, #list))
    });
    let others = models.get("others").and_then(Value::as_object).ok_or("models.json: no `others`")?;
    let others = others.iter().map(|(kind, lists)| others_of(kind, lists)).collect::<Result<Vec<_>, _>>()?;
    let providers: Vec<TokenStream> =
        members(&providers)?.iter().map(|(id, keys)| provider(id, keys)).collect::<Result<_, _>>()?;
    Ok(quote!(Catalogue {
        date: #date,
        source: #source,
        lists: &[#(#lists),*],
        others: &[#(#others),*],
        providers: &[#(#providers),*],
    }))
}

/// The models of a type, by provider.
fn others_of(kind: &str, lists: &Value) -> Result<TokenStream, String> {
    let lists = lists.as_object().ok_or_else(|| format!("models.json: others.{kind} is no object"))?;
    let lists = lists.iter().map(|(provider, list)| {
        let wrong = || format!("models.json: others.{kind}.{provider}: expected models with ids");
        let models = list.as_array().ok_or_else(wrong)?;
        let ids: Vec<&str> =
            models.iter().map(|model| model["id"].as_str()).collect::<Option<_>>().ok_or_else(wrong)?;
        let json = list.to_string();
        Ok(quote!(OtherModels { provider: #provider, ids: &[#(#ids),*], json: #json }))
    });
    let lists = lists.collect::<Result<Vec<_>, String>>()?;
    Ok(quote!((#kind, &[#(#lists),*])))
}

fn provider(id: &str, keys: &Value) -> Result<TokenStream, String> {
    let keys = keys.as_object().ok_or_else(|| format!("providers.json: {id} is no object"))?;
    let known = ["env", "bearerEnv", "defaults", "api", "baseUrl", "bearer", "keyHeader", "needs"];
    if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("providers.json: {id}: `{key}`: unknown; known: {}", known.join(", ")));
    }
    let named = |error: String| format!("providers.json: {id}: {error}");
    let (env, defaults) = (texts(keys, "env").map_err(named)?, texts(keys, "defaults").map_err(named)?);
    let api = text(keys, "api").map_err(named)?;
    let optional = |key: &str| match keys.contains_key(key) {
        true => text(keys, key).map(|text| quote!(Some(#text))),
        false => Ok(quote!(None)),
    };
    let base_url = optional("baseUrl").map_err(named)?;
    let key_header = optional("keyHeader").map_err(named)?;
    let needs = match keys.contains_key("needs") {
        true => texts(keys, "needs").map_err(named)?,
        false => Vec::new(),
    };
    let bearer_env = match keys.contains_key("bearerEnv") {
        true => texts(keys, "bearerEnv").map_err(named)?,
        false => Vec::new(),
    };
    // Those precede the others.
    let env: Vec<&str> = bearer_env.iter().chain(&env).copied().collect();
    let bearer = keys.get("bearer").is_some_and(|bearer| *bearer == Value::Bool(true));
    Ok(quote!(Provider {
        id: #id,
        env: &[#(#env),*],
        bearer_env: &[#(#bearer_env),*],
        defaults: &[#(#defaults),*],
        api: #api,
        base_url: #base_url,
        bearer: #bearer,
        key_header: #key_header,
        needs: &[#(#needs),*],
    }))
}

fn object(path: &Path) -> Result<Map<String, Value>, String> {
    let wrong = |error: String| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn members(file: &Map<String, Value>) -> Result<&Map<String, Value>, String> {
    file.get("providers").and_then(Value::as_object).ok_or_else(|| "data/: no providers".to_owned())
}

fn text<'a>(of: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    of.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}`: expected a text"))
}

fn texts<'a>(of: &'a Map<String, Value>, key: &str) -> Result<Vec<&'a str>, String> {
    let list =
        of.get(key).and_then(Value::as_array).ok_or_else(|| format!("`{key}`: expected a list of texts"))?;
    list.iter().map(|it| it.as_str().ok_or_else(|| format!("`{key}`: expected a list of texts"))).collect()
}
