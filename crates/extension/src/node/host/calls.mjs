/** Runs commands and tools of extensions for the server. */
import { createCommandContext, createToolContext } from "./context.mjs";
import { commands, tools } from "./registration.mjs";
import { within } from "./scope.mjs";
import { blocks, isRecord } from "./shapes.mjs";
import { failure } from "./tools.mjs";

/**
 * @param {import("./host.mjs").Host} host
 * @param {any} frame The `command`.
 */
export async function runCommand(host, { id, name, arguments: args }) {
  const { generation, features } = host;
  const called = commands(generation.members, features).find((command) => command.name === name);
  if (!called) throw new Error(`no extension registers the command /${name}`);
  const { command, member } = called;
  const ctx = createCommandContext(host, generation);
  // Frames that the handler sends before its first `await` precede `accept`.
  const ended = within({ path: member.path }, async () => command.handler(args, ctx));
  host.wire.send({ type: "accept", id });
  await ended;
}

/**
 * @param {import("./host.mjs").Host} host
 * @param {any} frame The `tool_call`.
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, unknown>>} The fields of `tool_result`.
 */
export async function runTool(host, { id, toolCallId, toolName, arguments: args }, signal) {
  const { generation, features } = host;
  const called = tools(generation.members).get(toolName);
  if (!called) throw new Error(`no extension registers the tool ${toolName}`);
  const { tool, member } = called;
  const ctx = createToolContext(host, generation, toolCallId, signal);
  let isOver = false;
  const update = (partialResult) => {
    if (!isOver) host.wire.send({ type: "tool_update", id, partialResult: normalizeResult(partialResult) });
  };
  try {
    const result = await within({ path: member.path }, () => tool.execute(toolCallId, args, signal, update, ctx));
    return { result: normalizeResult(result), ...(features.modern && result?.isError === true && { isError: true }) };
  } catch (error) {
    return { result: failure(error), isError: true };
  } finally {
    isOver = true;
  }
}

/** The result of a tool, of any shape, with a list of blocks as its content. */
function normalizeResult(result) {
  if (!isRecord(result)) return { content: blocks(result) };
  return { ...result, content: blocks(result.content) };
}
