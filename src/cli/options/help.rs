//! The text of `pi-rpc serve --help`.

/// What `serve --help` says of them.
pub const HELP: &str = "\
Options:
  --dialect <D>                pi (0.52 to 0.57), pi-1 (today's pi, 1.5), xcsh; between the two of pi: pi@0.58,
                               pi@0.58.4, pi@0.73
  --mode <MODE>                rpc (the default), text or json: instead of serving, run the prompts of the command line,
                               print the last answer (text) or the session's header and every event (json), and end
  -p, --print                  --mode text. stdin, unless it is a terminal, stands before the first prompt, and so does
                               every text file that is given as @FILE; exits with 1 if the last answer is an error
                               (json: if a prompt is refused). Nobody is asked: dialogs are cancelled
  --provider <NAME>            the model's provider; without --model its default model is started with
  --model <PATTERN>            provider/id, an id, or a part of an id or name; a thinking level may
                               follow: sonnet:high. scripted/demo needs no key, scripted/<FILE>
                               plays a script. `pi-rpc models` lists what there is
  --models <A,B>               what cycle_model goes round: patterns, * and ? allowed
  --thinking <LEVEL>           off, minimal, low, medium, high, xhigh, max
  --api-key <KEY>              for the provider of the model that is started with; not kept
  --pass-keys <A,B>            let commands, extensions and installers have these variables of the environment
                               though they hold keys of models; all: every one
  -t, --tools <A,B>            offer these tools only: read, bash, edit, write (the usual four),
                               grep, find, ls
  -nt, --no-tools              offer no tools, but for those of --tools; also --no-builtin-tools
  -xt, --exclude-tools <A,B>   do not offer these
  --system-prompt <TEXT>       instructions in place of the built-in ones, or a file that holds them
  --append-system-prompt <TEXT>
                               instructions to add, or a file that holds them
  -nc, --no-context-files      leave out AGENTS.md and CLAUDE.md
  --skill <PATH>               a skill, or a directory of skills, besides those that are found
  -ns, --no-skills             no skills but those of --skill
  --prompt-template <PATH>     a prompt template, or a directory of them, besides those found
  -np, --no-prompt-templates   no prompt templates but those of --prompt-template
  -n, --name <NAME>            the session's name
  --session <PATH|ID>          go on with this session: a file, or the beginning of an id
  -c, --continue               go on with the newest session of this folder, else begin one
  --fork <PATH|ID>             begin with a copy of this session
  --session-id <ID>            go on with this folder's session of that id, else begin one; with --fork and
                               --no-session the id of the one that begins
  --no-session                 keep the session in memory
  --session-dir <DIR>          keep sessions here and look for them here, instead of in a folder for
                               each working directory below the agent's (also
                               PI_CODING_AGENT_SESSION_DIR, and sessionDir of the settings)
  -e, --extension <PATH>       an extension: an executable, one of pi's own in TypeScript or JavaScript
                               (Node 18.19 or newer runs them; PI_RPC_NODE names another than that of
                               PATH), a folder of either, or a package: npm:NAME, git:HOST/PATH, a
                               folder; may be repeated
  -ne, --no-extensions         only those; none of the settings, of their packages and of the extensions
                               folders of the agent and of the project
  -a, --approve                the project may run what it brings along (extensions, packages, shellPath and
                               shellCommandPrefix of its settings); -na, --no-approve: it may not. Without
                               either, trust.json of the agent directory decides (it maps folders to
                               true or false), else defaultProjectTrust of your settings (always or never);
                               else nothing of it runs in pi-1, and elsewhere no executable
  --confirm-tools <A,B>        ask the user before these tools are run, whoever calls them: names or patterns
                               (*: all; mcp_*). One that matches no tool is refused; where extensions or the
                               host may yet bring it, every call is asked about until they do
  --idle-timeout <SECONDS>     how long a model's provider may be silent, before its answer begins and within it
                               (300, or httpIdleTimeoutMs and retry.provider.timeoutMs of the settings; 0: for
                               ever); one that keeps its connection alive and says nothing has ten times as long
  --sync <WHEN>                when the session is put on the disk, so that a loss of power costs less: none
                               (the system decides; the default), run (at the end of each run), entry
  --disk-timeout <SECONDS>     how long the file system may take for a line of the session before the run fails
                               (30; 0: for ever)
  --max-frame <BYTES>          the longest line that is read (64 MiB)
  --max-queue <BYTES>          messages and commands that wait for their turn: beyond it more are refused
                               (64 MiB)
  --max-unread <BYTES>         frames that the host has not read: beyond it no command is read; models and
                               tools pause at a sixteenth of it (16 MiB)
  --max-session <BYTES>        a session: a longer file is not opened, and to a longer one nothing is added
                               by the host (1 GiB)
  --max-bash <N>               bash commands that run at a time: more are refused (64)
  --max-output-file <BYTES>    how much of a command's output the file takes that holds what is not shown
                               (1 GiB)
  --max-output-files <BYTES>   what all of these files take together: beyond it the oldest are removed, which
                               the next output names (4 GiB)
  --list-models [WORDS]        list the models that contain these words, and end
  --hazard <LIST>              be legal and inconvenient, to try a host: chunks, coalesce, dribble,
                               early-events, unknown-fields, unknown-events, u2028, huge,
                               slow-start, dialogs, late-answers, late-ends, or all
  --seed <N>                   what chance decides for --hazard (0)
  -h, --help                   this text
  -v, --version                the version

Other options of pi are accepted and do nothing yet; one that nearly is one of these is named on stderr.
--resume <PATH|ID> is --session; without a value, which lets a person choose, it is refused. RUST_LOG sets what is logged to stderr (default: warn;
debug tells which options were ignored).";
