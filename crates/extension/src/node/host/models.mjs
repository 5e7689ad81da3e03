/** `ctx.modelRegistry`: the available models, and requests to them. */

/** Models and keys, queried from the server at each call. */
export class ModelRegistry {
  /** The part of pi's key store that extensions use. */
  authStorage;
  #host;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
    this.authStorage = new KeyStore(this, host);
  }

  /** Does nothing: the list is always current. */
  async refresh() {
    return { aborted: false, errors: new Map() };
  }

  getError() {
    return undefined;
  }

  getAll() {
    return this.#models().map(({ model }) => model);
  }

  getAvailable() {
    return this.#models().filter(({ usable }) => usable).map(({ model }) => model);
  }

  find(provider, modelId) {
    return this.getAll().find((model) => model.provider === provider && model.id === modelId);
  }

  /** @param {any} of A model, or a provider by its name. */
  hasConfiguredAuth(of) {
    const provider = typeof of === "string" ? of : of?.provider;
    return this.#models().some(({ model, usable }) => usable && model.provider === provider);
  }

  getProviderAuthStatus(provider) {
    return { configured: this.hasConfiguredAuth(provider) };
  }

  getProviderDisplayName(provider) {
    return this.#host.providers.get(provider)?.name ?? provider;
  }

  async getApiKey(model) {
    return this.#key(model.provider, model.id).apiKey;
  }

  async getApiKeyForProvider(provider) {
    return this.#key(provider).apiKey;
  }

  async getProviderAuth(provider) {
    const { apiKey, headers } = this.#key(provider);
    return apiKey === undefined ? undefined : { auth: { apiKey, headers } };
  }

  async getApiKeyAndHeaders(model) {
    try {
      const { apiKey, headers } = this.#key(model.provider, model.id);
      return { ok: true, apiKey, headers };
    } catch (error) {
      return { ok: false, error: error.message };
    }
  }

  isUsingOAuth(model) {
    return this.#key(model.provider, model.id).isOAuth === true;
  }

  registerProvider(provider, config) {
    this.#host.providers.register(provider, config, "<runtime>");
  }

  unregisterProvider(name) {
    this.#host.providers.unregister(name);
  }

  getRegisteredProviderConfig(name) {
    return this.#host.providers.get(name);
  }

  getRegisteredProviderIds() {
    return this.#host.providers.names();
  }

  // This server has chat models only.
  findOfType(type, provider, modelId) {
    return type === "chat" ? this.find(provider, modelId) : undefined;
  }

  getModelOfType(type, provider, modelId) {
    return this.findOfType(type, provider, modelId);
  }

  getModelsOfType(type, provider) {
    if (type !== "chat") return [];
    return this.getAll().filter((model) => provider === undefined || model.provider === provider);
  }

  async getAvailableOfType(type, provider) {
    if (type !== "chat") return [];
    return this.getAvailable().filter((model) => provider === undefined || model.provider === provider);
  }

  async complete(model, context, options = {}) {
    const { message } = await this.#host.request(completeFrame(model, context, options), options.signal);
    return message;
  }

  stream(model, context, options) {
    return streamOf(this.complete(model, context, options));
  }

  streamSimple(model, context, options) {
    return this.stream(model, context, options);
  }

  #models() {
    return this.#host.query("models").models;
  }

  #key(provider, modelId) {
    return this.#host.query("api_key", { provider, modelId }) ?? {};
  }
}

/** The read-only part of pi's key store. */
class KeyStore {
  #registry;
  #host;

  constructor(models, host) {
    this.#registry = models;
    this.#host = host;
  }

  hasAuth(provider) {
    return this.#registry.hasConfiguredAuth(provider);
  }

  getApiKey(provider) {
    return this.#registry.getApiKeyForProvider(provider);
  }

  get(provider) {
    const { apiKey, isOAuth } = this.#host.query("api_key", { provider }) ?? {};
    if (apiKey === undefined) return undefined;
    return isOAuth ? { type: "oauth", access: apiKey } : { type: "api_key", key: apiKey };
  }
}

/**
 * @param {any} model
 * @param {any} context Context of pi's library: instructions and tools beside the messages, or in a first message.
 * @param {any} options
 * @returns {Record<string, unknown>} The action `complete`.
 */
export function completeFrame(model, { systemPrompt, messages, tools }, { reasoning, maxTokens }) {
  const systemMessages = (messages ?? []).filter(({ role }) => role === "system");
  return {
    type: "complete",
    provider: model.provider,
    modelId: model.id,
    systemPrompt: systemPrompt ?? (systemMessages.map(textOf).join("\n\n") || undefined),
    messages: (messages ?? []).filter(({ role }) => role !== "system"),
    tools: (tools ?? systemMessages.flatMap(({ toolsAdded }) => toolsAdded ?? [])).map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    level: reasoning,
    maxTokens,
  };
}

function textOf({ content, sections = {} }) {
  const text = typeof content === "string" ? content : content.map(({ text }) => text).join("");
  return [text, ...Object.values(sections)].filter(Boolean).join("\n\n");
}

/** A stream of events for a message that arrives whole. */
function streamOf(message) {
  const last = message.then((it) =>
    it.stopReason === "error" || it.stopReason === "aborted"
      ? { type: "error", reason: it.stopReason, error: it }
      : { type: "done", reason: it.stopReason, message: it },
  );
  // Readers of the stream get the error.
  last.catch(() => {});
  return {
    result: () => message,
    async *[Symbol.asyncIterator]() {
      yield { type: "start", partial: { ...(await message), content: [] } };
      yield await last;
    },
  };
}
