/** The models of pi-ai, which are those that the server knows, and how they are asked: by the server. */
import { AssistantMessageEventStream } from "./ai-events.mjs";
import { bridge } from "./bridge.mjs";

/** The interfaces that pi-ai has a function each for. */
const APIS = [
  "anthropic-messages",
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "azure-openai-responses",
  "google-generative-ai",
  "google-vertex",
  "google-gemini-cli",
  "mistral-conversations",
  "bedrock-converse-stream",
];

const known = () => (bridge().query("models")?.models ?? []).map((entry) => entry.model ?? entry);

export const getModels = (provider) => known().filter((model) => provider === undefined || model.provider === provider);
export const getModel = (provider, id) => known().find((model) => model.provider === provider && model.id === id);
export const getProviders = () => [...new Set(known().map((model) => model.provider))];
export const modelsAreEqual = (a, b) => Boolean(a && b && a.id === b.id && a.provider === b.provider);

/** Writes what a usage costs into it, and gives that. Prices are for a million tokens. */
export function calculateCost(model, usage) {
  const kinds = ["input", "output", "cacheRead", "cacheWrite"];
  let total = 0;
  for (const kind of kinds) {
    usage.cost[kind] = ((model.cost?.[kind] ?? 0) / 1_000_000) * usage[kind];
    total += usage.cost[kind];
  }
  usage.cost.total = total;
  return usage.cost;
}

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** The thinking levels that a model has; `xhigh` only where the model lists it. */
export function getSupportedThinkingLevels(model) {
  if (!model.reasoning) return ["off"];
  const mapped = (level) => model.thinkingLevelMap?.[level];
  return LEVELS.filter((level) => mapped(level) !== null && (level !== "xhigh" || mapped(level) !== undefined));
}

export const supportsXhigh = (model) => getSupportedThinkingLevels(model).includes("xhigh");

/** The level, or the next one that the model has: a higher one first. */
export function clampThinkingLevel(model, level) {
  const has = getSupportedThinkingLevels(model);
  const wanted = LEVELS.indexOf(level);
  const order = wanted < 0 ? [] : [...LEVELS.slice(wanted), ...LEVELS.slice(0, wanted).reverse()];
  return order.find((one) => has.includes(one)) ?? has[0] ?? "off";
}

/** @type {Map<string, { api: string, source?: string, stream?: Function, streamSimple?: Function }>} */
const ownProviders = new Map();
export const registerApiProvider = (provider, source) => void ownProviders.set(provider.api, { ...provider, source });
export const getApiProvider = (api) => ownProviders.get(api) ?? (APIS.includes(api) ? { api, stream, streamSimple } : undefined);
export const getApiProviders = () => [...new Set([...APIS, ...ownProviders.keys()])].map(getApiProvider);
export const clearApiProviders = () => ownProviders.clear();
export const resetApiProviders = clearApiProviders;
export const registerBuiltInApiProviders = () => {};
export function unregisterApiProviders(source) {
  for (const [api, provider] of ownProviders) if (provider.source === source) ownProviders.delete(api);
}

/**
 * Asks a model. The server does that, with the keys that it has; `apiKey`, `headers` and the like of the options do not count.
 * The answer comes whole, so that each block is one delta.
 * @returns {AssistantMessageEventStream}
 */
export function streamSimple(model, context, options = {}) {
  const own = ownProviders.get(model.api);
  if (own?.streamSimple) return own.streamSimple(model, context, options);
  const events = new AssistantMessageEventStream();
  ask(model, context, options).then(
    (message) => say(events, message),
    (error) => say(events, failed(model, error, options.signal)),
  );
  return events;
}

export const stream = (model, context, options = {}) => {
  const own = ownProviders.get(model.api);
  return own?.stream ? own.stream(model, context, options) : streamSimple(model, context, options);
};
export const complete = (model, context, options) => stream(model, context, options).result();
export const completeSimple = (model, context, options) => streamSimple(model, context, options).result();

async function ask(model, context, { signal, reasoning, reasoningEffort, maxTokens } = {}) {
  signal?.throwIfAborted();
  const level = reasoning ?? reasoningEffort;
  const tools = (context.tools ?? []).map(({ name, description, label, parameters }) => ({
    name,
    description,
    ...(label ? { label } : {}),
    parameters,
  }));
  const { message } = await bridge().request(
    {
      type: "complete",
      provider: model.provider,
      modelId: model.id,
      messages: context.messages ?? [],
      ...(context.systemPrompt ? { systemPrompt: context.systemPrompt } : {}),
      ...(tools.length > 0 ? { tools } : {}),
      ...(level ? { level } : {}),
      ...(maxTokens ? { maxTokens } : {}),
    },
    signal,
  );
  return message;
}

/** A failed request resolves to a message with the error; it never rejects. */
function failed(model, error, signal) {
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { ...none, totalTokens: 0, cost: { ...none, total: 0 } },
    stopReason: signal?.aborted ? "aborted" : "error",
    errorMessage: error instanceof Error ? error.message : String(error),
    timestamp: Date.now(),
  };
}

function say(events, message) {
  const partial = { ...message, content: [] };
  events.push({ type: "start", partial });
  message.content.forEach((block, contentIndex) => {
    partial.content.push(block);
    const kind = { text: "text", thinking: "thinking", toolCall: "toolcall" }[block.type];
    if (!kind) return;
    const delta = block.text ?? block.thinking ?? JSON.stringify(block.arguments);
    events.push({ type: `${kind}_start`, contentIndex, partial });
    events.push({ type: `${kind}_delta`, contentIndex, delta, partial });
    events.push({ type: `${kind}_end`, contentIndex, ...(kind === "toolcall" ? { toolCall: block } : { content: delta }), partial });
  });
  const { stopReason } = message;
  if (stopReason === "error" || stopReason === "aborted") events.push({ type: "error", reason: stopReason, error: message });
  else events.push({ type: "done", reason: stopReason, message });
}
