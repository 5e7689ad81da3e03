/** `ctx`, the argument of handlers, commands and tools. */
import { messageFrame, userFrame } from "./api.mjs";
import { scope } from "./scope.mjs";
import { runNestedTool, toolsAsPi } from "./tools.mjs";

/**
 * For handlers of events.
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 */
export function createContext(host, generation) {
  const property = (get) => ({
    enumerable: true,
    configurable: true,
    get: () => {
      generation.assertActive();
      return get();
    },
  });
  const whileActive = (act) => (...args) => {
    generation.assertActive();
    return act(...args);
  };
  const ctx = {
    isIdle: whileActive(() => host.state().isIdle),
    isProjectTrusted: whileActive(() => host.hello.projectTrusted !== false),
    abort: whileActive(() => host.act({ type: "abort" })),
    hasPendingMessages: whileActive(() => host.state().hasPendingMessages),
    shutdown: whileActive(() => host.act({ type: "shutdown" })),
    getContextUsage: whileActive(() => host.state().contextUsage),
    compact: whileActive((options) => void compact(host, options)),
    getSystemPrompt: whileActive(() => host.query("system_prompt").systemPrompt),
  };
  return Object.defineProperties(ctx, {
    ui: property(() => host.ui),
    mode: property(() => "rpc"),
    hasUI: property(() => host.hello.hasUi !== false),
    cwd: property(() => host.cwd),
    sessionManager: property(() => host.session),
    modelRegistry: property(() => host.models),
    model: property(() => host.state().model),
    scopedModels: property(() => (host.query("models").scope ?? []).map((model) => ({ model }))),
    thinkingLevel: property(() => host.state().thinkingLevel),
    signal: property(() => (scope().inRun ? scope().signal : undefined)),
  });
}

/**
 * For commands.
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 */
export function createCommandContext(host, generation) {
  const changingSession = (act) => async (...args) => {
    generation.assertActive();
    const withSession = args.at(-1)?.withSession;
    const { cancelled = false } = (await host.request(await act(...args))) ?? {};
    if (!cancelled && withSession) await withSession(createReplacedContext(host));
    return { cancelled };
  };
  return Object.assign(createContext(host, generation), {
    getSystemPromptOptions: () => {
      generation.assertActive();
      return host.query("system_prompt").options;
    },
    waitForIdle: async () => {
      generation.assertActive();
      await host.request({ type: "wait_for_idle" });
    },
    newSession: changingSession(async ({ parentSession, setup } = {}) => ({
      type: "new_session",
      parentSession,
      entries: setup && (await setupMessages(host, setup)),
    })),
    fork: changingSession((entryId, { position } = {}) => ({ type: "fork", entryId, position })),
    switchSession: changingSession((sessionPath) => ({ type: "switch_session", sessionPath })),
    navigateTree: changingSession((targetId, options = {}) => {
      const { summarize, customInstructions, replaceInstructions, label } = options;
      return { type: "navigate_tree", targetId, summarize, customInstructions, replaceInstructions, label };
    }),
    reload: async () => {
      generation.assertActive();
      await host.reload();
    },
  });
}

/**
 * For tools.
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @param {string} toolCallId
 * @param {AbortSignal} signal That of the call.
 */
export function createToolContext(host, generation, toolCallId, signal) {
  const ctx = createContext(host, generation);
  Object.defineProperty(ctx, "tools", {
    enumerable: true,
    get: () => {
      const active = new Set(host.state().activeTools);
      return toolsAsPi(host, generation).filter(({ name }) => active.has(name));
    },
  });
  ctx.executeTool = (name, args, options = {}) => {
    generation.assertActive();
    return runNestedTool(host, generation, toolCallId, { name, args, ctx, signal, ...options });
  };
  return ctx;
}

/** The context of the new session, for the callback `withSession`. */
function createReplacedContext(host) {
  return Object.assign(createCommandContext(host, host.generation), {
    sendMessage: async (message, options) => void (await host.request(messageFrame(message, options))),
    sendUserMessage: async (content, options) => void (await host.request(userFrame(content, options))),
  });
}

async function compact(host, { customInstructions, onComplete, onError } = {}) {
  let result;
  try {
    result = await host.request({ type: "compact", customInstructions });
  } catch (error) {
    onError?.(error);
    return;
  }
  onComplete?.(result);
}

async function setupMessages(host, setup) {
  const { SetupSession } = await import("./setup_session.mjs");
  const session = new SetupSession(host);
  await setup(session);
  return session.messages;
}
