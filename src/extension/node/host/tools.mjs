/** Tools: those that there are, as `pi.getAllTools` shows them, and a tool run by another one. */
import { tools } from "./registration.mjs";
import { messageOf } from "./shapes.mjs";

/**
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @returns {any[]} What `pi.getAllTools()` gives.
 */
export function toolsAsPi(host, generation) {
  const own = tools(generation.members);
  return host.query("tools").tools.map((told) => {
    const mine = told.path === undefined ? undefined : own.get(told.name);
    const described = {
      name: told.name,
      description: told.description,
      parameters: mine?.tool.parameters ?? told.parameters,
    };
    if (!host.features.numberedCommands) return described;
    described.sourceInfo = mine?.member.sourceInfo ?? foreign(told, host.features);
    if (!host.features.modern) return described;
    const { promptGuidelines, exposure = "direct", namespace, annotations, reachesTools } = mine?.tool ?? told;
    return { ...described, promptGuidelines, exposure, ...present({ namespace, annotations, reachesTools }) };
  });
}

/**
 * Runs a tool for another one.
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @param {string} caller Id of the call that asks for it.
 * @param {{ name: string, args: any, signal?: AbortSignal, onUpdate?: Function, ctx: any }} call
 * @returns {Promise<any>} The call, its result, and whether that is an error.
 */
export async function nestedCall(host, generation, caller, { name, args, signal, onUpdate, ctx }) {
  const toolCall = { type: "toolCall", id: `${caller}/${host.nextNested()}`, name, arguments: args };
  try {
    const mine = tools(generation.members).get(name);
    if (mine) {
      const result = await execute(mine.tool, toolCall.id, args, signal, onUpdate, ctx);
      return { toolCall, result, isError: result?.isError === true };
    }
    const { result, isError } = await host.request({ type: "run_tool", toolName: name, arguments: args }, signal);
    return { toolCall, result, isError };
  } catch (error) {
    return { toolCall, result: failure(error), isError: true };
  }
}

/**
 * Runs a tool of an extension; its arguments it may have to put right first.
 * @param {any} tool
 * @param {string} toolCallId
 * @param {any} args
 * @param {AbortSignal} [signal]
 * @param {Function} [onUpdate]
 * @param {any} [ctx]
 */
export function execute(tool, toolCallId, args, signal, onUpdate, ctx) {
  const prepared = tool.prepareArguments ? tool.prepareArguments(args) : args;
  return tool.execute(toolCallId, prepared, signal, onUpdate, ctx);
}

/** @param {unknown} error What a tool has thrown. */
export function failure(error) {
  return { content: [{ type: "text", text: messageOf(error) }], details: {} };
}

function foreign({ name, path }, { modern }) {
  const built = modern ? `builtin:${name}` : `<builtin:${name}>`;
  return path === undefined
    ? { path: built, source: "builtin", scope: "temporary", origin: "top-level" }
    : { path, source: "local", scope: "temporary", origin: "top-level" };
}

function present(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
