/** Lists all tools for `pi.getAllTools`, and runs a tool for another one. */
import { tools } from "./registration.mjs";
import { within } from "./scope.mjs";
import { isRecord, messageOf, plain } from "./shapes.mjs";

/**
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @returns {any[]} The result of `pi.getAllTools()`.
 */
export function toolsAsPi(host, generation) {
  const registered = tools(generation.members);
  return host.query("tools").tools.map((listed) => {
    const mine = listed.path === undefined ? undefined : registered.get(listed.name);
    const described = {
      name: listed.name,
      description: listed.description,
      parameters: mine?.tool.parameters ?? listed.parameters,
    };
    if (!host.features.numberedCommands) return described;
    described.sourceInfo = mine?.member.sourceInfo ?? sourceInfoOf(listed, host.features);
    if (!host.features.modern) return described;
    const { promptGuidelines, exposure = "direct", namespace, annotations, reachesTools } = mine?.tool ?? listed;
    return { ...described, promptGuidelines, exposure, ...withoutUndefined({ namespace, annotations, reachesTools }) };
  });
}

/**
 * Runs a tool for another one.
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @param {string} caller Id of the calling tool call.
 * @param {{ name: string, args: any, signal?: AbortSignal, onUpdate?: Function, ctx: any }} call
 * @returns {Promise<any>} The call, its result, and whether that is an error.
 */
export async function runNestedTool(host, generation, caller, { name, args, signal, onUpdate, ctx }) {
  const toolCall = { type: "toolCall", id: `${caller}/${host.nextNestedCallId()}`, name, arguments: args };
  try {
    const mine = tools(generation.members).get(name);
    if (mine) {
      const result = await mine.tool.execute(toolCall.id, prepareArguments(mine.tool, args), signal, onUpdate, ctx);
      return { toolCall, result, isError: result?.isError === true };
    }
    const { result, isError } = await host.request({ type: "run_tool", toolName: name, arguments: args }, signal);
    return { toolCall, result, isError };
  } catch (error) {
    return { toolCall, result: failure(error), isError: true };
  }
}

/**
 * The hook `prepare_arguments`.
 * @param {import("./host.mjs").Host} host
 * @param {{ toolName: string, input: any }} hook
 * @returns {Promise<{ input: any } | undefined>}
 */
export async function preparedArguments(host, { toolName, input }) {
  const called = tools(host.generation.members).get(toolName);
  if (!called?.tool.prepareArguments) return undefined;
  const prepared = within({ path: called.member.path }, () => prepareArguments(called.tool, input));
  if (!isRecord(prepared)) throw new Error(`tool ${toolName}: prepareArguments: expected an object, got ${JSON.stringify(prepared)}`);
  return { input: plain(prepared, `tool ${toolName}: the result of prepareArguments`) };
}

/** The arguments after the tool's own `prepareArguments`, before validation. */
function prepareArguments(tool, args) {
  return tool.prepareArguments ? tool.prepareArguments(args) : args;
}

/**
 * @param {unknown} error
 * @returns {any} The result of a tool that has thrown.
 */
export function failure(error) {
  return { content: [{ type: "text", text: messageOf(error) }], details: {} };
}

function sourceInfoOf({ name, path }, { modern }) {
  const built = modern ? `builtin:${name}` : `<builtin:${name}>`;
  return path === undefined
    ? { path: built, source: "builtin", scope: "temporary", origin: "top-level" }
    : { path, source: "local", scope: "temporary", origin: "top-level" };
}

function withoutUndefined(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
