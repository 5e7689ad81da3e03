/**
 * A session of an extension's own: a conversation in memory, beside the server's. The server requests the models and runs the built-in
 * tools; the host gets no frames about it. Nothing is compacted or retried, and no extensions are loaded into it.
 */
import { streamSimple } from "./ai-models.mjs";
import { convertToLlm } from "./agent-messages.mjs";
import { SessionManager } from "./agent-stores.mjs";
import { createBashTool, createEditTool, createFindTool, createGrepTool, createLsTool, createReadTool, createWriteTool } from "./agent-tools.mjs";
import { contentText } from "./ai-transcript.mjs";
import { bridge } from "./bridge.mjs";

const BUILT_IN = {
  read: createReadTool,
  bash: createBashTool,
  edit: createEditTool,
  write: createWriteTool,
  grep: createGrepTool,
  find: createFindTool,
  ls: createLsTool,
};
const DEFAULT_TOOLS = ["read", "bash", "edit", "write"];

/** Options that would make another session than this one. */
const UNSUPPORTED = ["modelRuntime", "excludeTools", "settingsManager", "authStorage"];

/** @returns {Promise<{ session: AgentSession, extensionsResult: any }>} */
export async function createAgentSession(options = {}) {
  const given = UNSUPPORTED.find((name) => options[name] !== undefined);
  if (given) throw new Error(`createAgentSession: the option ${given} is not supported, as pi is not installed where extensions look for it.`);
  const loader = options.resourceLoader;
  const extensionsResult = loader?.getExtensions?.() ?? { extensions: [], errors: [], runtime: createExtensionRuntime() };
  if (extensionsResult.extensions.length > 0) {
    throw new Error("createAgentSession: extensions are not supported, as pi is not installed where extensions look for it.");
  }
  const cwd = options.cwd ?? bridge().cwd;
  const custom = options.customTools ?? [];
  const builtIn = options.noTools ? [] : DEFAULT_TOOLS;
  const names = options.tools ?? (options.noTools === "all" ? [] : [...builtIn, ...custom.map(({ name }) => name)]);
  const tools = names.flatMap((name) => custom.find((tool) => tool.name === name) ?? BUILT_IN[name]?.(cwd) ?? []);
  const state = bridge().query("state") ?? {};
  const model = options.model ?? state.model;
  if (!model) throw new Error("createAgentSession: model: expected a model, and the server has none selected.");
  const session = new AgentSession({
    cwd,
    model,
    thinkingLevel: options.thinkingLevel ?? state.thinkingLevel ?? "off",
    tools,
    systemPrompt: loader ? instructions(loader, cwd) : bridge().query("system_prompt").systemPrompt,
    sessionManager: options.sessionManager ?? SessionManager.inMemory(cwd),
  });
  return { session, extensionsResult };
}

/** What a loader of resources has for instructions, in the sections of pi. */
function instructions(loader, cwd) {
  const section = (name, text) => (text ? [`<${name}>\n${text}\n</${name}>`] : []);
  const files = (loader.getAgentsFiles?.().agentsFiles ?? []).map(
    ({ path, content }) => `<project_instructions path="${path}">\n${content}\n</project_instructions>`,
  );
  return [
    loader.getSystemPrompt?.() || bridge().query("system_prompt").systemPrompt,
    ...section("addendum", (loader.getAppendSystemPrompt?.() ?? []).join("\n\n")),
    ...section("project_context", files.join("\n\n")),
    ...section("cwd", cwd),
  ].join("\n\n");
}

/** What the extensions of a session share: here there are none. */
export const createExtensionRuntime = () => ({
  flagValues: new Map(),
  pendingProviderRegistrations: [],
  assertActive: () => {},
  invalidate: () => {},
});

/** The names of the tools that the messages declare. */
function declared(messages) {
  const names = new Set();
  for (const { role, toolsAdded = [], toolsRemoved = [] } of messages) {
    if (role !== "system") continue;
    for (const { name } of toolsAdded) names.add(name);
    for (const { name } of toolsRemoved) names.delete(name);
  }
  return names;
}

const userMessage = (text, images = []) => ({ role: "user", content: [{ type: "text", text }, ...images], timestamp: Date.now() });

export class AgentSession {
  #listeners = new Set();
  #tools;
  #active;
  /** @type {AbortController | undefined} */
  #running;
  #lastRun = Promise.resolve();
  #steering = [];
  #followUps = [];

  constructor({ cwd, model, thinkingLevel, tools, systemPrompt, sessionManager }) {
    this.cwd = cwd;
    this.sessionManager = sessionManager;
    this.#tools = tools;
    this.#active = tools.map(({ name }) => name);
    const { messages } = sessionManager.buildSessionContext();
    const state = { model, thinkingLevel, systemPrompt, tools, messages: [...messages], isStreaming: false };
    this.agent = { state, abort: () => this.#running?.abort(), waitForIdle: () => this.#lastRun };
  }

  get state() {
    return this.agent.state;
  }
  get messages() {
    return this.state.messages;
  }
  get model() {
    return this.state.model;
  }
  get thinkingLevel() {
    return this.state.thinkingLevel;
  }
  get systemPrompt() {
    return this.state.systemPrompt;
  }
  get sessionId() {
    return this.sessionManager.getSessionId();
  }
  get sessionFile() {
    return this.sessionManager.getSessionFile();
  }
  get isStreaming() {
    return this.#running !== undefined;
  }
  get isIdle() {
    return !this.isStreaming;
  }
  get pendingMessageCount() {
    return this.#steering.length + this.#followUps.length;
  }
  getActiveToolNames = () => [...this.#active];
  getAllTools = () => this.#tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  setActiveToolsByName(names) {
    this.#active = this.#tools.map(({ name }) => name).filter((name) => names.includes(name));
  }
  async setModel(model) {
    this.state.model = model;
  }
  setThinkingLevel(level) {
    this.state.thinkingLevel = level;
  }
  async bindExtensions() {}
  getLastAssistantText() {
    const last = this.messages.findLast(({ role }) => role === "assistant");
    return (last && contentText(last.content).trim()) || undefined;
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Aborts the run, and resolves at its end. */
  async abort() {
    this.#running?.abort();
    await this.#lastRun;
  }

  waitForIdle = () => this.#lastRun;

  dispose() {
    this.#running?.abort();
    this.#listeners.clear();
  }

  async steer(text, images) {
    this.#steering.push(userMessage(text, images));
  }

  async followUp(text, images) {
    this.#followUps.push(userMessage(text, images));
  }

  async sendUserMessage(content, { deliverAs } = {}) {
    const text = contentText(content);
    const images = typeof content === "string" ? [] : content.filter(({ type }) => type === "image");
    return this.prompt(text, { images, streamingBehavior: deliverAs });
  }

  /** Sends a prompt and resolves at the end of its run. During a run, `streamingBehavior` chooses the queue. */
  async prompt(text, { images, streamingBehavior } = {}) {
    if (this.isStreaming) {
      if (streamingBehavior === "steer") return this.steer(text, images);
      if (streamingBehavior === "followUp") return this.followUp(text, images);
      throw new Error("Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.");
    }
    this.#running = new AbortController();
    this.state.isStreaming = true;
    const { signal } = this.#running;
    const run = this.#run(userMessage(text, images), signal).finally(() => {
      this.#running = undefined;
      this.state.isStreaming = false;
    });
    this.#lastRun = run.catch(() => {});
    await run;
    this.#emit({ type: "agent_settled", aborted: signal.aborted });
  }

  async #run(message, signal) {
    const first = this.messages.length;
    this.#emit({ type: "agent_start" });
    // What was put into `state.messages` counts as declared.
    let known = declared(this.messages);
    let next = [message];
    for (;;) {
      this.#emit({ type: "turn_start" });
      this.#declare(known);
      for (const one of next) this.#add(one);
      const answer = await this.#requestAnswer(signal);
      const calls = answer.content.filter(({ type }) => type === "toolCall");
      const failed = answer.stopReason === "error" || answer.stopReason === "aborted";
      const toolResults = [];
      for (const call of failed ? [] : calls) toolResults.push(await this.#runTool(call, signal));
      this.#emit({ type: "turn_end", message: answer, toolResults });
      if (failed || signal.aborted) break;
      next = this.#steering.splice(0, 1);
      if (next.length === 0 && toolResults.length === 0) next = this.#followUps.splice(0, 1);
      if (next.length === 0 && toolResults.length === 0) break;
      known = declared(this.#contextMessages());
    }
    this.#emit({ type: "agent_end", messages: this.messages.slice(first), willRetry: false });
  }

  #contextMessages() {
    return this.sessionManager.buildSessionContext().messages;
  }

  #offered() {
    return this.#tools.filter(({ name }) => this.#active.includes(name));
  }

  /** Declares added and removed tools to the model, by a message. */
  #declare(known) {
    const offered = this.#offered();
    const toolsAdded = offered.filter(({ name }) => !known.has(name)).map(({ name, description, parameters }) => ({ name, description, parameters }));
    const toolsRemoved = [...known].filter((name) => !this.#active.includes(name)).map((name) => ({ name }));
    if (toolsAdded.length + toolsRemoved.length === 0) return;
    this.#add({ role: "system", content: "", toolsAdded, toolsRemoved, timestamp: Date.now() });
  }

  #add(message) {
    this.#emit({ type: "message_start", message });
    this.#append(message);
  }

  #append(message) {
    this.messages.push(message);
    this.sessionManager.appendMessage(message);
    this.#emit({ type: "message_end", message });
  }

  async #requestAnswer(signal) {
    const { model, thinkingLevel, systemPrompt } = this.state;
    const kept = this.#contextMessages();
    const known = declared(kept);
    const context = {
      systemPrompt,
      messages: convertToLlm(kept).filter(({ role }) => role !== "system"),
      tools: this.#offered().filter(({ name }) => known.has(name)),
    };
    const events = streamSimple(model, context, { signal, reasoning: thinkingLevel === "off" ? undefined : thinkingLevel });
    let started = false;
    for await (const event of events) {
      if (event.type === "start") {
        started = true;
        this.#emit({ type: "message_start", message: event.partial });
      } else if (event.partial) this.#emit({ type: "message_update", message: event.partial, assistantMessageEvent: event });
    }
    const message = await events.result();
    if (!started) this.#emit({ type: "message_start", message });
    this.#append(message);
    return message;
  }

  async #runTool({ id: toolCallId, name: toolName, arguments: args }, signal) {
    const about = { toolCallId, toolName };
    this.#emit({ type: "tool_execution_start", ...about, args });
    let isError = false;
    let result;
    try {
      signal.throwIfAborted();
      const tool = this.#offered().find(({ name }) => name === toolName);
      if (!tool) throw new Error(`Tool ${toolName} not found`);
      const update = (partialResult) => this.#emit({ type: "tool_execution_update", ...about, args, partialResult });
      result = await tool.execute(toolCallId, tool.prepareArguments?.(args) ?? args, signal, update);
    } catch (error) {
      isError = true;
      result = { content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }], details: {} };
    }
    this.#emit({ type: "tool_execution_end", ...about, result, isError });
    const message = { role: "toolResult", ...about, content: result.content, details: result.details, isError, timestamp: Date.now() };
    this.#add(message);
    return message;
  }

  #emit(event) {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

