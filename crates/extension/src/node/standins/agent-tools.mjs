/**
 * The built-in tools, as extensions make them: the server runs them. Where an extension brings operations of its own, say on another machine,
 * the tool is done here.
 */
import * as path from "node:path";
import { bashWith, editWith, findWith, lsWith, readWith, writeWith } from "./agent-operations.mjs";
import { specOf } from "./agent-tool-specs.mjs";
import { bridge } from "./bridge.mjs";
import { Text } from "./tui-components.mjs";

/** How a tool is done with operations of an extension's own. Searching has none: those only read what was found. */
const WITH_OPERATIONS = { bash: bashWith, edit: editWith, find: findWith, ls: lsWith, read: readWith, write: writeWith };

/**
 * @param {string} name The tool.
 * @param {string} cwd What its paths are relative to.
 * @param {any} options As pi has them; those for rendering and for images do not count.
 */
function toolOf(name, cwd, options = {}) {
  return {
    ...specOf(name),
    execute(toolCallId, args, signal, onUpdate) {
      const own = WITH_OPERATIONS[name];
      if (own && options.operations) return own({ args, cwd, options, signal, onUpdate });
      return runByServer(name, name === "bash" ? bashArguments(args, cwd, options) : withPath(name, args, cwd), signal);
    },
  };
}

/** A tool for `registerTool`, with functions that render it, which are never called here. */
function definitionOf(name, cwd, options) {
  return {
    ...toolOf(name, cwd, options),
    renderCall: (args) => new Text(`${name} ${args?.path ?? args?.command ?? args?.pattern ?? ""}`.trim(), 0, 0),
    renderResult: (result) => new Text(textOf(result.content), 0, 0),
  };
}

async function runByServer(name, args, signal) {
  const { result, isError } = await bridge().request({ type: "run_tool", toolName: name, arguments: args }, signal);
  if (isError) throw new Error(textOf(result.content));
  return result;
}

const textOf = (content) => content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

/** Where paths are relative to the server's own directory, they stay as the model wrote them: results name them so. */
function withPath(name, args, cwd) {
  if (path.resolve(cwd) === path.resolve(bridge().cwd)) return args;
  if (typeof args.path === "string" && !args.path.startsWith("~")) return { ...args, path: path.resolve(cwd, args.path.replace(/^@/, "")) };
  return args.path === undefined && ["grep", "find", "ls"].includes(name) ? { ...args, path: cwd } : args;
}

/** The server runs commands in its own directory and environment: another one is set up by the command. */
function bashArguments(args, cwd, { commandPrefix, spawnHook }) {
  const command = commandPrefix ? `${commandPrefix}\n${args.command}` : args.command;
  const wanted = spawnHook?.({ command, cwd, env: { ...process.env } }) ?? { command, cwd, env: process.env };
  const set = Object.entries(wanted.env ?? {}).filter(([key, value]) => process.env[key] !== value && value !== undefined);
  const exports = set.map(([key, value]) => `export ${key}=${quoted(value)}\n`).join("");
  const elsewhere = path.resolve(wanted.cwd) === path.resolve(bridge().cwd) ? "" : `cd ${quoted(wanted.cwd)} || exit 1\n`;
  return { ...args, command: exports + elsewhere + wanted.command };
}

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

const maker =
  (name) =>
  (cwd = bridge().cwd, options) =>
    toolOf(name, cwd, options);
const definer =
  (name) =>
  (cwd = bridge().cwd, options) =>
    definitionOf(name, cwd, options);
export const createReadTool = maker("read");
export const createBashTool = maker("bash");
export const createEditTool = maker("edit");
export const createWriteTool = maker("write");
export const createGrepTool = maker("grep");
export const createFindTool = maker("find");
export const createLsTool = maker("ls");
export const createReadToolDefinition = definer("read");
export const createBashToolDefinition = definer("bash");
export const createEditToolDefinition = definer("edit");
export const createWriteToolDefinition = definer("write");
export const createGrepToolDefinition = definer("grep");
export const createFindToolDefinition = definer("find");
export const createLsToolDefinition = definer("ls");

const several =
  (...names) =>
  (cwd = bridge().cwd, options = {}) =>
    names.map((name) => toolOf(name, cwd, options[name]));
export const createCodingTools = several("read", "bash", "edit", "write");
export const createReadOnlyTools = several("read", "grep", "find", "ls");

/** Ready-made tools of older versions of pi, made when the first of their properties is read. */
const lazily = (make) => {
  let made;
  const real = () => (made ??= make());
  return new Proxy(
    {},
    {
      get: (_, key) => Reflect.get(real(), key),
      has: (_, key) => Reflect.has(real(), key),
      ownKeys: () => Reflect.ownKeys(real()),
      getOwnPropertyDescriptor: (_, key) => ({ ...Reflect.getOwnPropertyDescriptor(real(), key), configurable: true }),
    },
  );
};
export const readTool = lazily(createReadTool);
export const bashTool = lazily(createBashTool);
export const editTool = lazily(createEditTool);
export const writeTool = lazily(createWriteTool);
export const grepTool = lazily(createGrepTool);
export const findTool = lazily(createFindTool);
export const lsTool = lazily(createLsTool);
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];
