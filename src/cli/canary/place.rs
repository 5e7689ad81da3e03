//! The folder of one trial: the program `pi` that the client finds, the home of the server, and what is recorded.

use super::subjects::{ADAPTER, Subject};
use pi_rpc_conform::live::Adapter;
use pi_rpc_files::{private_files, secrets::names_key};
use pi_rpc_model::scripted::Script;
use pi_rpc_scenario::Variables;
use serde_json::{Value, json};
use std::{
    env, fs, io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Where the folders of trials are.
pub struct Folder {
    root: PathBuf,
    /// Removed when it is dropped.
    _temporary: Option<TempDir>,
}

impl Folder {
    /// One that stays.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn kept(root: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("--keep {}: {error}", root.display());
        private_files::create_folder(root).map_err(failed)?;
        Ok(Self { root: root.canonicalize().map_err(failed)?, _temporary: None })
    }

    /// One that is removed at the end.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn temporary() -> Result<Self, String> {
        let made = tempfile::Builder::new().prefix("pi-rpc-canary-").tempdir();
        let made = made.map_err(|error| format!("no temporary directory: {error}"))?;
        let root = made.path().canonicalize().map_err(|error| error.to_string())?;
        Ok(Self { root, _temporary: Some(made) })
    }
}

/// The folder of one trial.
pub struct Place {
    /// The folder of the program `pi`.
    pub programs: PathBuf,
    /// The program.
    pub program: PathBuf,
    /// The recordings, one for each process of the server.
    pub frames: PathBuf,
    /// What the client writes.
    pub output: PathBuf,
}

/// Providers of the agent's own catalogue whose requests go to the scripted model, too, with the end of their address.
const REDIRECTED: [(&str, &str); 3] = [("anthropic", ""), ("openai", "/v1"), ("google", "/v1beta")];

/// The key for the scripted model, which accepts any.
const KEY: &str = "canary";

impl Place {
    /// Makes the folder of a trial with this server, whose models are at this address.
    ///
    /// # Errors
    ///
    /// A file cannot be written; the text names it.
    pub fn make(
        folder: &Folder,
        subject: &Subject,
        script: &Script,
        model: SocketAddr,
    ) -> Result<Self, String> {
        let name = subject
            .name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' });
        let root = folder.root.join(name.collect::<String>());
        // What an earlier canary has left there.
        match fs::remove_dir_all(&root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&root, &error)),
            _ => {}
        }
        let (programs, home, frames) = (root.join("bin"), root.join("home"), root.join("frames"));
        for folder in [&programs, &home, &frames] {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        }
        write_configuration(&home, script, model)?;
        let program = programs.join(ADAPTER);
        fs::write(&program, launcher(subject, &home, &frames)).map_err(|error| failed(&program, &error))?;
        let may_run = fs::set_permissions(&program, fs::Permissions::from_mode(0o755));
        may_run.map_err(|error| failed(&program, &error))?;
        Ok(Self { programs, program, frames, output: root.join("client.log") })
    }

    /// The recordings so far, in the order of their names.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.frames).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        files
    }
}

/// Writes the files of the adapter, with the scripted model as the one that is used without being asked for.
fn write_configuration(home: &Path, script: &Script, model: SocketAddr) -> Result<(), String> {
    let adapter = Adapter::find(ADAPTER).map_err(|error| error.to_string())?;
    let mut variables = Variables::default();
    variables.set("home", home.to_string_lossy().into_owned());
    variables.set("baseUrl", format!("http://{model}"));
    variables.set("apiKey", KEY);
    variables.set("contextWindow", script.model.context_window);
    variables.set("maxTokens", script.model.max_tokens);
    variables.set("reasoning", script.model.reasoning);
    variables.set("agentDir", variables.fill_text(&adapter.agent_dir)?);
    for (path, content) in &adapter.files {
        let mut content = variables.fill(content)?;
        let first = content.pointer("/providers").and_then(Value::as_object).and_then(|all| {
            let (name, provider) = all.iter().next()?;
            Some((name.clone(), provider.pointer("/models/0/id")?.clone()))
        });
        if let (Some(_), Some(providers)) =
            (first, content.get_mut("providers").and_then(Value::as_object_mut))
        {
            for (name, end) in REDIRECTED {
                providers.insert(
                    name.to_owned(),
                    json!({ "baseUrl": format!("http://{model}{end}"), "apiKey": KEY }),
                );
            }
        } else if let Some(settings) = content.as_object_mut() {
            let (provider, id) = default_model(&adapter, &variables)?;
            settings.insert("defaultProvider".to_owned(), provider);
            settings.insert("defaultModel".to_owned(), id);
        }
        let path = PathBuf::from(variables.fill_text(path)?);
        let folder = path.parent().unwrap_or(home);
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        fs::write(&path, format!("{content:#}\n")).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// The provider and the model that the adapter's options choose.
fn default_model(adapter: &Adapter, variables: &Variables) -> Result<(Value, Value), String> {
    let option = |name: &str| {
        let at = adapter.args.iter().position(|word| word == name)?;
        adapter.args.get(at + 1)
    };
    match (option("--provider"), option("--model")) {
        (Some(provider), Some(model)) => {
            Ok((variables.fill_text(provider)?.into(), variables.fill_text(model)?.into()))
        }
        _ => Err(format!("adapter {ADAPTER}: expected --provider and --model among its args")),
    }
}

/// The program that the client finds: it starts the server with the home of the trial, and records its RPC mode.
fn launcher(subject: &Subject, home: &Path, frames: &Path) -> String {
    let words = |words: &[PathBuf]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let own = env::current_exe().unwrap_or_else(|_| PathBuf::from("pi-rpc"));
    let heard = subject.speaks.map_or_else(|| subject.spoken.to_string(), |dialect| dialect.to_string());
    let keys = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let keys = keys
        .filter(|name| names_key(name) && name.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric()));
    let keys = keys.collect::<Vec<_>>().join(" ");
    let unset = if keys.is_empty() { String::new() } else { format!("unset {keys}\n") };
    format!(
        "#!/bin/sh\n{unset}unset PI_CODING_AGENT_DIR PI_RPC_DIALECT\nexport HOME={home} PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1\n\
         case \" $* \" in\n\
         *' --mode rpc '*|*' --mode=rpc '*) exec {own} tap --dialect {heard} --record {frames}/$$.jsonl --report /dev/null -- {command} \"$@\" ;;\n\
         *) exec {plain} \"$@\" ;;\n\
         esac\n",
        home = quoted(home),
        own = quoted(&own),
        frames = quoted(frames),
        command = words(&subject.command()),
        plain = words(&subject.words),
    )
}

/// A word as a shell takes it.
fn quoted(word: &Path) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"))
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
