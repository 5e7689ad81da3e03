//! The text of `pi-rpc serve --help`.
//!
//! Written by hand, as pi's own options are not clap's. A test compares the defaults of the limits with the code. The
//! reference, the manual and the completions are derived from it.

/// Options, one or two lines each, with their defaults in parentheses; then notes and examples.
pub const HELP: &str = "\
Dialect and mode:
  --dialect <D>                Speak pi (0.52 to 0.57), pi@0.58, pi@0.58.4, pi@0.73, pi-1@1.5, pi-1 (1.6), pi-1@login,
                               pi-1@navigation (navigate_tree), xcsh, omp (18.2) or omp@18.3 (PI_RPC_DIALECT, else the
                               name of the binary, else pi-1)
  --wire-login                 Let the host log its user in and out: get_login_providers, login, abort_login, logout
                               (only with pi-1; same as --dialect pi-1@login)
  --mode <MODE>                Serve the protocol (rpc), or run the prompts of the command line, print the last
                               answer (text) or the header and all events as JSON lines (json), and exit (rpc)
  -p, --print                  Same as --mode text. Put stdin, unless it is a terminal, and files given as @FILE in
                               front of the first prompt; cancel dialogs; exit with 1 if the last answer is an error

Model:
  --provider <NAME>            Start with the default model of this provider, or look for --model there
  --model <PATTERN>            Start with this model: provider/id, an id, or a part of an id or name, optionally with a
                               level (sonnet:high). scripted/demo needs no key; scripted/FILE plays a script
  --models <A,B>               Limit cycle_model to these patterns (* and ? allowed)
  --thinking <LEVEL>           Start with off, minimal, low, medium, high, xhigh or max
  --api-key <KEY>              Use this key for the provider of the first model; it is not stored
  --pass-keys <A,B>            Pass these environment variables to commands, extensions and installers although they
                               hold keys: names or patterns (AWS_*); all: every one
  --idle-timeout <SECONDS>     Fail a model call after so much silence; ten times as much while the provider keeps the
                               connection alive. 0: never (httpIdleTimeoutMs, retry.provider.timeoutMs, else 300)
  --list-models [WORDS]        List the models whose names contain these words, and exit
  --export <FILE>              Write the session in FILE as an HTML page and exit; the next word names the page

Another agent:
  --backend <KIND>             acp: let an agent of the Agent Client Protocol answer, with models, tools and context of its
                               own; its command line stands behind -- (options of models, tools, instructions and
                               extensions are refused); rpc:DIALECT, with pi-rpc host: let another server of this protocol,
                               which speaks that dialect, serve each session

Tools:
  -t, --tools <A,B>            Offer only these: names, or patterns (r*), of read, bash, edit, write, grep, find, ls (the
                               first four, or defaultTools of the settings) and of tools of extensions; or change that
                               selection by exact names behind + and - (+grep,-bash)
  -nt, --no-tools              Offer no tools except those of --tools
  -nbt, --no-builtin-tools     Offer no built-in tools except those of --tools
  -xt, --exclude-tools <A,B>   Never offer these, whoever brings them: names or patterns. An entry, here or behind -, that
                               matches no tool ends the start with status 2; one that adds none is a warning
  --confirm-tools <A,B>        Ask the user before each call of these tools: names or patterns (mcp_*, *). While no tool
                               matches a pattern and extensions or the host may add one, ask about every call

Instructions:
  --system-prompt <TEXT>       Replace the built-in system prompt by a text or the content of a file
  --append-system-prompt <TEXT>
                               Append a text or the content of a file to the system prompt; repeatable
  -nc, --no-context-files      Leave out AGENTS.md and CLAUDE.md; SYSTEM.md stays
  --skill <PATH>               Add a skill, or a directory of skills; repeatable
  -ns, --no-skills             Use no skills except those of --skill
  --prompt-template <PATH>     Add a prompt template, or a directory of templates; repeatable
  -np, --no-prompt-templates   Use no prompt templates except those of --prompt-template

Session:
  -n, --name <NAME>            Set the session's name
  --session <PATH|ID>          Resume this session: a file, or the beginning of an id; also --resume
  -c, --continue               Resume the newest session of this folder, else begin one
  --fork <PATH|ID>             Begin with a copy of this session
  --session-id <ID>            Resume this folder's session with this id, else begin one; with --fork or --no-session:
                               the id of the new session
  --no-session                 Keep the session in memory
  --session-dir <DIR>          Keep all sessions in this folder (PI_CODING_AGENT_SESSION_DIR, else sessionDir of the
                               settings, else a folder for each working directory below the agent's)
  --profile <NAME>             Use this profile's folder; only in omp (OMP_PROFILE, else PI_PROFILE)
  --sync <WHEN>                Flush the session to disk, against loss of power: none, at the end of each run (run), at
                               each entry (entry) (none)
  --disk-timeout <SECONDS>     Fail a run if the file system takes longer for an entry; 0: never (30)

Extensions:
  -e, --extension <PATH>       Load an extension: an executable; a file of pi's in TypeScript or JavaScript (needs Node
                               18.19, from PI_RPC_NODE or PATH); a folder of either; a package (npm:NAME,
                               git:HOST/PATH, a folder); repeatable
  -ne, --no-extensions         Load no extensions except those of --extension
  --no-ui                      Show nothing that extensions ask or tell the user; dialogs get their default at once
                               (omp@18.3)
  --no-mcp                     Connect no MCP servers of mcp.json
  --require-extensions         Refuse to start, with status 1, if an extension cannot be loaded, so that no tool is offered
                               that it was to guard (pi-1; host and acp refuse the session, in every dialect)
  --keep-going                 Serve on without extensions that cannot be loaded: an extension_error says which (all
                               other dialects)
  -a, --approve                Approve the project: run its code, and read its settings, SYSTEM.md, skills and
                               prompt templates (an extension's project_trust, else trust.json of the agent
                               directory, else defaultProjectTrust of the settings, else as the dialect: in pi-1
                               neither; in xcsh, omp and on a host no code; in pi no executable)
  -na, --no-approve            Leave all of that out; AGENTS.md and CLAUDE.md stay
  --follow-links               Let links of the project's AGENTS.md, settings, skills and the like lead out of its
                               repository

Limits:
  --max-cost <DOLLARS>         Ask the user before a run goes on that has cost so much; session=DOLLARS: for the whole
                               session. Several limits are separated by commas. Without a user the run ends there
  --max-turns <N>              The same for its answers
  --max-time <SECONDS>         The same for the time in which it works
  --max-frame <BYTES>          Refuse longer lines of the host (64 MiB)
  --max-queue <BYTES>          Refuse messages and commands while so much is queued (64 MiB)
  --max-unread <BYTES>         Read no commands while so many bytes of frames are pending; models and tools pause at a
                               sixteenth of it (16 MiB)
  --max-session <BYTES>        Open no longer session, and let the host add nothing to one (1 GiB)
  --max-bash <N>               Refuse bash commands of the host while so many run (64)
  --max-output-file <BYTES>    Limit the file with the full output of one command (1 GiB)
  --max-output-files <BYTES>   Limit all these files together; the oldest are removed, and the next output lists
                               them (4 GiB)

Many sessions (pi-rpc host):
  --listen <ADDRESS>           Listen at unix:PATH, ws://HOST:PORT, wss://HOST:PORT, or systemd: (the sockets that it
                               passes); repeatable
  --status <URL>               Print hosts, sessions, owners, lag and limits of the host at this address (as for attach) and of
                               those that share sessions with it, as far as the token in PI_RPC_TOKEN may see them; only
                               --json and --tls-ca FILE go with it
  --token-file <FILE>          Let in by TCP who has one of these tokens: the SHA-256 of each, in hexadecimal, on a line;
                               or JSON with a name and limits for each
  --auth-command <PROGRAM>     Let in by TCP whose token this program accepts, which gets the token on stdin
  --tls-cert <FILE>            Certificate for wss://, with those that it is signed by, in PEM
  --tls-key <FILE>             Its key, in PEM
  --allow-origin <ORIGIN>      Let in pages of this origin, with a token; repeatable
  --log-format <FORMAT>        text, or json: an object on each line of stderr, with ids of session and connection (text)
  --upgrade-wait <SECONDS>     On SIGUSR2, wait so long for a moment without runs before the program is replaced (600)
  --multi-session              With --mode rpc: carry many sessions on stdin and stdout
  --keep-idle <SECONDS>        Keep an idle session's output so long; then one without clients leaves memory until one comes
                               (600)
  --unattended <ACTION>        While no client is there and a run waits for a permission: wait; park (wait outside of
                               memory); deny the call; stop the run (wait)
  --unattended-after <SECONDS> Do that after so long (300)
  --webhook <URL>              Send a signed notice there when a run is done and when a question waits, without its texts; the
                               secret is in PI_RPC_WEBHOOK_SECRET
  --webhook-secret-file <FILE> Read the secret from this file
  --webhook-private            Let the URL be of a private network, or begin with http://
  --state <DIR>                Note open sessions there, so that a restart brings them back, with open questions
  --kept-output <BYTES>        Keep so much of each session's output for clients that come back (4 MiB)
  --nats <URLS>                Share the sessions with other hosts, by NATS with JetStream at nats://HOST:PORT,…
  --nats-credentials <FILE>    Log in to NATS with this file of credentials
  --nats-nkey <FILE>           Log in to NATS with the seed of a key (NKey) in this file
  --nats-ca <FILE>             Trust the certificates in this file for NATS, besides those of the system
  --nats-cert <FILE>           Show NATS this certificate
  --nats-key <FILE>            The key of --nats-cert
  --nats-replicas <N>          Create streams with N copies, one a server (1)
  --nats-lease <SECONDS>       Other hosts take the sessions of this one after SECONDS without a heartbeat (5)
  --nats-keep-closed <N>       Keep the N sessions that were closed last; those before them are removed (all stay)
  --node <NAME>                Name this host among the others (the name of the machine)
  --label <NAME>               Take only sessions with this label or none; the first one labels sessions that are
                               opened here; repeatable

Testing a host:
  --hazard <LIST>              Stay legal and be inconvenient: chunks, coalesce, dribble, early-events, unknown-fields,
                               unknown-events, u2028, huge, slow-start, dialogs, late-answers, late-ends, all
  --seed <N>                   Seed of the randomness in --hazard (0)

Other:
  -h, --help                   Print this text
  -v, --version                Print the version

Other options of pi are accepted and ignored; a likely typing error is reported on stderr. What neither pi nor an
extension has is refused in pi-1 and ignored elsewhere. --resume without a value is
refused, as it asks a person to choose. RUST_LOG sets the level of the log on stderr (warn; debug lists ignored options).
In omp, keys also come from its database, agent.db; OMP_PROFILE, PI_CONFIG_DIR and XDG_DATA_HOME name its directories.

Examples:
  pi-rpc serve --dialect pi-1 --model sonnet:high --continue
  pi-rpc serve --no-session --model scripted/demo --hazard all --seed 7
  pi-rpc serve --backend acp -- pi-rpc acp --model scripted/demo
  pi-rpc -p \"Summarize the changes\" @CHANGES.md";

/// A group of the help text: its title, and the text below it.
pub fn help_groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    HELP.split("\n\n").map(|group| group.split_once('\n').unwrap_or((group, "")))
}

/// An option as the help text has it.
pub struct HelpOption<'a> {
    /// Its names and value, such as `-p, --print`.
    pub written: &'a str,
    /// What it does, in one line.
    pub meaning: String,
}

/// The options in a group of the help text, whose meanings may go on in further lines.
pub fn help_options(text: &str) -> Vec<HelpOption<'_>> {
    let mut found: Vec<HelpOption<'_>> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("  ").filter(|option| option.starts_with('-')), found.last_mut()) {
            (Some(option), _) => {
                let (written, meaning) = option.split_once("  ").unwrap_or((option, ""));
                found.push(HelpOption { written, meaning: meaning.trim().to_owned() });
            }
            (None, Some(HelpOption { meaning, .. })) => {
                *meaning = format!("{meaning} {}", line.trim()).trim().to_owned();
            }
            (None, None) => {}
        }
    }
    found
}
