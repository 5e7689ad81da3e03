/** Makes the frame `register` of what extensions add and subscribe to. */
import { AWAITED_EVENTS, HANDLED_HOOKS, SHOWN_EVENTS } from "./schema.mjs";
import { isRecord, messageOf, plain, text, typeName } from "./shapes.mjs";
import { SINCE } from "./versions.mjs";

/** Events of pi that are made of other events, with those. */
const SOURCE_EVENTS = {
  message_update: ["message_start"],
  turn_start: ["agent_start", "turn_end"],
  turn_end: ["agent_start"],
  session_compact_failed: ["compaction_end"],
};

/** Events of pi that are made of a hook of another name. */
const SOURCE_HOOKS = {
  session_switch: "session_start",
  session_fork: "session_start",
  context_with_system: "context",
};

/**
 * @param {import("./member.mjs").Member[]} members
 * @param {import("./versions.mjs").Features} features
 * @param {(member: import("./member.mjs").Member, error: string) => void} report Reports what is skipped, and why.
 * @param {Map<string, { name: string, config: object, extensionPath: string }>} [servers] MCP servers, by name.
 * @returns {Record<string, unknown>} The frame `register`, valid whatever extensions have passed.
 */
export function registration(members, features, report, servers = new Map()) {
  for (const member of members) reportInvalidNames(member, (error) => report(member, error));
  return {
    type: "register",
    commands: commands(members, features).map(({ name, command, member }) => ({
      name,
      description: text(command?.description),
      path: member.path,
    })),
    tools: [...tools(members).values()].flatMap((one) => {
      try {
        return [describeTool(one)];
      } catch (error) {
        report(one.member, messageOf(error));
        return [];
      }
    }),
    ...subscriptions(members, features),
    flags: members.flatMap((member) =>
      [...member.flags].filter(([name]) => isName(name)).map(([name, flag]) => ({
        name,
        description: text(flag?.description),
        path: member.path,
        takesValue: flag?.type === "string",
      })),
    ),
    shortcuts: members.flatMap((member) => [...member.shortcuts.keys()].filter(isName)),
    ...(servers.size === 0 ? {} : { mcpServers: [...servers.values()].map(({ name, config, extensionPath }) => ({ name, config, path: extensionPath })) }),
  };
}

/** Reports items whose names are no strings, or empty. */
function reportInvalidNames(member, report) {
  const kinds = { tool: member.tools, command: member.commands, flag: member.flags, shortcut: member.shortcuts };
  for (const [kind, items] of Object.entries(kinds)) {
    for (const name of items.keys()) {
      if (!isName(name)) report(`name of a ${kind}: expected a string that is not empty, got ${String(name)}; the ${kind} is skipped`);
    }
  }
}

function isName(name) {
  return typeof name === "string" && name !== "";
}

/**
 * The commands under the names that they are called by.
 * @param {import("./member.mjs").Member[]} members
 * @param {{ numberedCommands: boolean }} features
 * @returns {{ name: string, command: any, member: import("./member.mjs").Member }[]}
 */
export function commands(members, { numberedCommands }) {
  const all = members.flatMap((member) =>
    // A name with a blank could not be called.
    [...member.commands].filter(([name]) => isName(name) && /^\S+$/.test(name)).map(([name, command]) => ({ name, command, member })),
  );
  if (!numberedCommands) return all;
  const counts = new Map();
  for (const { name } of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = new Set();
  const seen = new Map();
  return all.map((one) => {
    let count = (seen.get(one.name) ?? 0) + 1;
    seen.set(one.name, count);
    let name = counts.get(one.name) > 1 ? `${one.name}:${count}` : one.name;
    while (taken.has(name)) name = `${one.name}:${(count += 1)}`;
    taken.add(name);
    return { ...one, name };
  });
}

/**
 * The tools by name; the first of a name is the one that counts.
 * @param {import("./member.mjs").Member[]} members
 * @returns {Map<string, { tool: any, member: import("./member.mjs").Member }>}
 */
export function tools(members) {
  const all = new Map();
  for (const member of members) {
    for (const [name, tool] of member.tools) {
      if (isName(name) && !all.has(name)) all.set(name, { tool, member });
    }
  }
  return all;
}

/** @throws when its `parameters` are no object, or no JSON. */
function describeTool({ tool, member }) {
  const parameters = plain(tool.parameters ?? { type: "object", properties: {} }, `tool ${tool.name}: parameters`);
  if (!isRecord(parameters)) throw new Error(`tool ${tool.name}: parameters: expected an object, got ${typeName(parameters)}; the tool is skipped`);
  const declared = tool.exposure === undefined || tool.exposure === "direct" || tool.exposure === "model-only";
  return {
    name: tool.name,
    label: text(tool.label),
    description: text(tool.description) || text(tool.label) || tool.name,
    parameters,
    path: member.path,
    promptSnippet: text(tool.promptSnippet),
    promptGuidelines: textList(tool.promptGuidelines),
    sequential: tool.executionMode === "sequential" || undefined,
    inactive: !declared || tool.defaultActive === false || undefined,
  };
}

function textList(list) {
  if (list === undefined || list === null) return undefined;
  return (Array.isArray(list) ? list : [list]).map(text).filter((one) => one !== undefined);
}

function subscriptions(members, features) {
  const names = new Set(members.flatMap((member) => [...member.handlers.keys()]));
  const offered = (name) => features.version >= (SINCE[name] ?? 0);
  const hooks = new Set(HANDLED_HOOKS.filter((name) => names.has(name) && offered(name)));
  for (const [name, hook] of Object.entries(SOURCE_HOOKS)) if (names.has(name)) hooks.add(hook);
  // Extensions are loaded again for each session.
  if (features.instances && members.length > 0) hooks.add("session_shutdown").add("session_start");
  const awaits = AWAITED_EVENTS.filter((name) => names.has(name) && !hooks.has(name));
  const events = new Set([...awaits, ...SHOWN_EVENTS.filter((name) => names.has(name))]);
  for (const [name, parts] of Object.entries(SOURCE_EVENTS)) {
    if (names.has(name)) for (const part of parts) events.add(part);
  }
  if (awaits.length > 0) hooks.add("event");
  const prepares = [...tools(members).values()].some(({ tool }) => tool.prepareArguments);
  if (prepares && offered("prepare_arguments")) hooks.add("prepare_arguments");
  return { hooks: [...hooks], events: [...events], awaits };
}
