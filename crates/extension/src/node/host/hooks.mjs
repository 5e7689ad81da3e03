/** Hooks: calls the handlers of a hook in order, and makes one outcome of their results. */
import { dirname, resolve } from "node:path";
import { callBoundary, lastOutcome } from "./boundary.mjs";
import { callHandlers, STOP } from "./handlers.mjs";
import { promptHook } from "./prompt_hook.mjs";
import { contextHook, headersHook, messageEndHook, payloadHook } from "./request_hooks.mjs";
import { SESSION_HOOKS } from "./sessions.mjs";
import { asText, blocks, isRecord, plain, text, typeName, usage } from "./shapes.mjs";
import { preparedArguments } from "./tools.mjs";
import { userBashHook } from "./user_bash.mjs";

/**
 * The functions of the hooks, by name. Each gets the host, the hook and a signal that aborts when the hook is cancelled,
 * and returns the `result` of `done`, if there is one.
 * @type {Record<string, (host: import("./host.mjs").Host, hook: any, signal: AbortSignal) => Promise<any>>}
 */
export const HOOKS = {
  session_before_switch: (host, { reason, targetSessionFile }) =>
    decide(host, { type: "session_before_switch", reason, targetSessionFile }),
  session_before_fork: (host, { entryId, position = "before" }) =>
    decide(host, { type: "session_before_fork", entryId, ...(host.features.reasons && { position }) }),
  session_before_compact: (host, hook, signal) => decide(host, compactEvent(host, hook, signal)),
  session_before_tree: (host, hook, signal) => decide(host, treeEvent(hook, signal)),
  ...SESSION_HOOKS,
  session_compact: (host, { compactionEntry, fromExtension, reason, willRetry }) =>
    notify(host, {
      type: "session_compact",
      compactionEntry,
      fromExtension,
      ...(host.features.modern && { reason, willRetry }),
    }),
  session_tree: (host, { newLeafId = null, oldLeafId = null, summaryEntry, fromExtension }) =>
    notify(host, { type: "session_tree", newLeafId, oldLeafId, summaryEntry, fromExtension }),
  model_select: (host, { model, previousModel, source }) =>
    notify(host, { type: "model_select", model, previousModel, source }),
  thinking_level_select: (host, { level, previousLevel }) =>
    notify(host, { type: "thinking_level_select", level, previousLevel }),
  after_provider_response: (host, { status, headers }) =>
    notify(host, { type: "after_provider_response", status, headers }),
  provider_stream_event: (host, { provider, api, model, data }) =>
    notify(host, { data, type: "provider_stream_event", provider, api, model }),
  agent_before_settle: (host) =>
    callBoundary(host, { type: "agent_before_settle", outcome: lastOutcome(host.session) }),
  input: inputHook,
  before_agent_start: promptHook,
  prepare_arguments: preparedArguments,
  tool_call: toolCallHook,
  tool_result: toolResultHook,
  context: contextHook,
  message_end: messageEndHook,
  model_route: async (host, hook, signal) => ({ route: await host.virtualModels.route(hook, signal) }),
  before_provider_request: payloadHook,
  before_provider_headers: headersHook,
  cache_warming_decision: warmingHook,
  mcp_servers_change: async (host, { servers }) => {
    const registered = servers.map(({ name, config, path }) => ({ name, config, extensionPath: path }));
    // Handlers that connect servers may take long; nothing waits for them.
    void notify(host, { type: "mcp_servers_change", servers: registered });
  },
  user_bash: userBashHook,
  resources_discover: resourcesHook,
  project_trust: trustHook,
};

/** The decision about a project, before it is read: the first yes or no. Nobody can be asked yet. */
async function trustHook(host, { cwd }) {
  const nobody = async () => undefined;
  const ui = { select: nobody, confirm: async () => false, input: nobody, notify: (message) => console.error(asText(message)) };
  let result;
  const decideOnce = async (handler, ctx, member) => {
    const { trusted, remember } = await handler({ type: "project_trust", cwd }, ctx);
    if (trusted === "undecided") return undefined;
    result = { trusted: trusted === "yes", remember: remember === true, path: member.path };
    return STOP;
  };
  await callHandlers(host, "project_trust", decideOnce, undefined, { cwd, mode: "rpc", hasUI: false, ui });
  return result;
}

async function notify(host, event) {
  await callHandlers(host, event.type, (handler, ctx) => handler(event, ctx));
}

/** Whether a cache is kept warm: the last handler that names an action decides. */
async function warmingHook(host, { warmCost, missCost, continuationProbability, warms }) {
  const event = { type: "cache_warming_decision", warmCost, missCost, continuationProbability, action: warms ? "warm" : "stop" };
  let action;
  await callHandlers(host, event.type, async (handler, ctx) => {
    action = (await handler(event, ctx))?.action ?? action;
  });
  return action === undefined ? undefined : { warms: action !== "stop" };
}

/** The outcome of handlers that may cancel: the last result counts, and a cancelling one ends the calls. */
async function decide(host, event) {
  let result;
  await callHandlers(host, event.type, async (handler, ctx) => {
    result = (await handler(event, ctx)) || result;
    return result?.cancel ? STOP : undefined;
  });
  if (!result) return undefined;
  if (result.cancel) return { cancel: true };
  const { compaction, summary, customInstructions, replaceInstructions, label } = result;
  return {
    compaction: compaction && {
      summary: asText(compaction.summary),
      firstKeptEntryId: text(compaction.firstKeptEntryId) ?? event.preparation.firstKeptEntryId,
      tokensBefore: Number.isFinite(compaction.tokensBefore) ? compaction.tokensBefore : event.preparation.tokensBefore,
      details: compaction.details,
      usage: usage(compaction.usage),
    },
    summary: summary && { summary: asText(summary.summary), details: summary.details, usage: usage(summary.usage) },
    customInstructions: text(customInstructions),
    replaceInstructions: replaceInstructions === undefined ? undefined : Boolean(replaceInstructions),
    label: text(label),
  };
}

function compactEvent(host, hook, signal) {
  const { customInstructions, reason = "manual", willRetry = false } = hook;
  return {
    type: "session_before_compact",
    preparation: {
      firstKeptEntryId: hook.firstKeptEntryId,
      messagesToSummarize: hook.messagesToSummarize,
      turnPrefixMessages: hook.turnPrefixMessages ?? [],
      isSplitTurn: hook.isSplitTurn ?? false,
      tokensBefore: hook.tokensBefore,
      previousSummary: hook.previousSummary,
      fileOps: { read: new Set(hook.readFiles), written: new Set(), edited: new Set(hook.modifiedFiles) },
      settings: {
        enabled: true,
        reserveTokens: hook.reserveTokens,
        keepRecentTokens: hook.keepRecentTokens,
      },
    },
    get branchEntries() {
      return host.session.getBranch();
    },
    customInstructions,
    ...(host.features.modern && { reason, willRetry }),
    signal,
  };
}

function treeEvent(hook, signal) {
  const { targetId, oldLeafId = null, commonAncestorId = null, entriesToSummarize, userWantsSummary } = hook;
  const { customInstructions, replaceInstructions, label } = hook;
  return {
    type: "session_before_tree",
    preparation: {
      targetId,
      oldLeafId,
      commonAncestorId,
      entriesToSummarize,
      userWantsSummary,
      customInstructions,
      replaceInstructions,
      label,
    },
    signal,
  };
}

async function inputHook(host, { text: given, images: givenImages, source, streamingBehavior }) {
  let current = given;
  let images = givenImages;
  let handled = false;
  await callHandlers(host, "input", async (handler, ctx) => {
    const event = { type: "input", text: current, images, source, ...(host.features.modern && { streamingBehavior }) };
    const result = await handler(event, ctx);
    if (result?.action === "handled") {
      handled = true;
      return STOP;
    }
    if (result?.action === "transform") {
      const changed = text(result.text);
      if (changed === undefined) throw new Error(`input: text: expected a string, got ${typeName(result.text)}`);
      current = changed;
      if (result.images === undefined || result.images === null) return undefined;
      if (!Array.isArray(result.images)) throw new Error(`input: images: expected an array, got ${typeName(result.images)}`);
      images = result.images;
    }
  });
  if (handled) return { action: "handled" };
  return current !== given || images !== givenImages ? { action: "transform", text: current, images } : undefined;
}

/** The outcome of `tool_call`. An error of a handler fails the hook, and so blocks the call. */
async function toolCallHook(host, { toolCallId, toolName, input, parentToolCallId }) {
  const event = { type: "tool_call", toolCallId, toolName, input };
  if (parentToolCallId !== undefined) event.parentToolCallId = parentToolCallId;
  const unchanged = JSON.stringify(input);
  let result;
  const failing = (error) => {
    throw error;
  };
  await callHandlers(
    host,
    "tool_call",
    async (handler, ctx, member) => {
      const before = event.input;
      result = (await handler(event, ctx)) || result;
      if (!isRecord(event.input)) {
        host.reportError(member.path, "tool_call", `tool_call: input: expected an object, got ${typeName(event.input)}`);
        event.input = before;
      }
      return result?.block ? STOP : undefined;
    },
    failing,
  );
  if (result?.block) {
    return { block: true, reason: asText(result.reason) || undefined, terminate: result.terminate ? true : undefined };
  }
  return JSON.stringify(event.input) === unchanged ? undefined : { input: event.input };
}

/** The fields of a result that a handler may change, each with its normalization. */
const RESULT_FIELDS = {
  content: blocks,
  details: (details) => plain(details, "details"),
  isError: Boolean,
  structuredContent: (data) => plain(data, "structuredContent"),
};

async function toolResultHook(host, hook) {
  const { toolCallId, toolName, input, content, details, isError, structuredContent, parentToolCallId } = hook;
  const event = { type: "tool_result", toolCallId, toolName, input, content, details, isError };
  if (structuredContent !== undefined) event.structuredContent = structuredContent;
  if (parentToolCallId !== undefined) event.parentToolCallId = parentToolCallId;
  const changed = {};
  await callHandlers(host, "tool_result", async (handler, ctx) => {
    const result = (await handler(event, ctx)) ?? {};
    // Structured data may not match the changed text any more.
    if (result.content !== undefined && result.structuredContent === undefined) {
      delete event.structuredContent;
      delete changed.structuredContent;
    }
    for (const field of ["content", "details", "isError", "structuredContent"]) {
      if (result[field] !== undefined) changed[field] = event[field] = RESULT_FIELDS[field](result[field]);
    }
  });
  return Object.keys(changed).length > 0 ? changed : undefined;
}

async function resourcesHook(host, { cwd, reason }) {
  const skillPaths = [];
  const promptPaths = [];
  await callHandlers(host, "resources_discover", async (handler, ctx, member) => {
    const result = (await handler({ type: "resources_discover", cwd, reason }, ctx)) ?? {};
    const absolute = (path) => resolve(dirname(member.path), path);
    skillPaths.push(...(result.skillPaths ?? []).map(absolute));
    promptPaths.push(...(result.promptPaths ?? []).map(absolute));
  });
  return { skillPaths, promptPaths };
}
