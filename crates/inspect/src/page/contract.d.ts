// What the page and the server of `pi-rpc inspect` say to each other. Written by `cargo bless`.
// Paths are relative to the page, whose address has the token.
// GET api/session → Session
// GET api/protocol → Protocol
// GET api/schema → the dialect's JSON Schema
// GET api/meta → what `pi-rpc schema --format meta` prints
// GET api/chart.svg → the chart as a drawing
// GET api/records?from&count&back&pos&near&dir&kind&hide&findings&changes&item&session&id&text&regex → RecordPage
// GET api/count?…the same filters → MatchCount
// GET api/records/N → RecordDetail
// GET api/records/N/text → the whole line
// GET api/records/N/image?at=POINTER → an image in it
// GET api/state/N → Moment
// GET api/items?from&count&back&at → ItemPage
// GET api/items/N?at → Item
// GET api/findings?from&count&rule → FindingPage
// GET api/timing → Timing
// GET api/requests?from&count → RequestPage
// GET api/copy/N?as=json|scenario|python|typescript|rust&to=M → Copied
// POST api/send SendRequest → Sent
// POST api/validate SendRequest → Problems
// POST api/process ProcessRequest → Session
// POST api/dialect DialectRequest → Session
// GET api/sessions → HostSessions
// POST api/attach AttachRequest → Session
// GET api/scripts → Scripts
// PUT api/scripts/NAME ScriptBody → Scripts
// DELETE api/scripts/NAME → Scripts
// POST api/scripts/NAME/run → Scripts
// GET api/report → the report of `check` as JSON
// GET api/report.html → the same as a page
// GET api/recording → the recording
// socket api/live FromPage → FromServer
// A request that fails is answered with a status from 400 on, and a Failure.

/** Transitions from one state to another. */
export interface ArrowAbout {
  /** The state before. */
  from: string;
  /** The state after. */
  to: string;
  /** Whether a run ends without closing events. */
  cut: boolean;
  /** The kinds of frames that take it. */
  kinds: Array<string>;
  /** The kinds as text. */
  label: string;
}

/** The session of a host to inspect from now on. */
export interface AttachRequest {
  /** The handle. */
  session: string;
}

/** A command of the dialect. */
export interface CommandAbout {
  /** The `type`. */
  type: string;
  /** The purpose. */
  description: string;
  /** The name of its definition in the schema. */
  definition: string;
  /** Whether it only reads. */
  reads: boolean;
}

/** A case of a command whose members decide. */
export interface CommandCase {
  /** The condition, as `streamingBehavior = steer`; empty: otherwise. */
  when: string;
  /** The disposition. */
  disposition: string;
  /** Whether it is not refused. */
  allowed: boolean;
  /** The error text of a refusal. */
  error?: string | null;
}

/** What becomes of a command in a state. */
export interface CommandState {
  /** The `type`. */
  type: string;
  /** `run`, `queue`, `preempt`, `noop`, `control` or `reject`; `depends` if members of the command decide. */
  disposition: string;
  /** Whether it is not refused, whatever its members are. */
  allowed: boolean;
  /** What the disposition means, or why the command is refused. */
  why?: string | null;
  /** The error text of a refusal, with placeholders. */
  error?: string | null;
  /** The cases, if members of the command decide: the first that holds applies. */
  cases: Array<CommandCase>;
}

/** Milliseconds from a command to its response. */
export interface CommandTiming {
  /** The `type`. */
  type: string;
  /** Commands. */
  count: number;
  /** Commands without a response. */
  outstanding: number;
  /** Commands that failed. */
  failed: number;
  /** The least latency. */
  least: number;
  /** The median, of the latest 1,000. */
  median: number;
  /** The greatest latency. */
  most: number;
}

/** A record in another form. */
export interface Copied {
  /** The form. */
  as: string;
  /** The text. */
  text: string;
  /** The language of the text, as its files end. */
  language: string;
}

/** Deltas a second. */
export interface Deltas {
  /** In the last second of the recording in which there were some. */
  now: number;
  /** At most. */
  most: number;
  /** Deltas in all. */
  total: number;
}

/** How the dialect was found. */
export type DialectOrigin = "chosen" | "recording" | "frames" | "default";

/** The dialect to judge by from now on. */
export interface DialectRequest {
  /** The dialect, as `pi-1` or `pi-1@0.84`. */
  dialect: string;
}

/** An open dialog. */
export interface Dialog {
  /** The record of the request. */
  record: number;
  /** Its item. */
  item: number;
  /** The id. */
  id: string;
  /** The method. */
  method: string;
  /** The title. */
  title?: string | null;
  /** The text. */
  message?: string | null;
  /** The choices. */
  options?: Array<string> | null;
  /** The hint of an empty input. */
  placeholder?: string | null;
  /** The text that the user begins with. */
  prefill?: string | null;
  /** Milliseconds until it closes by itself. */
  timeout?: number | null;
  /** The definition of the response that has the choice. */
  definition: string;
  /** The definitions of all its responses. */
  definitions: Array<string>;
  /** The member of a response that has the choice. */
  answer?: string | null;
  /** All members of the request. */
  request: Record<string, unknown>;
}

/** The source of a recorded line. */
export type Direction = "in" | "out" | "err" | "meta";

/** Why a request failed. */
export interface Failure {
  /** The reason. */
  error: string;
  /** Errors in a line that was to be sent. */
  problems?: Array<Problem>;
}

/** Figures of a recording up to a record. */
export interface Figures {
  /** The model of the last answer. */
  model?: string | null;
  /** Runs that have begun. */
  runs: number;
  /** Turns that have begun. */
  turns: number;
  /** Messages that have ended. */
  messages: number;
  /** Tool calls that have begun. */
  tools: number;
  /** Tokens of all answers. */
  tokens: Tokens;
  /** Their cost in dollars. */
  cost: number;
}

/** A finding. */
export interface Finding {
  /** The number, from 0. */
  finding: number;
  /** The record. */
  record: number;
  /** Its time. */
  t: number;
  /** The rule. */
  rule: string;
  /** The tier of the rule. */
  tier: string;
  /** The rule in one sentence. */
  text: string;
  /** The documents that specify it. */
  source: string;
  /** Whose fault it is: `server` or `host`. */
  side: string;
  /** The kind of the frame. */
  kind: string;
  /** The state before the frame. */
  state: string;
  /** What the rule expected. */
  expected: string;
  /** The member that differs. */
  pointer?: string | null;
  /** What came: its value, or the kind of the frame and the state. */
  got: string;
  /** The value that was expected. */
  wanted?: string | null;
  /** The record that caused it, of a response. */
  cause?: number | null;
  /** The session, on a wire of many. */
  session?: string | null;
}

/** A page of findings. */
export interface FindingPage {
  /** The findings. */
  findings: Array<Finding>;
  /** The `from` of the next page; absent at the end. */
  next?: number | null;
  /** Findings that are kept. */
  total: number;
  /** Counts of all findings, kept or not. */
  byRule: Array<RuleCount>;
}

/** A message of the page. */
export type FromPage = {
  type: "ack";
};

/** A message to the page. */
export type FromServer = {
  type: "session";
  /** What is inspected. */
  session: Session;
} | {
  type: "update";
} & Update | {
  type: "reset";
} | {
  type: "scripts";
  /** The scripts. */
  scripts: Scripts;
};

/** An open session of a host. */
export interface HostSession {
  /** The id in the session's file; of a session without a file, the handle. */
  id: string;
  /** The handle, by which the host knows it. */
  handle: string;
  /** The name. */
  name?: string | null;
  /** The working directory. */
  cwd?: string | null;
  /** The status. */
  state?: string | null;
}

/** Open sessions of a host. */
export interface HostSessions {
  /** The sessions. */
  sessions: Array<HostSession>;
}

/** An item of the conversation, as people read it. */
export interface Item {
  /** The number, from 0. */
  item: number;
  /** What it is. */
  kind: ItemKind;
  /** Its first record. */
  first: number;
  /** Its last record so far. */
  last: number;
  /** Whether it is under way. */
  open: boolean;
  /** Time of the first record. */
  t: number;
  /** Time of the last record. */
  until: number;
  /** A line about it, without characters that do harm. */
  title: string;
  /** `error`, `aborted`, `refused`, `cancelled`; of a message its stop reason unless `stop`. */
  status?: string | null;
  /** The session, on a wire of many. */
  session?: string | null;
  /** The content. */
  parts: Array<Part>;
  /** The model of an answer. */
  model?: string | null;
  /** Tokens of an answer. */
  usage?: Usage | null;
  /** Findings about its records. */
  findings: Array<number>;
}

/** What an item is. */
export type ItemKind = "user" | "assistant" | "tool" | "shell" | "custom" | "system" | "dialog" | "notice" | "compaction" | "retry" | "command" | "error" | "process" | "stderr";

/** A page of items. */
export interface ItemPage {
  /** The items, in ascending order. */
  items: Array<Item>;
  /** The `from` of the next page in the same direction; absent at the end. */
  next?: number | null;
  /** Items of the recording. */
  total: number;
}

/** How many records match a filter. */
export interface MatchCount {
  /** Matches. */
  matches: number;
  /** The first 10,000 of them. */
  numbers: Array<number>;
  /** The first record that was not scanned. */
  next?: number | null;
}

/** A server of the Model Context Protocol. */
export interface McpServer {
  /** The name, as names of tools have it. */
  name: string;
  /** The latest state that frames show: `connected`, or what a notice says. */
  state: string;
  /** The tools that lead to its own, where those are not declared. */
  reachedBy?: string | null;
  /** Names of its tools that were declared or called. */
  tools: Array<string>;
  /** Calls of its tools. */
  calls: number;
  /** Calls that failed. */
  failed: number;
  /** The latest error of a call or the server. */
  lastError?: string | null;
  /** The record that has it. */
  errorRecord?: number | null;
}

/** The moment after a record. */
export interface Moment {
  /** The record; 0: before the first. */
  record: number;
  /** Its time. */
  t: number;
  /** The state. */
  state: State;
  /** The last transition at or before it. */
  transition?: Transition | null;
  /** Open dialogs. */
  dialogs: Array<Dialog>;
  /** Commands without a response. */
  outstanding: Array<Request>;
  /** What becomes of each command. */
  commands: Array<CommandState>;
  /** Figures so far. */
  figures: Figures;
}

/** An inbound frame that is no command. */
export interface OtherFrame {
  /** The `type`. */
  type: string;
  /** The name of its definition in the schema. */
  definition: string;
  /** The purpose. */
  description: string;
}

/** A part of an item. */
export type Part = {
  kind: "text";
  /** The text. */
  text: string;
  /** Whether it was shortened. */
  cut: boolean;
  /** Whether it is Markdown. */
  markdown: boolean;
} | {
  kind: "thinking";
  /** The text. */
  text: string;
  /** Whether it was shortened. */
  cut: boolean;
} | {
  kind: "call";
  /** The id of the call. */
  id: string;
  /** The tool. */
  name: string;
  /** The arguments as indented JSON. */
  text: string;
  /** Whether they were shortened. */
  cut: boolean;
  /** The item of the tool. */
  item?: number | null;
} | {
  kind: "output";
  /** The text. */
  text: string;
  /** Whether it was shortened. */
  cut: boolean;
} | {
  kind: "diff";
  /** The file. */
  path?: string | null;
  /** Lines that begin with `+`, `-` or a blank. */
  text: string;
  /** Whether they were shortened. */
  cut: boolean;
} | {
  kind: "image";
  /** The media type. */
  mime: string;
  /** The address, relative to the page. */
  href: string;
  /** Its size, about. */
  bytes: number;
} | {
  kind: "json";
  /** Indented JSON. */
  text: string;
  /** Whether it was shortened. */
  cut: boolean;
};

/** An error in a line. */
export interface Problem {
  /** The place as a JSON pointer; empty: the line itself. */
  pointer: string;
  /** The error. */
  text: string;
  /** The offset in the line in bytes, if it is no JSON. */
  at?: number | null;
}

/** What is wrong with a line, and what becomes of it now. */
export interface Problems {
  /** Errors, each at its place. */
  problems: Array<Problem>;
  /** What becomes of the command in the current state. */
  command?: CommandState | null;
}

/** An action on the process of the server. */
export type ProcessAction = "close_input" | "terminate" | "kill" | "restart";

/** An action on the process of the server. */
export interface ProcessRequest {
  /** The action. */
  action: ProcessAction;
}

/** What does not change while a dialect is inspected. */
export interface Protocol {
  /** The dialect. */
  dialect: string;
  /** Its name for people. */
  title: string;
  /** The version of its schema. */
  version: string;
  /** The states of the flow. */
  states: Array<StateAbout>;
  /** Transitions of the flow. */
  arrows: Array<ArrowAbout>;
  /** The other regions. */
  regions: Array<RegionAbout>;
  /** Every command. */
  commands: Array<CommandAbout>;
  /** Inbound frames that are no commands. */
  others: Array<OtherFrame>;
  /** The rules of the dialect. */
  rules: Array<RuleAbout>;
  /** Types of frames, for the filter. */
  kinds: Array<string>;
}

/** How far a file is read, in bytes. */
export interface Reading {
  /** Bytes that were read. */
  done: number;
  /** Bytes of the file. */
  total: number;
}

/** A record with everything that is known about it. */
export interface RecordDetail {
  /** The record as in the list. */
  row: RecordRow;
  /** The exact line, up to 1 MiB. */
  text: string;
  /** Whether the line is longer. */
  cut: boolean;
  /** The line for people: indented, without characters that do harm. */
  shown: string;
  /** Whether the recorder shortened long strings. */
  shortened: boolean;
  /** The state before it. */
  before: State;
  /** The state after it. */
  after: State;
  /** The transition of the flow that it took. */
  transition?: Transition | null;
  /** Findings about it. */
  findings: Array<Finding>;
}

/** A page of records. */
export interface RecordPage {
  /** The records, in ascending order. */
  rows: Array<RecordRow>;
  /** The `from` of the next page in the same direction; absent at the end. */
  next?: number | null;
  /** The position of the first row in the filtered list, from 0. */
  position: number;
  /** Matches known so far. */
  matches: number;
  /** Whether the whole recording was scanned; if not, ask again. */
  complete: boolean;
  /** Records of the recording. */
  total: number;
}

/** A record of the list. */
export interface RecordRow {
  /** The number, from 1. */
  record: number;
  /** Milliseconds since the recording began. */
  t: number;
  /** The last of the updates that the row stands for, if there are several. */
  last?: number | null;
  /** The source of the line. */
  dir: Direction;
  /** Beginning and end of the line, or of the text that the updates made, without characters that do harm. */
  text: string;
  /** Length of the line in bytes. */
  length: number;
  /** Whether `text` is the whole line. */
  whole: boolean;
  /** The `type` of the frame. */
  type?: string | null;
  /** The kind of the frame in the machine. */
  kind: string;
  /** The `id` of the frame, shortened. */
  id?: string | null;
  /** The session, on a wire of many. */
  session?: string | null;
  /** The state after it. */
  state: string;
  /** The state of the flow before it, if it has changed that. */
  from?: string | null;
  /** Numbers of findings about it. */
  findings: Array<number>;
  /** The item of the conversation that it belongs to. */
  item?: number | null;
  /** The record that it answers. */
  cause?: number | null;
}

/** A region beside the flow. */
export interface RegionAbout {
  /** The name. */
  name: string;
  /** The states. */
  states: Array<string>;
  /** The state of a new process. */
  initial: string;
  /** The transitions. */
  transitions: Array<RegionStep>;
}

/** A transition of a region. */
export interface RegionStep {
  /** The state before. */
  from: string;
  /** The state after. */
  to: string;
  /** The frames that take it, in words. */
  on: string;
}

/** A command with its response. */
export interface Request {
  /** The record of the command. */
  record: number;
  /** The record of the response. */
  response?: number | null;
  /** The `type`. */
  type: string;
  /** The `id` of the command, shortened. */
  id?: string | null;
  /** The time of the command. */
  t: number;
  /** Milliseconds to the response. */
  ms?: number | null;
  /** Whether it succeeded. */
  success?: boolean | null;
  /** The error text. */
  error?: string | null;
}

/** A page of commands with their responses. */
export interface RequestPage {
  /** The commands. */
  requests: Array<Request>;
  /** The `from` of the next page; absent at the end. */
  next?: number | null;
  /** Commands of the recording. */
  total: number;
}

/** A rule of the dialect. */
export interface RuleAbout {
  /** The name. */
  id: string;
  /** The tier. */
  tier: string;
  /** The area. */
  area: string;
  /** The rule in one sentence. */
  text: string;
  /** The documents that specify it. */
  source: string;
}

/** Findings of one rule. */
export interface RuleCount {
  /** The rule. */
  rule: string;
  /** Its tier. */
  tier: string;
  /** Findings. */
  count: number;
}

/** A run. */
export interface Run {
  /** The record of the prompt; absent if the run began by itself. */
  prompt?: number | null;
  /** The record of its start. */
  start: number;
  /** The record of its end. */
  end?: number | null;
  /** Milliseconds from the prompt to its response. */
  response?: number | null;
  /** Milliseconds from the prompt, else the start, to the first delta. */
  firstDelta?: number | null;
  /** Milliseconds from start to end. */
  duration?: number | null;
  /** Deltas. */
  deltas: number;
  /** Deltas a second, from the first to the last. */
  deltasPerSecond: number;
  /** Turns. */
  turns: number;
  /** Tool calls. */
  tools: number;
  /** Tokens. */
  tokens: Tokens;
  /** Cost in dollars. */
  cost: number;
}

/** A script that runs. */
export interface RunningScript {
  /** The name. */
  name: string;
  /** Lines that were sent. */
  line: number;
  /** Lines in all. */
  of: number;
}

/** A saved script. */
export interface Script {
  /** The name. */
  name: string;
  /** Lines to send. */
  lines: Array<string>;
}

/** The lines of a script to save. */
export interface ScriptBody {
  /** The lines. */
  lines: Array<string>;
}

/** Saved scripts of commands. */
export interface Scripts {
  /** The scripts. */
  scripts: Array<Script>;
  /** The one that runs. */
  running?: RunningScript | null;
}

/** A line to send. */
export interface SendRequest {
  /** The line, without a line feed. */
  line: string;
  /** Whether to send it even if it is no frame of the dialect. */
  force: boolean;
}

/** A line was sent. */
export interface Sent {
  /** Records before it: its own number is greater. */
  after: number;
}

/** What is inspected. */
export interface Session {
  /** Where the records come from. */
  source: Source;
  /** Whether more records may come. */
  live: boolean;
  /** Whether lines can be sent. */
  sends: boolean;
  /** Why nothing can be sent. */
  sendsNot?: string | null;
  /** The dialect by which everything is judged. */
  dialect: string;
  /** The version of the server, as `0.84`, if it is known. */
  version?: string | null;
  /** How the dialect was found. */
  dialectBy: DialectOrigin;
  /** All dialects, for the choice. */
  dialects: Array<string>;
  /** Totals of the recording. */
  totals: Totals;
  /** State after the last record. */
  state: State;
  /** How far a file is read. */
  reading?: Reading | null;
  /** The version of this program. */
  program: string;
}

/** Where the records come from. */
export type Source = {
  kind: "command";
  /** The server and its arguments, with credentials redacted. */
  argv: Array<string>;
  /** The number of the process. */
  pid?: number | null;
  /** The exit status, after the end: 128 plus the signal for a process that was killed. */
  exit?: number | null;
} | {
  kind: "host";
  /** The address of the host. */
  address: string;
  /** The id of the session; absent before one is chosen. */
  session?: string | null;
} | {
  kind: "file";
  /** The path as given. */
  path: string;
  /** Whether the file has grown since it was opened. */
  grows: boolean;
};

/** The state of all regions after a record. */
export interface State {
  /** The state of the flow, by its name in the schema. */
  flow: string;
  /** Open dialogs. */
  dialogs: number;
  /** Running shell commands of the host. */
  shells: number;
  /** Whether the input has ended. */
  closing: boolean;
  /** All of it as text. */
  text: string;
}

/** A state of the flow. */
export interface StateAbout {
  /** The name. */
  name: string;
  /** The meaning. */
  description: string;
  /** The states that contain it, innermost first. */
  superstates: Array<string>;
}

/** Times of a recording. */
export interface Timing {
  /** Latencies by command. */
  commands: Array<CommandTiming>;
  /** The latest runs. */
  runs: Array<Run>;
  /** Deltas. */
  deltas: Deltas;
  /** Figures of the whole recording. */
  figures: Figures;
  /** Servers of the Model Context Protocol, as far as frames show them. */
  servers: Array<McpServer>;
}

/** Tokens of answers. */
export interface Tokens {
  /** Input that was not cached. */
  input: number;
  /** Output. */
  output: number;
  /** Input from the cache. */
  cacheRead: number;
  /** Input to the cache. */
  cacheWrite: number;
  /** All of them. */
  total: number;
}

/** Totals of a recording. */
export interface Totals {
  /** Records. */
  records: number;
  /** Items of the conversation. */
  items: number;
  /** Findings. */
  findings: number;
  /** Bytes of all records. */
  bytes: number;
  /** Milliseconds from the first record to the last. */
  duration: number;
  /** Lines that are no records. */
  unread: number;
  /** Lines of the host. */
  in: number;
  /** Lines of the server. */
  out: number;
  /** Lines of the server's stderr. */
  err: number;
  /** Events of the process. */
  meta: number;
  /** Findings that were counted but not kept. */
  findingsLeftOut: number;
  /** Whether the limit of records or bytes was reached: nothing more is read. */
  full: boolean;
}

/** A transition of the flow. */
export interface Transition {
  /** The record that took it. */
  record: number;
  /** The state before. */
  from: string;
  /** The state after. */
  to: string;
  /** The kind of the frame. */
  by: string;
  /** Whether a run ended without closing events. */
  cut: boolean;
}

/** What has happened since the last update. */
export interface Update {
  /** Totals. */
  totals: Totals;
  /** State after the last record. */
  state: State;
  /** The newest records, in ascending order. */
  rows: Array<RecordRow>;
  /** New records before them that were left out. */
  missed: number;
  /** The latest transition, if it is new. */
  transition?: Transition | null;
  /** Items that are new or have changed, at most 20. */
  items: Array<Item>;
  /** New findings, at most 50. */
  findings: Array<Finding>;
  /** Open dialogs, if they have changed. */
  dialogs?: Array<Dialog> | null;
  /** What becomes of each command, if that has changed. */
  commands?: Array<CommandState> | null;
  /** Figures. */
  figures: Figures;
  /** Deltas in the last second. */
  deltasPerSecond: number;
  /** How far a file is read. */
  reading?: Reading | null;
}

/** Tokens of one answer, with their cost. */
export interface Usage {
  /** Input that was not cached. */
  input: number;
  /** Output. */
  output: number;
  /** Input from the cache. */
  cacheRead: number;
  /** Input to the cache. */
  cacheWrite: number;
  /** All of them. */
  total: number;
  /** Dollars. */
  cost: number;
}
