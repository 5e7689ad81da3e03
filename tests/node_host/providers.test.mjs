/** Providers of models, and what later versions register that this server does not have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const MODEL = { provider: "mine", id: "m", api: "own" };
const CALL = {
  type: "model_call",
  model: MODEL,
  systemPrompt: "P",
  messages: [{ role: "user", content: "hi", timestamp: 1 }],
  tools: [{ name: "t", description: "d", parameters: {} }],
  level: "high",
  sessionId: "s",
  maxTokens: 5,
};

const STREAMING = (pi) => {
  pi.registerProvider("mine", {
    baseUrl: "http://x",
    apiKey: "KEY",
    api: "own",
    models: [{ id: "m" }],
    oauth: { name: "Mine", login: async () => {} },
    streamSimple: async function* (model, context, { signal, apiKey, reasoning, maxTokens }) {
      if (model.id === "broken") throw new Error("it broke");
      const partial = { role: "assistant", content: [] };
      yield { type: "start", partial };
      yield { type: "text_delta", contentIndex: 0, delta: JSON.stringify({ context, apiKey, reasoning, maxTokens }), partial };
      if (model.id === "slow") await new Promise((resolve) => signal.addEventListener("abort", resolve));
      const reason = signal.aborted ? "aborted" : "stop";
      const message = { ...partial, stopReason: reason };
      yield signal.aborted ? { type: "error", reason, error: message } : { type: "done", reason, message };
    },
  });
};
const answers = { api_key: { apiKey: "k" }, register_provider: () => ({}) };

for (const [api, context] of [
  ["0.73", { systemPrompt: "P", messages: CALL.messages, tools: CALL.tools }],
  ["1.5", { messages: [{ role: "system", content: "P", toolsAdded: CALL.tools }, ...CALL.messages] }],
]) {
  test(`${api}: a provider that streams is registered without its functions, and its models are asked`, async (t) => {
    const server = await started({ test: t, api, extensions: [STREAMING], answers });
    const { id, ...told } = await server.hear("register_provider");
    const config = { baseUrl: "http://x", apiKey: "KEY", api: "own", models: [{ id: "m" }], oauth: { name: "Mine" } };
    assert.deepEqual(told, { type: "register_provider", name: "mine", config, path: server.paths[0], streams: true });

    server.tell({ ...CALL, id: "c1" });
    const [start, delta, done] = [await server.hear("model_event"), await server.hear("model_event"), await server.hear("model_event")];
    assert.deepEqual(start, { type: "model_event", id: "c1", event: { type: "start" } });
    const given = JSON.parse(delta.event.delta);
    delete given.context.messages[0].timestamp;
    if (api === "0.73") context.messages = [{ role: "user", content: "hi" }];
    assert.deepEqual(given, { context, apiKey: "k", reasoning: "high", maxTokens: 5 });
    const message = { role: "assistant", content: [], stopReason: "stop" };
    assert.deepEqual(done.event, { type: "done", reason: "stop", message });
  });
}

test("a model that fails says why, and one that is cancelled ends", async (t) => {
  const server = await started({ test: t, extensions: [STREAMING], answers });
  const broken = await server.ask({ ...CALL, model: { ...MODEL, id: "broken" } });
  assert.deepEqual(broken, { type: "failed", error: "it broke" });
  const unknown = await server.ask({ ...CALL, model: { ...MODEL, provider: "other" } });
  assert.deepEqual(unknown, { type: "failed", error: "no extension registers streamSimple for the provider other" });
  server.tell({ ...CALL, id: "c2", model: { ...MODEL, id: "slow" } });
  await server.hear("model_event");
  await server.hear("model_event");
  server.tell({ type: "cancel", id: "c2" });
  const { event } = await server.hear("model_event");
  assert.deepEqual([event.type, event.reason], ["error", "aborted"]);
});

test("a provider that is refused is an error of the extension; one may be taken back", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerProvider("mine", { baseUrl: "http://x" });
        pi.on("session_start", () => pi.unregisterProvider("mine"));
      },
    ],
    answers: { register_provider: () => ({ success: false, error: "no" }) },
  });
  const [extensionPath] = server.paths;
  assert.deepEqual(await server.hear("error"), { type: "error", extensionPath, event: "register_provider", error: "no" });
  await server.hook({ type: "session_start", reason: "startup" });
  assert.deepEqual(server.of("unregister_provider").map(({ name }) => name), ["mine"]);
});

test("a provider may be given as an object", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.registerProvider({
          id: "mine",
          name: "Mine",
          getModels: () => [{ id: "m", api: "own" }],
          streamSimple: () => {},
        }),
    ],
  });
  const { name, config, streams } = await server.hear("register_provider");
  assert.deepEqual([name, config.name, config.models, streams], ["mine", "Mine", [{ id: "m", api: "own" }], true]);
});

test("models that answer no prompts are left out, and told of", async (t) => {
  const server = await started({
    test: t,
    answers,
    extensions: [
      (pi) =>
        pi.registerProvider("media", {
          baseUrl: "http://x",
          apiKey: "K",
          api: "own",
          models: [{ id: "talks" }, { type: "chat", id: "chats" }, { type: "image", id: "paints" }],
          images: { own: { generateImages: async () => ({}) } },
        }),
    ],
  });
  const { config } = await server.hear("register_provider");
  assert.deepEqual(config.models.map(({ id }) => id), ["talks", "chats"]);
  const text = "models of extensions answer prompts here, others are left out: media/paints (image)";
  assert.deepEqual(server.of("error").map(({ event, error }) => [event, error]), [["register_provider", text]]);
});

test("servers of MCP are registered where they are connected", async (t) => {
  const server = await started({
    test: t,
    connectsMcp: true,
    extensions: [
      (pi) => {
        pi.registerMcpServer("m", { command: "x" });
        for (const [name, config] of [["no name", { command: "x" }], ["n", null]]) {
          let isRefused = false;
          try {
            pi.registerMcpServer(name, config);
          } catch {
            isRefused = true;
          }
          if (!isRefused) throw new Error(`${name} was not refused`);
        }
        pi.registerMcpServer("n", { url: "http://n" });
        pi.unregisterMcpServer("m");
      },
    ],
  });
  assert.deepEqual(server.registered.mcpServers.map(({ name, config }) => [name, config]), [["n", { url: "http://n" }]]);
  assert.deepEqual(server.of("error"), []);
});

test("servers of MCP have names of tools of their own", async (t) => {
  const server = await started({
    test: t,
    connectsMcp: true,
    extensions: [
      (pi) => {
        pi.registerMcpServer("a-b", { command: "x" });
        pi.getMcpServers()[0].config.command = "changed";
        try {
          pi.registerMcpServer("a_b", { command: "y" });
        } catch (error) {
          pi.registerMcpServer("refused", { command: error.message });
        }
      },
    ],
  });
  const text = 'MCP server "a_b": the tools of "a-b" have the same names';
  assert.deepEqual(server.registered.mcpServers.map(({ name, config }) => [name, config.command]), [["a-b", "x"], ["refused", text]]);
});

test("servers of MCP are told to be missing, once", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerMcpServer("m", { command: "x" });
        pi.registerMcpServer("m", { command: "x" });
      },
    ],
  });
  assert.deepEqual(server.of("error").map(({ event }) => event), ["register_mcp_server"]);
});

const USABLE = [
  { model: { provider: "lab", id: "m", api: "own" }, usable: true },
  { model: { provider: "lab", id: "keyless", api: "own" }, usable: true },
  { model: { provider: "none", id: "k", api: "own" }, usable: false },
  { model: { provider: "router", id: "auto", api: "pi-virtual" }, usable: true },
];
const ROUTER = (pi) => {
  pi.registerVirtualModel({
    provider: "router",
    id: "auto",
    name: "Auto",
    thinkingLevels: ["low", "high"],
    route: ({ thinkingLevel, reason, previous, failed, state, messages, signal }, ctx) => {
      const target = messages.at(-1).content;
      if (target === "throw") throw new Error("no way today");
      const [provider, id] = target.split("/");
      const told = [thinkingLevel, reason, previous?.model.id, failed?.message.errorMessage, signal.aborted, ctx.mode];
      return { model: ctx.modelRegistry.find(provider, id) ?? { provider, id }, thinkingLevel: "medium", state: { told, before: state } };
    },
  });
  pi.registerCommand("gone", { handler: () => pi.unregisterVirtualModel("router", "auto") });
};
const routed = (target, more = {}) => ({
  type: "model_route",
  model: USABLE[3].model,
  thinkingLevel: "high",
  reason: "user",
  messages: [{ role: "user", content: target, timestamp: 1 }],
  ...more,
});

test("a virtual model is registered, and routes requests to others", async (t) => {
  const entries = [];
  const answers = {
    models: { models: USABLE },
    register_virtual_model: () => ({}),
    entries: () => ({ header: { id: "s1" }, leafId: entries.at(-1)?.id ?? null, entries }),
  };
  const server = await started({ test: t, extensions: [ROUTER], answers });
  const { id, ...told } = await server.hear("register_virtual_model");
  const expected = { provider: "router", modelId: "auto", name: "Auto", thinkingLevels: ["low", "high"], path: server.paths[0] };
  assert.deepEqual(told, { type: "register_virtual_model", ...expected });

  const first = await server.hook(routed("lab/m"));
  assert.deepEqual(first, { route: { provider: "lab", modelId: "m", thinkingLevel: "medium" } });
  const { customType, data } = await server.hear("append_entry");
  assert.equal(customType, "pi.virtual-model-state");
  assert.deepEqual(data, { provider: "router", modelId: "auto", state: { told: ["high", "user", null, null, false, "rpc"] } });

  const failed = { role: "assistant", provider: "lab", model: "m", stopReason: "error", errorMessage: "busy", content: [], timestamp: 1 };
  const answered = { ...failed, stopReason: "stop", errorMessage: undefined };
  await server.hook(routed("lab/m", { reason: "retry", failed, messages: [answered, { role: "user", content: "lab/m", timestamp: 2 }] }));
  assert.deepEqual((await server.hear("append_entry")).data.state.told, ["high", "retry", "m", "busy", false, "rpc"]);
  await server.hook(routed("lab/m", { reason: "direct" }));
  assert.deepEqual(server.of("append_entry"), []);

  for (const [target, why] of [
    ["throw", "no way today"],
    ["router/auto", "Virtual model router/auto routed to router/auto, which is not a physical model."],
    ["lab/none", "Virtual model router/auto routed to lab/none, which is not a physical model."],
    ["none/k", "Virtual model router/auto routed to none/k, which has no credentials."],
  ]) {
    const { type, error } = await server.ask({ type: "hook", hook: routed(target) });
    assert.deepEqual([type, error], ["failed", why]);
  }
});
