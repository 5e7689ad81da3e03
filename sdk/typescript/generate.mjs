// Writes src/generated: for each base dialect its types, as `pi-rpc schema --format typescript` has them, and a client
// with a method for each command and the tables of the runtime, out of `--format meta`.
//
//     node generate.mjs [PI_RPC [FOLDER]]

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROGRAM = process.argv[2] ?? process.env.PI_RPC_BIN ?? "pi-rpc";
const FOLDER = process.argv[3] ?? fileURLToPath(new URL("src/generated", import.meta.url));
const MADE = "// Made by generate.mjs. Do not edit.\n";

/** Methods of the client that commands of the same name do not replace: theirs are called `sendPrompt` and so on. */
const TAKEN = ["prompt", "call", "request", "refusal", "events", "close", "ready", "lend", "state", "exited"];

const LEND = `
  /** Lends tools to the model, in place of those before: it calls them, this side carries them out. */
  async lendTools(tools: HostTool<T.SetHostToolsCommand["tools"][number]>[], options?: CallOptions): Promise<void> {
    await this.lend(tools, (tools) => this.setHostTools({ tools }, options));
  }
`;

const dialects = Object.entries(JSON.parse(schema("dialects")));
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
for (const [dialect] of dialects.filter(([dialect, { base }]) => dialect === base)) {
  const meta = JSON.parse(schema("meta", dialect));
  const defs = JSON.parse(schema("json-schema", dialect)).$defs;
  writeFileSync(`${FOLDER}/${dialect}.types.ts`, schema("typescript", dialect));
  writeFileSync(`${FOLDER}/${dialect}.ts`, MADE + client(meta, defs));
}

function schema(format, dialect = "pi") {
  const options = { encoding: "utf8", maxBuffer: 1 << 28 };
  return execFileSync(PROGRAM, ["schema", "--dialect", dialect, "--format", format], options);
}

function client(meta, defs) {
  const name = words(meta.dialect).map(capital).join("");
  const commands = meta.commands.map((about) => ({
    ...about,
    method: method(about),
    result: result(about),
    members: members(defs[about.request]),
  }));
  const lends = meta.commands.some(({ type }) => type === "set_host_tools");
  const asks = meta.dialogs.filter(({ answer }) => answer !== undefined);
  return `
import { Client, type CallOptions, type Options } from "../client.js";
import type { Fields, ${lends ? "HostTool, " : ""}MemberOf } from "../dialect.js";
import type { Tables } from "../tables.js";
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
};

/** A server that speaks ${meta.dialect}. ${meta.description} */
export class ${name}Client extends Client<${name}> {
  /** Starts a server, and waits until it takes commands. */
  static async spawn(options: Options<${name}> = {}): Promise<${name}Client> {
    return new ${name}Client(TABLES, options).ready();
  }
${lines(commands, code)}
${lends ? LEND : ""}}

const TABLES: Tables = ${tables(meta)};
`.replace(/\n\n}/g, "\n}");
}

function code({ type, request, description, method, result, members }) {
  const fields = `fields: Fields<T.${request}>${members.some(({ required }) => required) ? "" : " = {}"}, `;
  return `
  /** ${description} */
  ${method}(${members.length === 0 ? "" : fields}options?: CallOptions): Promise<${result}> {
    return this.call("${type}", ${members.length === 0 ? "{}" : "fields"}, options);
  }`;
}

/** The members of a command that its caller chooses. */
function members({ properties, required }) {
  const chosen = Object.keys(properties).filter((name) => name !== "id" && name !== "type");
  return chosen.map((name) => ({ name, required: required.includes(name) }));
}

/** The type of what a command returns. */
function result({ data, response }) {
  const one = (schema) => (schema.$ref === undefined ? schema.type : `T.${schema.$ref.split("/").at(-1)}`);
  if (data === undefined) return "void";
  const all = data.oneOf ?? [data];
  return all.every(({ $ref, type }) => $ref !== undefined || type === "null")
    ? all.map(one).join(" | ")
    : `T.${response}["data"]`;
}

function method({ type }) {
  const [first, ...rest] = words(type);
  const name = [first, ...rest.map(capital)].join("");
  return TAKEN.includes(name) ? `send${capital(name)}` : name;
}

function tables(meta) {
  const [flow] = meta.chart.regions;
  const outcome = ({ when, error }) => ({ when, refusal: error && meta.errors[error].text });
  const refusing = meta.commands.filter(({ states }) => Object.values(states).flat().some(({ error }) => error));
  const rows = {
    dialect: meta.dialect,
    saysReady: meta.record.ready !== "none",
    serial: meta.record.dispatch !== "concurrent",
    control: meta.commands.filter(({ control }) => control).map(({ type }) => type),
    idle: flow.initial,
    events: meta.events.map(({ type }) => type),
    dialogs: Object.fromEntries(meta.dialogs.map(({ method, answer }) => [method, answer ?? null])),
    zeroTimeoutExpires: meta.record.dialogs.zeroTimeoutExpires,
    settles: meta.record.streamingFlag === "settled",
  };
  const refused = refusing.flatMap(({ type, states }) => [
    `    ${type}: {`,
    ...Object.entries(states)
      .filter(([, outcomes]) => outcomes.some(({ error }) => error))
      .map(([state, outcomes]) => `      "${state}": ${JSON.stringify(outcomes.map(outcome))},`),
    "    },",
  ]);
  const steps = flow.transitions.map(({ from, to, on }) => `    ${JSON.stringify({ from, to, on })},`);
  return `{
${lines(Object.entries(rows), ([name, row]) => `  ${name}: ${JSON.stringify(row)},`)}
  refused: {
${refused.join("\n")}
  },
  steps: [
${steps.join("\n")}
  ],
}`;
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
