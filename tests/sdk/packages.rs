//! The SDKs as packages: packed, installed from the file into an empty project, and used there with our server.

use crate::{
    chromium_support::chromium,
    toolchain_support::{environment, packages, run},
    typescript,
};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Files of the programs that use the packages.
fn program(name: &str) -> PathBuf {
    Path::new(ROOT).join("tests/sdk/packages").join(name)
}

/// `program` with our server in its path, and a home of its own.
pub fn in_project(program: &Path, project: &Path) -> Command {
    let mut command = Command::new(program);
    let server = Path::new(env!("CARGO_BIN_EXE_pi-rpc")).parent().expect("a folder");
    let path = format!("{}:{}", server.display(), std::env::var("PATH").unwrap_or_default());
    command.current_dir(project).env("PATH", path).env("HOME", project);
    command
}

#[track_caller]
pub fn printed(command: &mut Command) -> String {
    run(command).unwrap_or_else(|error| panic!("{error}"))
}

/// An empty project that has the package of npm, from its file; with the folder of the tools that it is compiled by.
pub fn npm_project() -> Option<(tempfile::TempDir, PathBuf)> {
    let tools = packages("sdk/typescript")?;
    let package = typescript::built()?;
    let project = tempfile::tempdir().expect("a folder");
    let packed = project.path().join("packed");
    fs::create_dir(&packed).expect("a folder");
    symlink(package.join("dist"), packed.join("dist")).expect("a link");
    printed(Command::new("cp").args(["-RL"]).arg(package.join("dist")).arg(packed.join("compiled")));
    fs::remove_file(packed.join("dist")).expect("the link");
    fs::rename(packed.join("compiled"), packed.join("dist")).expect("dist");
    let sdk = Path::new(ROOT).join("sdk/typescript");
    for name in ["package.json", "README.md", "GUIDE.md", "LICENSE-APACHE", "LICENSE-MIT", "src"] {
        printed(Command::new("cp").arg("-R").arg(sdk.join(name)).arg(&packed));
    }
    let mut pack = in_project(Path::new("npm"), &packed);
    let file =
        printed(pack.args(["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", ".."]));
    fs::remove_dir_all(&packed).expect("only the file is left");
    fs::write(project.path().join("package.json"), r#"{ "private": true, "type": "module" }"#)
        .expect("a file");
    let mut install = in_project(Path::new("npm"), project.path());
    install.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    printed(install.arg(format!("./{}", file.trim())));
    Some((project, tools))
}

#[test]
fn npm_package_runs_in_empty_project() {
    let Some((project, tools)) = npm_project() else { return };
    let mut node = in_project(Path::new("node"), project.path());
    fs::copy(program("program.mjs"), project.path().join("program.mjs")).expect("a file");
    assert_eq!(printed(node.arg("program.mjs")), "4 messages");
    let installed = project.path().join("node_modules/pi-rpc-client");
    for name in ["README.md", "GUIDE.md", "LICENSE-APACHE", "LICENSE-MIT", "dist/src/browser.d.ts"] {
        assert!(installed.join(name).exists(), "{name}");
    }
    page_speaks_to_host(&project, &tools);
}

/// A page is checked without the types of Node.js, bundled without its modules, and speaks to a host.
fn page_speaks_to_host(project: &tempfile::TempDir, tools: &Path) {
    for name in ["page.ts", "connect.mjs", "tsconfig.json"] {
        fs::copy(program(name), project.path().join(name)).expect("a file");
    }
    let mut tsc = in_project(Path::new("node"), project.path());
    tsc.arg(tools.join("node_modules/typescript/bin/tsc")).args(["--project", "."]);
    printed(&mut tsc);
    let mut esbuild = in_project(&tools.join("node_modules/.bin/esbuild"), project.path());
    esbuild.args(["page.ts", "--bundle", "--platform=browser", "--format=esm", "--outfile=page.js"]);
    printed(esbuild.arg("--log-level=warning"));
    let site = site(project.path());
    let host = Host::start(project.path(), &site);
    let mut node = in_project(Path::new("node"), project.path());
    node.args(["--no-warnings", "--experimental-websocket", "connect.mjs"]);
    let session = format!("{}/sessions/new?in_memory=true", host.address);
    node.args([&session, "secret"]);
    assert_eq!(printed(&mut node), "4 messages, true, true");
    let Some(mut chromium) = chromium() else { return };
    chromium.navigate(&format!("{site}/"), (800, 600), "light");
    let conversed = format!("import('/page.js').then(page => page.converse({session:?}, 'secret'))");
    assert_eq!(chromium.value(&conversed), "4 messages, true, true");
}

#[test]
fn node_program_talks_to_host() {
    let Some((project, tools)) = npm_project() else { return };
    for name in ["host.mjs", "node.ts"] {
        fs::copy(program(name), project.path().join(name)).expect("a file");
    }
    fs::copy(program("node.tsconfig.json"), project.path().join("tsconfig.json")).expect("a file");
    let modules = project.path().join("node_modules");
    for name in ["ws", "@types"] {
        symlink(tools.join("node_modules").join(name), modules.join(name)).expect("a link");
    }
    let mut tsc = in_project(Path::new("node"), project.path());
    printed(tsc.arg(tools.join("node_modules/typescript/bin/tsc")).args(["--project", "."]));
    let readme = fs::read_to_string("sdk/typescript/README.md").expect("README.md");
    let recipe = fs::read_to_string(program("host.mjs")).expect("a program");
    assert!(readme.contains(&recipe), "the README has another program than tests/sdk/packages/host.mjs");
    tells_why(&project, |arguments| {
        let mut node = in_project(Path::new("node"), project.path());
        node.arg("host.mjs").args(arguments);
        node
    });
}

#[test]
fn python_program_talks_to_host() {
    let Some(python) = environment("sdk/python/requirements.txt") else { return };
    let Some((project, site)) = wheel("sdk/python") else { return };
    let readme = fs::read_to_string("sdk/python/README.md").expect("README.md");
    let recipe = fs::read_to_string(program("host.py")).expect("a program");
    assert!(readme.contains(&recipe), "the README has another program than tests/sdk/packages/host.py");
    tells_why(&project, |arguments| {
        let mut command = in_project(&python, project.path());
        command.env("PYTHONPATH", &site).arg(program("host.py")).args(arguments);
        command
    });
}

/// A program with an address and a token as arguments: what it prints at a host, where none is, with a wrong token, and when
/// the connection breaks.
fn tells_why(project: &tempfile::TempDir, command: impl Fn(&[&str]) -> Command) {
    let folder = project.path();
    let host = Host::start_with(
        folder,
        &["--dialect", "pi-1", "--listen", "ws://127.0.0.1:0", "--token-file", "tokens"],
    );
    let session = format!("{}/sessions/new?in_memory=true", host.address);
    let said = |arguments: &[&str]| printed(&mut command(arguments));
    let answers = |text: String| assert!(text.contains("I am pi-rpc's built-in scripted demo"), "{text}");
    answers(said(&[&session, "secret"]));
    assert_eq!(said(&[&session, "wrong"]), "refused: 401 invalid_token: the host does not know this token");
    assert_eq!(said(&[&session]), "refused: 401 missing_token: expected Authorization: Bearer TOKEN");
    let unknown = format!("{}/sessions/nobody", host.address);
    assert_eq!(said(&[&unknown, "secret"]), "refused: 404 unknown_session");
    let nowhere = said(&["ws://127.0.0.1:1", "secret"]);
    assert!(nowhere.starts_with("nobody listens: ws://127.0.0.1:1: "), "{nowhere}");
    let (breaking, connections) = breaking(&host.address);
    answers(said(&[&session.replace(&host.address, &breaking), "secret"]));
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    let unix = Host::start_with(folder, &["--dialect", "pi-1", "--listen", "unix:pi.sock"]);
    answers(said(&[&format!("{}:/sessions/new?in_memory=true", unix.address)]));
}

/// Bytes of the host after which the first connection breaks: within the answer.
const BREAKS_AFTER: u64 = 5000;

/// A way to a host whose first connection breaks; the count is that of all connections.
fn breaking(host: &str) -> (String, Arc<AtomicUsize>) {
    let to = host.strip_prefix("ws://").expect("an address").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("ws://{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let connections = Arc::clone(&count);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let is_first = connections.fetch_add(1, Ordering::SeqCst) == 0;
            let server = TcpStream::connect(&to).expect("the host");
            let (mut from_client, mut to_server) =
                (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
            std::thread::spawn(move || io::copy(&mut from_client, &mut to_server));
            std::thread::spawn(move || {
                let most = if is_first { BREAKS_AFTER } else { u64::MAX };
                let _ = io::copy(&mut (&server).take(most), &mut &client);
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            });
        }
    });
    (address, count)
}

/// A web server for the script of the page, at an address of its own; any other path is an empty page.
fn site(project: &Path) -> String {
    let script = fs::read(project.join("page.js")).expect("page.js");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let is_script = lines.next().is_some_and(|line| line.starts_with("GET /page.js "));
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let (kind, body): (_, &[u8]) =
                if is_script { ("text/javascript", &script) } else { ("text/html", b"") };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // The browser may have gone.
            let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body));
        }
    });
    address
}

/// A host that knows the token `secret`.
struct Host {
    child: Child,
    address: String,
}

impl Host {
    fn start(folder: &Path, origin: &str) -> Self {
        let listen = ["--dialect", "pi", "--listen", "ws://127.0.0.1:0", "--token-file", "tokens"];
        Self::start_with(folder, &[&listen[..], &["--allow-origin", origin]].concat())
    }

    fn start_with(folder: &Path, options: &[&str]) -> Self {
        // SHA-256 of the token.
        let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        fs::write(folder.join("tokens"), hash).expect("a file");
        let mut host = in_project(Path::new(env!("CARGO_BIN_EXE_pi-rpc")), folder);
        host.arg("host").args(options).args(["--model", "scripted/demo"]);
        let mut child = host.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the host");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("listening at ")?.1.to_owned()));
        // What is logged later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.expect("an address") }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds sdist and wheel of a project of Python, and installs the wheel alone: the folder that has it.
pub fn wheel(source: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let builder = environment("tests/sdk/packages/requirements.txt")?;
    let project = tempfile::tempdir().expect("a folder");
    let copy = project.path().join("source");
    printed(Command::new("cp").arg("-R").arg(Path::new(ROOT).join(source)).arg(&copy));
    let mut build = Command::new(&builder);
    build.args(["-m", "build", "--no-isolation", "--outdir"]).arg(project.path().join("dist")).arg(&copy);
    printed(&mut build);
    fs::remove_dir_all(copy).expect("only the files are left");
    let files = fs::read_dir(project.path().join("dist")).expect("dist").flatten().map(|entry| entry.path());
    let wheel =
        files.into_iter().find(|file| file.extension().is_some_and(|it| it == "whl")).expect("a wheel");
    let site = project.path().join("site");
    let mut pip = Command::new(&builder);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]);
    printed(pip.arg("--target").arg(&site).arg(wheel));
    Some((project, site))
}

#[test]
fn wheel_of_client_runs_in_empty_project() {
    let Some(python) = environment("sdk/python/requirements.txt") else { return };
    let Some((project, site)) = wheel("sdk/python") else { return };
    let mut client = in_project(&python, project.path());
    assert_eq!(printed(client.env("PYTHONPATH", &site).arg(program("program.py"))), "4 messages");
    for name in ["pi_rpc_client/py.typed", "pi_rpc_client-0.2.0.dist-info/licenses/LICENSE-MIT"] {
        assert!(site.join(name).exists(), "{name}");
    }
}

#[test]
fn wheel_of_extensions_runs_in_empty_project() {
    let Some(python) = environment("sdk/python/requirements.txt") else { return };
    let Some((project, site)) = wheel("examples/extensions") else { return };
    let readme = fs::read_to_string("examples/extensions/README.md").expect("README.md");
    let code =
        readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let extension = project.path().join("dice.py");
    fs::write(&extension, code).expect("a file");
    printed(Command::new("chmod").arg("+x").arg(&extension));
    let mut shell = in_project(Path::new("sh"), project.path());
    let line = r#"printf '{"type":"prompt","message":"/hello Ada"}\n' | pi-rpc serve --dialect pi --no-session --model scripted/demo -e ./dice.py"#;
    let frames = printed(shell.args(["-c", line]).env("PYTHONPATH", &site));
    assert!(frames.contains(r#""message":"Hello, Ada""#), "{frames}");
    let mut mypy = in_project(&python, project.path());
    mypy.env("MYPYPATH", "")
        .args(["-m", "mypy", "--python-executable"])
        .arg(&python)
        .arg("--check-untyped-defs");
    printed(mypy.env("PYTHONPATH", &site).arg("dice.py"));
}
