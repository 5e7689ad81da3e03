// Writes src/generated: for each dialect of a program its types, out of `pi-rpc schema --format typescript`, a client with a method
// for each command, and the state of a session with the tables of the runtime, out of `--format meta`.
//
//     node generate.mjs [PI_RPC [FOLDER]]

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { types } from "./generate_types.mjs";

const PROGRAM = process.argv[2] ?? process.env.PI_RPC_BIN ?? "pi-rpc";
const FOLDER = process.argv[3] ?? fileURLToPath(new URL("src/generated", import.meta.url));
const MADE = "// Made by generate.mjs. Do not edit.\n";

/** Methods of the client that commands do not replace; commands of these names have methods such as `sendPrompt`. */
const TAKEN = ["prompt", "call", "request", "refusal", "events", "close", "ready", "lend", "state", "exited"];

const LEND = `
  /** Registers host tools, and replaces earlier ones: the model calls them, this side executes them. */
  async lendTools(tools: HostTool<T.SetHostToolsCommand["tools"][number]>[], options?: CallOptions): Promise<void> {
    await this.lend(tools, (tools) => this.setHostTools({ tools }, options));
  }
`;

const PAGES = `
  /** Messages of the conversation, oldest first, read page by page. Fails with the code \`stale_cursor\` if they change meanwhile. */
  async *readMessages(options: CallOptions & { readonly pageSize?: number } = {}): AsyncGenerator<T.AgentMessage, void> {
    const { pageSize, ...rest } = options;
    const fields = pageSize === undefined ? {} : { limit: pageSize };
    for (let cursor: string | undefined; ; ) {
      const page = await this.getMessagesPage({ ...fields, ...(cursor === undefined ? {} : { cursor }) }, rest);
      yield* page.messages;
      cursor = page.nextCursor;
      if (cursor === undefined) return;
    }
  }
`;

const dialects = Object.entries(JSON.parse(schema("dialects")));
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
for (const [dialect, { base }] of dialects) {
  const meta = JSON.parse(schema("meta", dialect));
  // Versions of a dialect have no client of their own.
  if (dialect !== base && meta.record.startedAs.length === 0) continue;
  const defs = JSON.parse(schema("json-schema", dialect)).$defs;
  writeFileSync(`${FOLDER}/${dialect}.types.ts`, types(`${dialect}.types`, schema("typescript", dialect)));
  writeFileSync(`${FOLDER}/${dialect}.ts`, MADE + client(meta, defs));
  writeFileSync(`${FOLDER}/${dialect}.session.ts`, MADE + session(meta, defs));
}

function schema(format, dialect = "pi") {
  const options = { encoding: "utf8", maxBuffer: 1 << 28 };
  return execFileSync(PROGRAM, ["schema", "--dialect", dialect, "--format", format], options);
}

function client(meta, defs) {
  const name = nameOf(meta);
  const commands = meta.commands.map((about) => ({
    ...about,
    method: method(about),
    result: result(about, defs[about.response].required.includes("data")),
    members: members(defs[about.request]),
  }));
  const lends = meta.commands.some(({ type }) => type === "set_host_tools");
  const pages = meta.commands.some(({ type }) => type === "get_messages_page");
  const asks = meta.dialogs.filter(({ answer }) => answer !== undefined);
  return `
import { Client, type CallOptions, type ConnectOptions, type Options } from "../client.js";
import type { Fields, ${lends ? "HostTool, " : ""}MemberOf } from "../dialect.js";
import type { Connect } from "../transport.js";
import { TABLES } from "./${meta.dialect}.session.js";
import type * as T from "./${meta.dialect}.types.js";

export type * from "./${meta.dialect}.types.js";

/** The types of the dialect ${meta.dialect}: ${meta.title}. */
export type ${name} = {
  commands: {
${lines(commands, ({ type, request, result }) => `    ${type}: { fields: Fields<T.${request}>; result: ${result} };`)}
  };
  event: Exclude<T.Outbound, T.RpcResponse>;
  message: T.AgentMessage;
  dialogs: {
${lines(asks, ({ method, def, answer, answers }) => {
  const union = answers.map((name) => `T.${name}`).join(" | ");
  return `    ${method}: { request: T.${def}; answer: MemberOf<${union}, "${answer}"> };`;
})}
  };
  session: {
${lines(meta.session.members, ({ name, schema, absent, description }) => `    /** ${description} */
    ${name}?: ${typeOf(schema)}${absent ? " | null" : ""};`)}
  };
};

/** Client of a server that speaks ${meta.dialect}. ${meta.description} */
export class ${name}Client extends Client<${name}> {
  /** Starts a server, and waits until it accepts commands. */
  static async spawn(options: Options<${name}> = {}): Promise<${name}Client> {
    return new ${name}Client(TABLES, options).ready();
  }

  /** Connects to a session of a \`pi-rpc host\`: \`webSocket(url, { token })\`. Needs no Node.js. */
  static async connect(to: Connect, options: ConnectOptions<${name}> = {}): Promise<${name}Client> {
    return new ${name}Client(TABLES, options, to).ready();
  }
${lines(commands, code)}
${lends ? LEND : ""}${pages ? PAGES : ""}}
`.replace(/\n\n}/g, "\n}");
}

/** The state of a session, for use with a connection of your own; does not need Node.js. */
function session(meta, defs) {
  const name = nameOf(meta);
  return `
import { SessionState } from "../session.js";
import type { Tables } from "../tables.js";
import type { ${name} } from "./${meta.dialect}.js";

/** State of a session that speaks ${meta.dialect}, from the frames that are passed in. */
export class ${name}SessionState extends SessionState<${name}> {
  /** \`fresh\`: the server has just started, and all frames since are passed in. */
  constructor(options: { readonly fresh?: boolean } = {}) {
    super(TABLES, options);
  }
}

/** Tables of ${meta.dialect} for the runtime. */
export const TABLES: Tables = ${tables(meta, defs)};
`;
}

function nameOf({ dialect }) {
  return words(dialect).map(capital).join("");
}

/** Type of a member of the session state. */
function typeOf({ $ref, type, items, oneOf }) {
  if ($ref !== undefined) return `T.${$ref.split("/").at(-1)}`;
  if (oneOf !== undefined) return oneOf.map(typeOf).join(" | ");
  return type === "array" ? `readonly ${typeOf(items)}[]` : type;
}

function code({ type, request, description, method, result, members }) {
  const fields = `fields: Fields<T.${request}>${members.some(({ required }) => required) ? "" : " = {}"}, `;
  return `
  /** ${description} */
  ${method}(${members.length === 0 ? "" : fields}options?: CallOptions): Promise<${result}> {
    return this.call("${type}", ${members.length === 0 ? "{}" : "fields"}, options);
  }`;
}

/** Members of a command that its caller sets. */
function members({ properties, required }) {
  const chosen = Object.keys(properties).filter((name) => name !== "id" && name !== "type");
  return chosen.map((name) => ({ name, required: required.includes(name) }));
}

/** Type of the result of a command. */
function result({ data, response }, isRequired) {
  const one = (schema) => (schema.$ref === undefined ? schema.type : `T.${schema.$ref.split("/").at(-1)}`);
  if (data === undefined) return "void";
  const all = data.oneOf ?? [data];
  const isNamed = all.every(({ $ref, type }) => $ref !== undefined || type === "null");
  return (isNamed ? all.map(one).join(" | ") : `T.${response}["data"]`) + (isRequired ? "" : " | undefined");
}

function method({ type }) {
  const [first, ...rest] = words(type);
  const name = [first, ...rest.map(capital)].join("");
  return TAKEN.includes(name) ? `send${capital(name)}` : name;
}

function tables(meta, defs) {
  const [flow] = meta.chart.regions;
  const rows = {
    dialect: meta.dialect,
    saysReady: meta.record.ready !== "none",
    serial: meta.record.dispatch !== "concurrent",
    frameLimits: frameLimits(meta),
    control: meta.commands.filter(({ control }) => control).map(({ type }) => type),
    idle: flow.initial,
    commands: meta.commands.map(({ type }) => type),
    events: meta.events.map(({ type }) => type),
    dialogs: Object.fromEntries(meta.dialogs.map(({ method, answer }) => [method, answer ?? null])),
    zeroTimeoutExpires: meta.record.dialogs.zeroTimeoutExpires,
    settles: meta.record.streamingFlag === "settled",
  };
  const outcomes = meta.commands.flatMap(({ type, states }) => {
    const own = byOutcome(meta, states).map((row) => `      ${JSON.stringify(row)},`);
    return own.length === 1 ? `    ${type}: [${own[0].trim().slice(0, -1)}],` : [`    ${type}: [`, ...own, "    ],"];
  });
  const steps = flow.transitions.map(({ from, to, on }) => `    ${JSON.stringify({ from, to, on })},`);
  const changes = (all) => all.filter(({ effects }) => effects.length > 0).flatMap(({ type, effects }) => [
    `      ${type}: [`,
    ...effects.map((effect) => `        ${JSON.stringify(effect)},`),
    "      ],",
  ]);
  const told = meta.commands.filter(({ tells }) => tells !== undefined);
  return `{
${lines(Object.entries(rows), ([name, row]) => `  ${name}: ${JSON.stringify(row)},`)}
  outcomes: {
${outcomes.join("\n")}
  },
  steps: [
${steps.join("\n")}
  ],
  session: {
    members: {
${lines(meta.session.members, (member) => `      ${member.name}: ${JSON.stringify(memberAbout(member))},`)}
    },
    commands: {
${changes(meta.commands).join("\n")}
    },
    events: {
${changes(meta.events).join("\n")}
    },
    tells: {
${lines(told, ({ type, tells }) => `      ${type}: ${JSON.stringify(tells)},`)}
    },
    streaming: ${JSON.stringify(streaming(meta))},
    compacting: ${JSON.stringify(stateNames(meta).filter((state) => state.includes("compacting")))},
    levels: ${JSON.stringify(levels(meta, defs))},
    cleansName: ${JSON.stringify(meta.record.cleansSessionName)},
  },
}`;
}

/** Limits of frames that may come in chunks; null: none does. */
function frameLimits({ record: { frameLimits } }) {
  const { frame = null, reassembled = null } = frameLimits ?? {};
  return frame === null || reassembled === null ? null : { frame, reassembled };
}

function memberAbout({ kept, schema, absent, fresh }) {
  const flags = { isList: schema.type === "array", absent, fresh };
  return { kept, ...Object.fromEntries(Object.entries(flags).filter(([, is]) => is)) };
}

/** Groups of states with the same disposition of a command; the largest group comes last and unnamed. */
function byOutcome(meta, states) {
  const groups = new Map();
  for (const [state, outcomes] of Object.entries(states)) {
    const own = outcomes.map(({ when, disposition, error }) => ({ when, disposition, refusal: error && meta.errors[error].text }));
    const key = JSON.stringify(own);
    groups.set(key, { in: [...(groups.get(key)?.in ?? []), state], outcomes: own });
  }
  const rows = [...groups.values()].sort((one, other) => one.in.length - other.in.length);
  return rows.map((row, place) => (place === rows.length - 1 ? { outcomes: row.outcomes } : row));
}

function stateNames(meta) {
  return meta.chart.regions[0].states.map(({ name }) => name);
}

/** Value of `isStreaming` by state, without the states that leave it open. */
function streaming(meta) {
  const flag = meta.record.streamingFlag;
  const busy = { run: [], busy: ["starting", "settling", "retrying", "compacting"], settled: ["settling", "retrying", "compacting"] }[flag];
  const open = flag === "busy" ? [] : ["starting", "compacting_before_prompt"];
  const named = stateNames(meta).filter((state) => !open.includes(state));
  return Object.fromEntries(named.map((state) => [state, state.startsWith("streaming") || busy.includes(state)]));
}

function levels(meta, defs) {
  const all = defs.ThinkingLevel.enum;
  const { levelWithoutThinking, levelFollowsModel } = meta.record;
  return {
    all,
    // A model with a map supports these levels only if the map has them.
    extra: all.includes("xhigh") ? all.slice(all.indexOf("xhigh")) : [],
    withoutThinking: levelWithoutThinking === "unset" ? null : levelWithoutThinking,
    followsModel: levelFollowsModel,
  };
}

function words(name) {
  return name.split(/[^a-z0-9]+/);
}

function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function lines(list, line) {
  return list.map(line).join("\n");
}
