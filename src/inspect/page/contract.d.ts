// The contract between `pi-rpc inspect` and its page. Every path is relative to the page's address, http://127.0.0.1:PORT/TOKEN/ :
// the token is in the path, so `fetch("api/session")` and `new WebSocket(new URL("api/live", location.href.replace(/^http/, "ws")))` just work.
// Nothing needs a header or a cookie. POST bodies are JSON with `content-type: application/json`.
// The page's files are served from the same folder: `page.js`, `page.css`, `modules/…`; index.html is the root.
// CSP: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; form-action 'none';
//      frame-ancestors 'none'; base-uri 'none'. So: no inline scripts, no style attributes in HTML (set `el.style.x` from JS: allowed).
//
// Errors: status 4xx/5xx with a body `Failure`.
// Numbers: records, items, findings are numbered: records from 1, items and findings from 0, each without gaps.
// Texts that are called `text` in rows (`RecordRow`, `Item`, `Finding`) are harmless: control, bidi and other invisible characters were
// written as \u{..}. `RecordDetail.text` and /text are exact: the page has to show them harmlessly itself (`RecordDetail.shown` is).

/** GET api/session: what is inspected. Also the first message of the socket. */
export interface Session {
  /** What is inspected. `command`: a server that we have started; `host`: sessions of a host; `file`: a recording. */
  source: Source;
  /** Whether more records may come. */
  live: boolean;
  /** Whether lines can be sent (false for files, watchers without the right to send, and after the end). */
  sends: boolean;
  /** Why nothing can be sent, if so. */
  sendsNot?: string;
  /** The dialect by which everything is judged. */
  dialect: string;
  /** The version of the server, as "0.84", if it is known. */
  version?: string;
  /** How the dialect was found. */
  dialectBy: "told" | "recording" | "frames" | "default";
  /** All dialects, for the choice (POST api/dialect). */
  dialects: string[];
  /** Totals. */
  totals: Totals;
  /** State after the last record. */
  state: State;
  /** For a file: how far it is read, in bytes. */
  reading?: { done: number; total: number };
  /** The program, as "0.1.0". */
  program: string;
}
// { "source": { "kind": "command", "argv": ["pi","--mode","rpc"], "pid": 4711 }, "live": true, "sends": true, "dialect": "pi",
//   "dialectBy": "frames", "dialects": ["pi","pi-1","xcsh"], "totals": {...}, "state": {...}, "program": "0.1.0" }

export type Source =
  | { kind: "command"; argv: string[]; pid?: number; exit?: number }
  | { kind: "host"; address: string; session?: string }
  | { kind: "file"; path: string; grows: boolean };

/** Totals of the whole recording. */
export interface Totals {
  records: number; items: number; findings: number;
  /** Bytes of all records. */
  bytes: number;
  /** Milliseconds from the first record to the last. */
  duration: number;
  /** Lines that are no records (only files). */
  unread: number;
  /** Records by direction. */
  in: number; out: number; err: number; meta: number;
  /** Findings that were counted but not kept, after the first 10,000. */
  findingsLeftOut: number;
}

/** The state of all regions after a record. */
export interface State {
  /** The name in the schema, as "idle" or "streaming.message". */
  flow: string;
  /** Open dialogs. */
  dialogs: number;
  /** Running shell commands of the host. */
  shells: number;
  /** The input has ended. */
  closing: boolean;
  /** All of it as text: "streaming.message+awaiting_ui+bash". */
  text: string;
}

/** GET api/protocol: what does not change while a dialect is inspected (fetch again after a `session` message with another dialect). */
export interface Protocol {
  dialect: string; title: string; version: string;
  /** The states of the region `flow`. */
  states: { name: string; description: string; superstates: string[] }[];
  /** Transitions: kinds of frames that lead from one state to another. `cut`: a run ends without closing events. */
  arrows: { from: string; to: string; cut: boolean; kinds: string[]; label: string }[];
  /** The other regions: dialogs, shells, end of input. */
  regions: { name: string; states: string[]; initial: string; transitions: { from: string; to: string; on: string }[] }[];
  /** Chart as SVG: GET api/chart.svg (an <img>; the page draws its own live one from `states` and `arrows`). */
  commands: CommandAbout[];
  /** Dialog responses and other inbound frames that are no commands. */
  others: { type: string; definition: string; description: string }[];
  /** The rules: for the findings' panel. */
  rules: { id: string; tier: string; area: string; text: string; source: string }[];
  /** Kinds of frames, for the filter, in the order of the schema. */
  kinds: string[];
}
export interface CommandAbout {
  type: string; description: string;
  /** The name in the schema's $defs: { $ref: "#/$defs/PromptCommand" }. */
  definition: string;
  /** "session", "model", "queue" … : the group in the reference. */
  group?: string;
}
/** GET api/schema: the dialect's JSON Schema 2020-12 (what `pi-rpc schema` prints): { $defs: { PromptCommand: … } }. */
export type Schema = { $defs: Record<string, unknown> } & Record<string, unknown>;

/** One record of the list. */
export interface RecordRow {
  record: number;
  /** Milliseconds since the recording began. */
  t: number;
  dir: "in" | "out" | "err" | "meta";
  /** Beginning and end of the line, at most 400 characters, harmless. */
  text: string;
  /** Length of the line in bytes. */
  length: number;
  /** Whether `text` is the whole line. */
  whole: boolean;
  /** The `type` of the frame: "message_update"; of a response "response"; of stderr and of what is no frame: absent. */
  type?: string;
  /** The kind in the machine: "message_update(text_delta)", "response(prompt, success)"; of meta: the event, "spawn". */
  kind: string;
  /** The `id` of the frame, as JSON text without quotes for strings; at most 64 characters. */
  id?: string;
  /** The session, on a wire of many. */
  session?: string;
  /** State after it. */
  state: string;
  /** Set if the record changed `flow`: from where (the cause is `kind`). */
  from?: string;
  /** Numbers of findings about it. */
  findings: number[];
  /** The item of the conversation that it belongs to. */
  item?: number;
  /** Of a response: the record of the command; of a dialog response: the record of the dialog; of a tool's end: the record of its start. */
  cause?: number;
}
// { "record": 7, "t": 12.4, "dir": "out", "text": "{\"type\":\"agent_start\"}", "length": 22, "whole": true, "type": "agent_start",
//   "kind": "agent_start", "state": "streaming.between", "from": "starting", "findings": [], "item": 2 }

/**
 * GET api/records?from=1&count=200 : rows from a number on (default 1; at most 1000).
 * `&back=1`: rows before and including `from`, in ascending order.
 * Filters, all optional, joined by AND: `dir=in,out` `kind=message_update,response` (types, or kinds with parentheses)
 * `findings=1` `changes=1` (those that change the state) `item=5` `session=a1` `id=7` `text=needle` (bytes of the line, case-insensitive
 * for ASCII) `regex=…`, `hide=message_update,…` (the opposite of `kind`).
 * A search stops after 2 s or `count` hits; `next` says where to go on.
 */
export interface RecordPage {
  rows: RecordRow[];
  /** The `from` of the next page in the same direction; absent at the end. */
  next?: number;
  /** Position of rows[0] in the filtered list, from 0 (also with pos= and near=). */
  position: number;
  /** Matches known so far, and whether the whole recording was scanned (if not: ask again). */
  matches: number;
  complete: boolean;
  /** Records of the recording. */
  total: number;
}
/** GET api/count?<the same filters>&from=N : how many records match (within 2 s; then `next` is set). `numbers` are the first 10,000. */
export interface MatchCount { matches: number; numbers: number[]; next?: number; }

/** GET api/records/N */
export interface RecordDetail {
  row: RecordRow;
  /** The exact line, up to 1 MiB (then `cut` is true: whole by GET api/records/N/text, which is text/plain). */
  text: string;
  cut: boolean;
  /** Pretty-printed and harmless, up to 1 MiB. */
  shown: string;
  /** Whether long strings were shortened by the recorder. */
  shortened: boolean;
  before: State; after: State;
  /** The transition of the flow that it took. `by`: the kind of frame; `cut`: a run ended without closing events. */
  transition?: { from: string; to: string; by: string; cut: boolean };
  findings: Finding[];
}

/** GET api/state/N: everything about the moment after record N (for the scrubber). 0: before the first. */
export interface Moment {
  record: number;
  t: number;
  state: State;
  /** The last transition at or before it. */
  transition?: { record: number; from: string; to: string; by: string };
  dialogs: Dialog[];
  /** Commands without a response. */
  outstanding: { record: number; type: string; id?: string; t: number }[];
  commands: CommandState[];
  /** What the frames said so far. */
  figures: Figures;
}
/** What becomes of a command now. */
export interface CommandState {
  type: string;
  /** run, queue, preempt, noop, control, reject; "depends": it depends on members of the command (then `cases` says on which). */
  disposition: string;
  allowed: boolean;
  /** Why it is refused, or what happens instead; for people. */
  why?: string;
  /** The error text that the server answers with, if refused. */
  error?: string;
  /** For "depends": in order, the first that fits. `when`: as `streamingBehavior = steer`; empty: otherwise. */
  cases: { when: string; disposition: string; allowed: boolean; error?: string }[];
}
// { "type": "set_model", "disposition": "run", "allowed": true, "cases": [] }
// { "type": "compact", "disposition": "reject", "allowed": false, "why": "not while streaming.message", "error": "…", "cases": [] }

/** An open dialog (extension_ui_request that waits). */
export interface Dialog {
  record: number; item: number; id: string;
  /** select, confirm, input, editor … */
  method: string;
  title?: string; message?: string; options?: string[]; placeholder?: string; prefill?: string;
  /** Milliseconds until it closes by itself, from its record on. */
  timeout?: number;
  /** The definition in the schema of the response. */
  definition: string;
  /** All members of the request. */
  request: Record<string, unknown>;
}

/** Figures up to a record. */
export interface Figures {
  model?: string;
  runs: number; turns: number; messages: number; tools: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
}

/** POST api/send { line: string } → Sent. 422 with `Failure.problems` if it is no JSON object and `force` is not set. */
export interface SendRequest { line: string; /** Send it even if the schema forbids it. */ force?: boolean; }
export interface Sent { record?: number; }
/** POST api/validate { line } → Problems: errors at the field, and what becomes of it in the current state. */
export interface Problems {
  problems: Problem[];
  command?: CommandState;
}
export interface Problem {
  /** JSON pointer: "/images/0/data"; empty: the line itself. */
  pointer: string;
  /** "expected a string, got null" */
  text: string;
  /** Byte offset in the line for a JSON syntax error. */
  at?: number;
}

/** POST api/process { action } → Session: of a command. `restart` starts it anew in the same recording. */
export interface ProcessRequest { action: "close_input" | "terminate" | "kill" | "restart"; }
/** POST api/dialect { dialect } → Session: judge everything anew by another dialect. */
export interface DialectRequest { dialect: string; }

/** GET api/sessions: of a host (404 otherwise). POST api/attach { session } → Session: inspect this one from now on. */
export interface HostSessions { sessions: { id: string; handle: string; name?: string; dialect?: string; cwd?: string; state?: string; watchers?: number }[]; }
export interface AttachRequest { session: string; }

/** An item of the conversation, as people read it. */
export interface Item {
  item: number;
  kind:
    | "user" | "assistant" | "tool" | "shell" | "custom" | "system" | "dialog" | "notice" | "compaction" | "retry" | "command" | "error"
    | "process" | "stderr" | "run";
  /** First and last record that belong to it (others may lie between). */
  first: number; last: number;
  /** Whether it is still under way at the last record. */
  open: boolean;
  /** Milliseconds of first and last. */
  t: number; until: number;
  /** A line: "bash: ls -la", "select: Allow?", "exit 0". Harmless. */
  title: string;
  /** "error", "aborted", "refused", "cancelled"; of a message its stop reason unless "stop". */
  status?: string;
  session?: string;
  /** Content in order. In pages each text is cut to 4,000 characters; GET api/items/N has 1 MiB each. */
  parts: Part[];
  /** Of an assistant message. */
  model?: string;
  usage?: { input: number; output: number; cacheRead: number; cacheWrite: number; cost: number };
  findings: number[];
}
export type Part =
  | { kind: "text"; text: string; cut: boolean; /** text as markdown is what models write */ markdown: boolean }
  | { kind: "thinking"; text: string; cut: boolean }
  | { kind: "call"; id: string; name: string; /** arguments, pretty JSON */ text: string; cut: boolean; /** the item of the tool */ item?: number }
  | { kind: "output"; text: string; cut: boolean }
  | { kind: "diff"; path?: string; /** unified, or lines with + - and blank in front */ text: string; cut: boolean }
  | { kind: "image"; mime: string; /** relative address: "api/records/12/images/0" */ href: string; bytes: number }
  | { kind: "json"; text: string; cut: boolean };

/** GET api/items?from=0&count=50 (at most 200). `&back=1` as above. `&at=N`: as they were after record N (the scrubber; later ones absent). */
export interface ItemPage { items: Item[]; next?: number; total: number; }
/** GET api/items/N?at=RECORD → Item, with long texts. */

export interface Finding {
  finding: number; record: number; t: number;
  rule: string; tier: "MUST" | "SHOULD" | "OBSERVED" | string;
  /** The rule in words, and where it is from. */
  text: string; source: string;
  /** Whose fault: "server" or "host". */
  side: string;
  kind: string; state: string;
  expected: string;
  /** What came, if it lies in one member. */
  pointer?: string; got?: string; wanted?: string;
  /** The record that caused it. */
  cause?: number;
  session?: string;
}
/** GET api/findings?from=0&count=100 (at most 500), `&rule=…` */
export interface FindingPage { findings: Finding[]; next?: number; total: number; byRule: { rule: string; tier: string; count: number }[]; }

/** GET api/timing */
export interface Timing {
  /** By command: latency from command to response in ms. */
  commands: { type: string; count: number; outstanding: number; failed: number; least: number; median: number; most: number }[];
  /** The latest 200 runs: prompt → first delta → end. */
  runs: Run[];
  /** Deltas a second, in the last 5 s of the recording and at most. */
  deltas: { now: number; most: number; total: number };
  figures: Figures;
}
export interface Run {
  /** Record of the prompt (absent if the run began by itself), of agent_start and of agent_end. */
  prompt?: number; start: number; end?: number;
  /** ms: prompt → response, prompt (else start) → first delta, start → end. */
  response?: number; firstDelta?: number; duration?: number;
  deltas: number; deltasPerSecond: number; turns: number; tools: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
}
/** GET api/requests?from=0&count=100 : every command with its response. */
export interface RequestPage { requests: { record: number; response?: number; type: string; id?: string; t: number; ms?: number; success?: boolean; error?: string }[]; next?: number; total: number; }

/** GET api/copy/N?as=json|scenario|python|typescript|rust → Copied. N: a record; for the tests also `&to=M`: records N to M. */
export interface Copied { as: string; text: string; /** as "json", "yaml", "py", "ts", "rs" */ language: string; }

/** Scripts of commands, kept in the user's folder. GET api/scripts → Scripts; PUT api/scripts/NAME { lines }; DELETE api/scripts/NAME.
 *  POST api/scripts/NAME/run → Sent of the last line: each line is sent when the response to the one before has come. */
export interface Scripts { scripts: { name: string; lines: string[] }[]; running?: { name: string; line: number; of: number }; }
export interface ScriptBody { lines: string[]; }

/** GET api/report → the report of `pi-rpc check --format json` up to now; GET api/report.html: the same as a page (download). */
/** GET api/recording: the recording as JSON Lines (download). */

export interface Failure { error: string; problems?: Problem[]; }

// ---- WebSocket api/live -----------------------------------------------------------------------------------------------------------
// Server → page, JSON texts. The page answers every `update` with {"type":"ack"}; until then no further update is sent, and what
// happens meanwhile is coalesced. So a hidden or busy page costs nothing. At most one update each 100 ms, at most 200 rows and 256 KiB.

export type FromServer =
  | { type: "session"; session: Session }          // first, and whenever source, dialect, sends or live change
  | Update
  | { type: "reset" }                              // the recording was judged anew (another dialect, another session): fetch all again
  | { type: "scripts"; scripts: Scripts };         // a script goes on or ends

export interface Update {
  type: "update";
  totals: Totals;
  state: State;
  /** The newest rows, in order, ending with the last record; `rows[0].record` may be far behind the last that the page has seen:
   *  `missed` rows before them were left out (fetch them by pages when they are scrolled to). */
  rows: RecordRow[];
  missed: number;
  /** The latest transition, if it is newer than the last update. */
  transition?: { record: number; from: string; to: string; by: string };
  /** Items that are new or have changed, the newest 20, as in pages; `items[0].item` may leave out some. */
  items: Item[];
  /** Findings that are new, at most 50, the newest. */
  findings: Finding[];
  /** Open dialogs and what may be sent; only if changed. */
  dialogs?: Dialog[];
  commands?: CommandState[];
  figures: Figures;
  deltasPerSecond: number;
  reading?: { done: number; total: number };
}
// { "type": "update", "totals": {...}, "state": {...}, "rows": [...], "missed": 0, "items": [...], "findings": [], "figures": {...}, "deltasPerSecond": 31.5 }

export type FromPage = { type: "ack" };
