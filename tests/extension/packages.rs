//! Which of pi's own extensions there are, what packages bring along, and in which order.

use pi_rpc::{
    config::{Environment, Sources, load},
    packages::{FoundPackages, PackagePlaces, SourcePlace, find},
    protocol::{
        Dialect::{self, Pi, Pi1},
        SourceInfo,
    },
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
};
use tempfile::TempDir;

/// A home with an agent directory, and a project in `work`.
struct House(TempDir);

impl House {
    fn with(files: &[&str]) -> Self {
        let house = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(house.path("work")).unwrap();
        files.iter().for_each(|name| house.file(name, ""));
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn json(&self, name: &str, value: &Value) {
        self.file(name, &value.to_string());
    }

    fn find_as(
        &self,
        dialect: Dialect,
        given: &[&str],
        approve: Option<bool>,
        only_given: bool,
    ) -> FoundPackages {
        let home = self.0.path().to_str().unwrap();
        let pairs =
            [("HOME", home.to_owned()), ("PATH", format!("{home}/bin")), ("PI_OFFLINE", "1".to_owned())];
        let environment: Environment = pairs.into_iter().collect();
        let working = self.path("work");
        let config = load(Sources {
            dialect,
            working_directory: working.clone(),
            environment: environment.clone(),
            approve,
        });
        assert_eq!(config.warnings, Vec::<String>::new());
        let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
        find(&PackagePlaces {
            config: &config,
            given: &given,
            only_given,
            working: &working,
            environment: &environment,
            cache: &self.path("cache"),
        })
    }

    fn find(&self, dialect: Dialect, given: &[&str]) -> FoundPackages {
        self.find_as(dialect, given, Some(true), false)
    }

    /// Where each is from and which it is, in order.
    fn extensions(&self, dialect: Dialect, given: &[&str]) -> Vec<String> {
        let found = self.find(dialect, given);
        assert_eq!((&found.warnings, &found.troubles), (&vec![], &vec![]));
        self.told(&found.extensions)
    }

    fn told(&self, all: &[SourceInfo]) -> Vec<String> {
        let house = format!("{}/", self.0.path().display());
        let tell = |it: &SourceInfo| {
            let base = it.base_dir.as_ref().map(|base| format!(" in {base}")).unwrap_or_default();
            format!("{} {}: {}{base}", it.source, it.scope.as_str(), it.path).replace(&house, "")
        };
        all.iter().map(tell).collect()
    }
}

/// A house with an extension in every place.
fn full() -> House {
    let house = House::with(&[
        "work/given.ts",
        "work/.pi/extensions/project.ts",
        "work/.pi/listed/project.js",
        ".pi/agent/extensions/user.ts",
        ".pi/agent/listed/user.js",
        ".pi/agent/npm/node_modules/@me/tools/extensions/package.ts",
    ]);
    house.json(
        ".pi/agent/settings.json",
        &json!({ "extensions": ["listed"], "packages": ["npm:@me/tools@1"] }),
    );
    house.json("work/.pi/settings.json", &json!({ "extensions": ["./listed/project.js"] }));
    house
}

#[test]
fn current_order_is_cli_project_user_packages() {
    let expected = [
        "cli temporary: work/given.ts",
        "local project: work/.pi/listed/project.js",
        "auto project: work/.pi/extensions/project.ts in work/.pi",
        "local user: .pi/agent/listed/user.js",
        "auto user: .pi/agent/extensions/user.ts in .pi/agent",
        "npm:@me/tools@1 user: .pi/agent/npm/node_modules/@me/tools/extensions/package.ts \
         in .pi/agent/npm/node_modules/@me/tools",
    ];
    assert_eq!(full().extensions(Pi1, &["given.ts"]), expected);
}

#[test]
fn old_order_is_packages_settings_folders_cli() {
    let expected = [
        "npm:@me/tools@1 user: .pi/agent/npm/node_modules/@me/tools/extensions/package.ts \
         in .pi/agent/npm/node_modules/@me/tools",
        "local user: .pi/agent/listed/user.js",
        "local project: work/.pi/listed/project.js",
        "auto user: .pi/agent/extensions/user.ts in .pi/agent",
        "auto project: work/.pi/extensions/project.ts in work/.pi",
        "cli temporary: work/given.ts",
    ];
    assert_eq!(full().extensions(Pi, &["given.ts"]), expected);
}

#[test]
fn without_discovery_the_command_line_alone_counts() {
    let found = full().find_as(Pi1, &["given.ts"], None, true);
    assert_eq!((found.extensions.len(), found.first), (1, Some(SourcePlace::Given(0))));
}

#[test]
fn untrusted_project_of_pi_1_loads_nothing() {
    let house = full();
    let count = |dialect, approve| house.find_as(dialect, &[], approve, false).extensions.len();
    assert_eq!([count(Pi1, None), count(Pi1, Some(true)), count(Pi1, Some(false))], [3, 5, 3]);
    let parent = fs::canonicalize(house.path(".")).unwrap();
    house.json(".pi/agent/trust.json", &json!({ parent.to_str().unwrap(): true }));
    assert_eq!([count(Pi1, None), count(Pi1, Some(false))], [5, 3]);
    fs::remove_file(house.path(".pi/agent/trust.json")).unwrap();
    house.json(".pi/agent/settings.json", &json!({ "defaultProjectTrust": "always" }));
    house.json("work/.pi/settings.json", &json!({ "defaultProjectTrust": "never" }));
    assert_eq!(count(Pi1, None), 2);
}

#[test]
fn folder_lists_scripts_and_folder_entries() {
    let house = House::with(&[
        ".pi/agent/extensions/b.ts",
        ".pi/agent/extensions/a.js",
        ".pi/agent/extensions/c/index.ts",
        ".pi/agent/extensions/c/other.ts",
        ".pi/agent/extensions/d/index.js",
        ".pi/agent/extensions/e/src/main.ts",
        ".pi/agent/extensions/f/other.ts",
        ".pi/agent/extensions/node_modules/g.ts",
        ".pi/agent/extensions/.hidden.ts",
        ".pi/agent/extensions/ignored.ts",
        ".pi/agent/extensions/readme.md",
    ]);
    house.file(".pi/agent/extensions/.gitignore", "ignored.ts\n");
    let manifest = json!({ "pi": { "extensions": ["./src/main.ts", "./gone.ts"] } });
    house.json(".pi/agent/extensions/e/package.json", &manifest);
    let program = house.path(".pi/agent/extensions/program.js");
    fs::write(&program, "#!/usr/bin/env node\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let names = ["a.js", "b.ts", "c/index.ts", "d/index.js", "e/src/main.ts"];
    let expected = names.map(|name| format!("auto user: .pi/agent/extensions/{name} in .pi/agent"));
    assert_eq!(house.extensions(Pi1, &[]), expected);
}

#[test]
fn settings_patterns_exclude_and_include() {
    let house = House::with(&[
        ".pi/agent/extensions/a.ts",
        ".pi/agent/extensions/b.ts",
        ".pi/agent/extensions/c.ts",
        ".pi/agent/listed/d.ts",
        ".pi/agent/listed/e.ts",
    ]);
    let entries =
        ["listed", "!extensions/*.ts", "+extensions/b.ts", "+extensions/c.ts", "-extensions/c.ts", "!e.ts"];
    house.json(".pi/agent/settings.json", &json!({ "extensions": entries }));
    let expected = ["local user: .pi/agent/listed/d.ts", "auto user: .pi/agent/extensions/b.ts in .pi/agent"];
    assert_eq!(house.extensions(Pi1, &[]), expected);
}

#[test]
fn excluded_extension_can_be_named() {
    let house = House::with(&[".pi/agent/extensions/a.ts"]);
    house.json(".pi/agent/settings.json", &json!({ "extensions": ["!a.ts"] }));
    for dialect in [Pi, Pi1] {
        assert_eq!(house.extensions(dialect, &[]), Vec::<String>::new());
        // What is known of it is not forgotten.
        let expected = ["auto user: .pi/agent/extensions/a.ts in .pi/agent"];
        assert_eq!(house.extensions(dialect, &["../.pi/agent/extensions/a.ts"]), expected);
    }
}

#[test]
fn pi_1_reports_package_changelog() {
    let house =
        House::with(&[".pi/agent/pack/extensions/a.ts", ".pi/agent/pack/CHANGELOG.md", ".pi/agent/out.md"]);
    house.json(".pi/agent/settings.json", &json!({ "packages": ["./pack"] }));
    let told = |dialect| house.find(dialect, &[]).extensions[0].changelog_path.clone();
    let path = house.path(".pi/agent/pack/CHANGELOG.md").to_str().unwrap().to_owned();
    assert_eq!((told(Pi), told(Pi1)), (None, Some(path)));
    house.json(".pi/agent/pack/package.json", &json!({ "pi": { "changelogPath": "../out.md" } }));
    assert_eq!(told(Pi1), None);
}

#[test]
fn a_file_counts_once_by_whatever_name() {
    let house = House::with(&["work/a.ts", ".pi/agent/extensions/other.ts"]);
    symlink(house.path("work/a.ts"), house.path(".pi/agent/extensions/link.ts")).unwrap();
    let found = house.extensions(Pi1, &["a.ts", "./a.ts", "../work/a.ts"]);
    let other = "auto user: .pi/agent/extensions/other.ts in .pi/agent";
    assert_eq!(found, ["cli temporary: work/a.ts", other]);
}

#[test]
fn command_line_accepts_files_folders_and_packages() {
    let house = House::with(&[
        "work/file.mts",
        "work/folder/index.ts",
        "work/pack/extensions/one.ts",
        "work/pack/skills/knit/SKILL.md",
        "work/pack/prompts/ask.md",
        "work/tools/run",
        "work/declared/src/x.ts",
        "work/declared/extensions/not-declared.ts",
    ]);
    house.json("work/declared/package.json", &json!({ "pi": { "extensions": ["src/*.ts"] } }));
    let given = ["./file.mts", "folder", "pack", "declared", "tools", "missing.ts", "run.py"];
    let found = house.find(Pi1, &given);
    let expected = [
        "cli temporary: work/file.mts",
        "cli temporary: work/folder",
        "cli temporary: work/pack/extensions/one.ts",
        "cli temporary: work/declared/src/x.ts",
    ];
    assert_eq!(house.told(&found.extensions), expected);
    assert_eq!(house.told(&found.skills.given), ["cli temporary: work/pack/skills/knit/SKILL.md"]);
    assert_eq!(house.told(&found.templates.given), ["cli temporary: work/pack/prompts/ask.md"]);
    assert_eq!((found.others, found.troubles), (vec![4, 5, 6], vec![]));
}

#[test]
fn settings_filter_package_contents() {
    let house = House::with(&[
        ".pi/agent/pack/extensions/a.ts",
        ".pi/agent/pack/extensions/b.ts",
        ".pi/agent/pack/extensions/c.ts",
        ".pi/agent/pack/skills/knit/SKILL.md",
        ".pi/agent/pack/prompts/ask.md",
        ".pi/agent/pack/prompts/deep/er.md",
    ]);
    let package = json!({ "source": "./pack", "extensions": ["extensions/*.ts", "!b.ts"], "skills": [] });
    house.json(".pi/agent/settings.json", &json!({ "packages": [package] }));
    let found = house.find(Pi1, &[]);
    let of = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("./pack user: .pi/agent/pack/{name} in .pi/agent/pack")).collect()
    };
    assert_eq!(house.told(&found.extensions), of(&["extensions/a.ts", "extensions/c.ts"]));
    assert_eq!(house.told(&found.skills.packaged), of(&[]));
    assert_eq!(house.told(&found.templates.packaged), of(&["prompts/ask.md", "prompts/deep/er.md"]));
}

#[test]
fn project_package_wins_unless_it_only_filters() {
    let house = House::with(&[
        ".pi/agent/npm/node_modules/tools/extensions/a.ts",
        ".pi/agent/npm/node_modules/tools/extensions/b.ts",
        "work/.pi/npm/node_modules/tools/extensions/own.ts",
    ]);
    house.json(".pi/agent/settings.json", &json!({ "packages": ["npm:tools"] }));
    house.json("work/.pi/settings.json", &json!({ "packages": ["npm:tools@2"] }));
    let root = "work/.pi/npm/node_modules/tools";
    let own = format!("npm:tools@2 project: {root}/extensions/own.ts in {root}");
    assert_eq!(house.extensions(Pi1, &[]), [own]);

    let narrowed = json!({ "source": "npm:tools", "autoload": false, "extensions": ["-extensions/b.ts"] });
    house.json("work/.pi/settings.json", &json!({ "packages": [narrowed] }));
    let root = ".pi/agent/npm/node_modules/tools";
    assert_eq!(house.extensions(Pi1, &[]), [format!("npm:tools user: {root}/extensions/a.ts in {root}")]);
}

#[test]
fn packages_are_where_pi_installs_them() {
    let house = House::with(&[
        "bin/node",
        "lib/node_modules/old/extensions/a.ts",
        ".pi/agent/git/github.com/me/repo/extensions/b.ts",
    ]);
    house.json(".pi/agent/settings.json", &json!({ "packages": ["npm:old", "git:github.com/me/repo@v1"] }));
    let expected = [
        "npm:old user: lib/node_modules/old/extensions/a.ts in lib/node_modules/old",
        "git:github.com/me/repo@v1 user: .pi/agent/git/github.com/me/repo/extensions/b.ts \
         in .pi/agent/git/github.com/me/repo",
    ];
    // npm's own folder is found by its real path.
    let real = fs::canonicalize(house.path(".")).unwrap().display().to_string() + "/";
    let found: Vec<String> = house.extensions(Pi1, &[]).iter().map(|line| line.replace(&real, "")).collect();
    assert_eq!(found, expected);
}

#[test]
fn main_file_makes_folder_an_extension() {
    for (main, count) in [("./src/a.ts", 1), ("src/a", 1), ("lib", 1), ("src", 0), ("./gone.ts", 0)] {
        let house = House::with(&["work/pack/src/a.ts", "work/pack/lib/index.mts"]);
        house.json("work/pack/package.json", &json!({ "main": main }));
        assert_eq!(house.find(Pi1, &["./pack"]).extensions.len(), count, "{main}");
    }
}

#[test]
fn missing_package_error_names_install_command() {
    let house = House::with(&[]);
    let packages = json!(["npm:a@1", "git:github.com/b/c", "./gone"]);
    house.json(".pi/agent/settings.json", &json!({ "packages": packages }));
    house.json("work/.pi/settings.json", &json!({ "packages": ["npm:d"] }));
    let troubles = house.find(Pi1, &["npm:e"]).troubles;
    let told: Vec<_> = troubles.iter().map(|it| (it.path.as_str(), it.text.as_str())).collect();
    let missing = "the package is not installed: npm install --prefix";
    let (agent, project) = (house.path(".pi/agent"), house.path("work/.pi"));
    let (agent, project) = (agent.display(), project.display());
    let clone = "the package is not installed: git clone https://github.com/b/c";
    let expected = [
        ("npm:d", format!("{missing} {project}/npm d")),
        ("npm:a@1", format!("{missing} {agent}/npm a@1")),
        ("git:github.com/b/c", format!("{clone} {agent}/git/github.com/b/c")),
        ("./gone", format!("there is no such package in {}", house.path(".pi/agent").display())),
        ("npm:e", "the package is not in the cache, and PI_OFFLINE forbids fetching it".to_owned()),
    ];
    assert_eq!(told, expected.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>());
}
