//! Keys and logins in omp's database: which one counts, and what happens to a database that cannot be read.

use crate::omp_database::OmpDatabase;
use pi_rpc::{
    config::{Config, CredentialPlace, Sources, load, pattern::full_id, with_profile},
    protocol::{Dialect, Model},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Times in milliseconds since 1970: one that has passed, and one that has not.
const PAST: f64 = 1e12;
const FUTURE: f64 = 4e12;

/// A user's home, where omp keeps its files.
struct OmpHome(tempfile::TempDir);

impl OmpHome {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.agent()).unwrap();
        home
    }

    fn agent(&self) -> PathBuf {
        self.0.path().join(".omp/agent")
    }

    fn database(&self) -> OmpDatabase {
        OmpDatabase::create(&self.agent().join("agent.db"))
    }

    fn load(&self, variables: &[(&str, &str)]) -> Config {
        let home = [("HOME", self.0.path().to_str().unwrap())];
        load(Sources {
            dialect: Dialect::Omp,
            working_directory: self.0.path().to_owned(),
            environment: variables.iter().copied().chain(home).collect(),
            approve: None,
        })
    }
}

fn key(config: &Config, provider: &str) -> Option<String> {
    config.keys.extension_credentials(provider, None).unwrap().0.key
}

fn place(config: &Config, provider: &str) -> CredentialPlace {
    config.keys.credential_source(provider).unwrap().place
}

fn login(access: &str, expires: f64) -> Value {
    json!({ "access": access, "refresh": "refresh-of-it", "expires": expires, "email": "me@example.com" })
}

/// A built-in model of the provider.
fn model(config: &Config, provider: &str) -> Model {
    let mut models = config.models().into_iter().map(|endpoint| endpoint.model);
    models.find(|model| model.provider == provider).unwrap()
}

/// The files of the agent directory.
fn files(home: &OmpHome) -> Vec<String> {
    let entries = fs::read_dir(home.agent()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn stored_key_makes_models_usable() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "api_key", &json!({ "key": "gsk-of-omp", "source": "login" }));
    database.close();
    let config = home.load(&[]);
    assert_eq!((key(&config, "groq").as_deref(), &config.warnings), (Some("gsk-of-omp"), &Vec::new()));
    let path = home.agent().join("agent.db");
    assert_eq!(place(&config, "groq"), CredentialPlace::File(path.clone()));
    assert_eq!((config.keys.source("groq").as_deref(), &config.files), (Some("agent.db"), &vec![path]));
    let model = model(&config, "groq");
    assert_eq!(config.keys.check(&model), Ok(()), "{}", full_id(&model));
    assert_ne!(config.keys.secrets().redact("gsk-of-omp"), "gsk-of-omp");
    assert_eq!(files(&home), ["agent.db"]);
    let pi = load(Sources {
        dialect: Dialect::Pi,
        working_directory: home.0.path().to_owned(),
        environment: [("HOME", home.0.path().to_str().unwrap())].into_iter().collect(),
        approve: None,
    });
    assert_eq!(pi.keys.source("groq"), None);
}

#[test]
fn sources_of_keys_have_omps_order() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "api_key", &json!({ "key": "stored" }));
    let of_login = database.add("groq", "api_key", &json!({ "key": "login key", "source": "login" }));
    let oauth = database.add("groq", "oauth", &login("token", FUTURE));
    let set = [("GROQ_API_KEY", "variable")];
    let models = home.agent().join("models.yml");
    fs::write(
        &models,
        "providers:\n  groq:\n    baseUrl: http://localhost:1\n    apiKey: of-the-models-file\n",
    )
    .unwrap();
    let auth = home.agent().join("auth.json");
    fs::write(&auth, r#"{"groq": {"type": "api_key", "key": "own"}}"#).unwrap();
    let mut found = Vec::new();
    let mut next = |what: &dyn Fn()| {
        let config = home.load(&set);
        assert_eq!(config.warnings, Vec::<String>::new());
        let place = match place(&config, "groq") {
            CredentialPlace::File(path) => path.file_name().unwrap().to_str().unwrap().to_owned(),
            CredentialPlace::Variable(name) => name.to_owned(),
        };
        found.push((key(&config, "groq").unwrap(), place));
        what();
    };
    next(&|| fs::remove_file(&models).unwrap());
    next(&|| fs::remove_file(&auth).unwrap());
    next(&|| database.run(&format!("DELETE FROM auth_credentials WHERE id = {oauth}")));
    next(&|| database.run(&format!("DELETE FROM auth_credentials WHERE id = {of_login}")));
    next(&|| ());
    let found: Vec<_> = found.iter().map(|(key, place)| (key.as_str(), place.as_str())).collect();
    assert_eq!(
        found,
        [
            ("of-the-models-file", "models.yml"),
            ("own", "auth.json"),
            ("token", "agent.db"),
            ("login key", "agent.db"),
            ("variable", "GROQ_API_KEY"),
        ]
    );
    let config = home.load(&[]);
    assert_eq!((key(&config, "groq").as_deref(), config.keys.is_configured("groq")), (Some("stored"), true));
    let keys = config.keys.with_cli_key("groq", "option");
    let credentials = keys.extension_credentials("groq", None).unwrap().0;
    assert_eq!(
        (credentials.key.as_deref(), keys.source("groq").as_deref()),
        (Some("option"), Some("--api-key"))
    );
}

#[test]
fn stored_key_may_name_a_variable() {
    let home = OmpHome::new();
    home.database().add("groq", "api_key", &json!({ "key": "MY_OWN_VARIABLE" }));
    assert_eq!(key(&home.load(&[("MY_OWN_VARIABLE", "value")]), "groq").as_deref(), Some("value"));
}

#[test]
fn disabled_and_odd_rows_are_passed_over() {
    let home = OmpHome::new();
    let database = home.database();
    let disabled = database.add("groq", "api_key", &json!({ "key": "disabled", "source": "login" }));
    database.run(&format!("UPDATE auth_credentials SET disabled_cause = 'x' WHERE id = {disabled}"));
    database.add("groq", "api_key", &json!({ "key": 7 }));
    database.add("groq", "api_key", &json!({ "key": "" }));
    database.add("groq", "of the future", &json!({ "key": "future" }));
    database.add("groq", "oauth", &json!({ "access": "no end" }));
    database.run("INSERT INTO auth_credentials (provider, credential_type, data) VALUES ('groq', 'api_key', 'no JSON')");
    database.run(
        "INSERT INTO auth_credentials (provider, credential_type, data) VALUES ('groq', 'api_key', x'00')",
    );
    let config = home.load(&[]);
    assert_eq!((config.keys.is_configured("groq"), &config.warnings), (false, &Vec::new()));
    database.add("groq", "api_key", &json!({ "key": "good" }));
    assert_eq!(key(&home.load(&[]), "groq").as_deref(), Some("good"));
}

#[test]
fn blocked_key_gives_way_to_others() {
    let home = OmpHome::new();
    let database = home.database();
    let rows = ["one", "two", "three"].map(|key| database.add("groq", "api_key", &json!({ "key": key })));
    let block = |row: i64, until: f64| {
        database.run(&format!(
            "INSERT INTO auth_credential_blocks VALUES ({row}, 'groq:api_key', '', {until}, 0)"
        ));
        key(&home.load(&[]), "groq").unwrap()
    };
    assert_eq!(block(rows[1], FUTURE), "one");
    assert_eq!(block(rows[0], FUTURE), "three");
    assert_eq!(block(rows[2], FUTURE), "one");
    database.run("UPDATE auth_credential_blocks SET blocked_until_ms = 1");
    assert_eq!(key(&home.load(&[]), "groq").as_deref(), Some("one"));
}

#[test]
fn valid_login_precedes_expired_one() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "oauth", &login("old", PAST));
    database.add("groq", "oauth", &login("valid", FUTURE));
    assert_eq!(key(&home.load(&[]), "groq").as_deref(), Some("valid"));
}

#[test]
fn expired_login_gives_way_or_names_reason() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "oauth", &login("old", PAST));
    assert_eq!(key(&home.load(&[("GROQ_API_KEY", "variable")]), "groq").as_deref(), Some("variable"));
    let config = home.load(&[]);
    let error = config.keys.check(&model(&config, "groq")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "The login of groq in {}/agent.db has expired, and pi-rpc does not know how to renew it.\n\nSend a prompt in \
             omp, which renews it, or use an API key.",
            home.agent().display()
        )
    );
    database.add("groq", "api_key", &json!({ "key": "stored" }));
    assert_eq!(key(&home.load(&[]), "groq").as_deref(), Some("stored"));
    database.add("groq", "api_key", &json!({ "key": "login key", "source": "login" }));
    assert_eq!(key(&home.load(&[("GROQ_API_KEY", "variable")]), "groq").as_deref(), Some("login key"));
}

#[test]
fn only_logins_of_known_clients_renew() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("anthropic", "oauth", &login("old", PAST));
    // The same name, and another client: `pi-rpc login` could renew its own.
    database.add("github-copilot", "oauth", &login("old", PAST));
    let config = home.load(&[("ANTHROPIC_API_KEY", "variable")]);
    assert_eq!(key(&config, "anthropic").as_deref(), Some("old"));
    assert!(config.keys.has_expired("anthropic") && !config.keys.has_expired("github-copilot"));
    assert!(config.keys.check(&model(&config, "github-copilot")).is_err());
}

#[test]
fn rows_of_an_open_database_are_read() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "api_key", &json!({ "key": "not yet in the file itself" }));
    assert_eq!(files(&home), ["agent.db", "agent.db-shm", "agent.db-wal"]);
    assert_eq!(key(&home.load(&[]), "groq").as_deref(), Some("not yet in the file itself"));
}

/// The only warning about a database, and whether its key is used all the same.
fn only_warning(home: &OmpHome) -> (String, bool) {
    let config = home.load(&[]);
    let [warning] = &config.warnings[..] else { panic!("one warning: {:?}", config.warnings) };
    let start = format!("{}: ", home.agent().join("agent.db").display());
    (warning.strip_prefix(&start).unwrap_or(warning).to_owned(), config.keys.is_configured("groq"))
}

const LEFT_OUT: &str = "its keys and logins are left out";

#[test]
fn broken_database_is_left_out_with_warning() {
    let home = OmpHome::new();
    let path = home.agent().join("agent.db");
    let broken = (format!("it is no SQLite database, or a broken one; {LEFT_OUT}"), false);
    fs::write(&path, "this is a text, and longer than the head of a database is. ".repeat(20)).unwrap();
    assert_eq!(only_warning(&home), broken);
    fs::remove_file(&path).unwrap();
    let database = home.database();
    database.add("groq", "api_key", &json!({ "key": "x".repeat(50_000) }));
    database.close();
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xff);
    fs::write(&path, bytes).unwrap();
    assert_eq!(only_warning(&home), broken);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(only_warning(&home), (format!("not a regular file; {LEFT_OUT}"), false));
}

#[test]
fn locked_database_is_left_out_with_warning() {
    let home = OmpHome::new();
    let database = home.database();
    database.run("PRAGMA locking_mode=EXCLUSIVE");
    database.add("groq", "api_key", &json!({ "key": "k" }));
    assert_eq!(only_warning(&home), (format!("another process has locked it; {LEFT_OUT}"), false));
}

#[test]
fn newer_database_is_read_with_warning() {
    let home = OmpHome::new();
    let database = home.database();
    database.add("groq", "api_key", &json!({ "key": "k" }));
    database.run("UPDATE auth_schema_version SET version = 8");
    let text = "its tables have version 8, this program knows up to 7; what it can read is used";
    assert_eq!(only_warning(&home), (text.to_owned(), true));
}

#[test]
fn older_database_is_left_out_with_warning() {
    let home = OmpHome::new();
    let database = home.database();
    database.run("ALTER TABLE auth_credentials DROP COLUMN disabled_cause");
    let text = "its tables are older than those of omp 18; start omp once, which upgrades them";
    assert_eq!(only_warning(&home), (format!("{text}; {LEFT_OUT}"), false));
    database.run("DROP TABLE auth_credentials");
    assert_eq!(home.load(&[]).warnings, Vec::<String>::new());
}

#[test]
fn broker_leaves_the_database_out() {
    let home = OmpHome::new();
    home.database().add("groq", "api_key", &json!({ "key": "k" }));
    let text = |name: &str| {
        let path = home.agent().join("agent.db");
        let path = path.display();
        format!(
            "{name} names a broker, whose keys and logins this program cannot get; those in {path} are left out, as in \
             omp"
        )
    };
    let config = home.load(&[("OMP_AUTH_BROKER_URL", "http://localhost:1")]);
    assert_eq!(config.warnings, [text("OMP_AUTH_BROKER_URL")]);
    assert!(!config.keys.is_configured("groq"));
    fs::write(home.agent().join("config.yml"), "auth:\n  broker:\n    url: http://localhost:1\n").unwrap();
    assert_eq!(home.load(&[]).warnings, [text("auth.broker.url")]);
}

/// The directories of the agent and of its data, below the home.
fn directories(home: &OmpHome, variables: &[(&str, &str)]) -> [String; 2] {
    let directories = home.load(variables).directories;
    [directories.agent, directories.data].map(|path| {
        let path = path.strip_prefix(home.0.path()).map_or(path.clone(), Path::to_owned);
        path.to_str().unwrap().to_owned()
    })
}

#[test]
fn variables_move_omps_directory() {
    let home = OmpHome::new();
    let agent = |variables: &[(&str, &str)]| {
        let [agent, data] = directories(&home, variables);
        assert_eq!(agent, data);
        agent
    };
    let profile = ".omp/profiles/work/agent";
    assert_eq!(agent(&[]), ".omp/agent");
    assert_eq!(agent(&[("PI_CODING_AGENT_DIR", "/abs")]), "/abs");
    assert_eq!(agent(&[("PI_CONFIG_DIR", ".mine")]), ".mine/agent");
    // Below the home directory, whatever it begins with.
    assert_eq!(agent(&[("PI_CONFIG_DIR", "/mine")]), "mine/agent");
    assert_eq!(agent(&[("OMP_PROFILE", " work ")]), profile);
    assert_eq!(agent(&[("PI_PROFILE", "work")]), profile);
    assert_eq!(agent(&[("OMP_PROFILE", "work"), ("PI_PROFILE", "other")]), profile);
    assert_eq!(agent(&[("OMP_PROFILE", ""), ("PI_PROFILE", "work")]), ".omp/agent");
    assert_eq!(agent(&[("OMP_PROFILE", "default")]), ".omp/agent");
    assert_eq!(agent(&[("OMP_PROFILE", "work"), ("PI_CODING_AGENT_DIR", "/abs")]), profile);
    assert_eq!(agent(&[("OMP_PROFILE", "work"), ("PI_CONFIG_DIR", ".mine")]), ".mine/profiles/work/agent");
    // omp sets both for its children; a child that goes back to the default profile gets that one's directory.
    let inherited = home.0.path().join(profile);
    let inherited = inherited.to_str().unwrap();
    let variables = [("OMP_PROFILE", ""), ("PI_PROFILE", "work"), ("PI_CODING_AGENT_DIR", inherited)];
    assert_eq!(agent(&variables), ".omp/agent");
}

#[test]
fn invalid_profile_is_the_default_with_warning() {
    let home = OmpHome::new();
    let long = "a".repeat(65);
    for name in ["..", "../x", "Work", "-a", "a.", "com1", "nul.x", &long] {
        let config = home.load(&[("OMP_PROFILE", name)]);
        assert_eq!(config.directories.agent, home.agent(), "{name}");
        let [warning] = &config.warnings[..] else { panic!("{name}: {:?}", config.warnings) };
        let start = "OMP_PROFILE: expected the name of a profile ";
        assert!(
            warning.starts_with(start) && warning.ends_with("; the default profile is used"),
            "{warning}"
        );
    }
    for name in ["a", "0.b", "com10", "console", &long[1..]] {
        assert_eq!(home.load(&[("OMP_PROFILE", name)]).warnings, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn data_directory_holds_database_and_sessions() {
    let home = OmpHome::new();
    let share = home.0.path().join("share");
    let set = ("XDG_DATA_HOME", share.to_str().unwrap());
    assert_eq!(directories(&home, &[set]), [".omp/agent", ".omp/agent"]);
    fs::create_dir_all(share.join("omp")).unwrap();
    assert_eq!(directories(&home, &[set]), [".omp/agent", "share/omp"]);
    assert_eq!(directories(&home, &[set, ("PI_CODING_AGENT_DIR", "/abs")]), ["/abs", "/abs"]);
    let profile = ".omp/profiles/work/agent";
    assert_eq!(directories(&home, &[set, ("OMP_PROFILE", "work")]), [profile, profile]);
    fs::create_dir_all(share.join("omp/profiles/work")).unwrap();
    assert_eq!(directories(&home, &[set, ("OMP_PROFILE", "work")]), [profile, "share/omp/profiles/work"]);
    let database = OmpDatabase::create(&share.join("omp/agent.db"));
    database.add("groq", "api_key", &json!({ "key": "of the data" }));
    assert_eq!(key(&home.load(&[set]), "groq").as_deref(), Some("of the data"));
}

#[test]
fn profile_of_command_line_is_checked() {
    let with = |name| {
        let inherited = [("OMP_PROFILE", "other")].into_iter().collect();
        with_profile(Dialect::Omp, "--profile", name, &inherited)
            .map(|environment| environment.get("OMP_PROFILE").map(str::to_owned))
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("work"), Ok(Some("work".to_owned())));
    for wrong in ["../work", "", " ", "con"] {
        let text = format!(
            "--profile: expected the name of a profile (up to 64 of a-z, 0-9, `.`, `_` and `-`; a letter or digit first, no `.` \
             last, no name of a device of Windows, such as con), got {wrong:?}"
        );
        assert_eq!(with(wrong), Err(text));
    }
}
