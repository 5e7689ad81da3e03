/** The virtual models of extensions: models that can be selected, whose requests an extension routes to others. */
import { isRecord, text, typeName } from "./shapes.mjs";
import { within } from "./scope.mjs";

/** API of virtual models. */
const VIRTUAL_API = "pi-virtual";
/** Type of the custom entries that keep the state of a router. */
const STATE_ENTRY = "pi.virtual-model-state";

/** The registered virtual models. */
export class VirtualModels {
  #host;
  #all = new Map();

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {any} definition What the extension has passed.
   * @param {import("./generation.mjs").Generation} generation
   * @param {import("./member.mjs").Member} member
   */
  register(definition, generation, member) {
    const { provider, id, name, route } = definition ?? {};
    if (typeof provider !== "string" || typeof id !== "string") {
      throw new Error(`registerVirtualModel: expected the strings provider and id, got ${typeName(provider)} and ${typeName(id)}`);
    }
    if (!provider.trim() || !id.trim()) throw new Error("Virtual model provider and id must not be empty.");
    if (typeof route !== "function") throw new Error(`registerVirtualModel: route: expected a function, got ${typeName(route)}`);
    // While extensions are loaded, the models are not known; the server checks that, too.
    if (generation.active && this.#physical(provider, id)) {
      throw new Error(`Virtual model ${provider}/${id} conflicts with a physical model.`);
    }
    this.#all.set(keyOf(provider, id), { definition, generation, member });
    const { thinkingLevels, contextWindow, maxTokens, input } = definition;
    this.#request(
      {
        type: "register_virtual_model",
        provider,
        modelId: id,
        name: text(name) ?? id,
        thinkingLevels: thinkingLevels && [...thinkingLevels],
        contextWindow,
        maxTokens,
        input,
        path: member.path,
      },
      member.path,
    );
  }

  /**
   * @param {string} provider
   * @param {string} id
   */
  unregister(provider, id) {
    if (!this.#all.delete(keyOf(provider, id))) return;
    this.#request({ type: "unregister_virtual_model", provider, modelId: id }, "<runtime>");
  }

  /**
   * Asks the router of a model where a request goes.
   * @param {any} hook The `model_route`.
   * @param {AbortSignal} signal Aborts when the request is cancelled.
   * @returns {Promise<any>} The `route` for the server.
   * @throws when the router does, or names a model that cannot be used.
   */
  async route(hook, signal) {
    const { model, thinkingLevel, reason, failed, messages } = hook;
    const name = `Virtual model ${model.provider}/${model.id}`;
    const known = this.#all.get(keyOf(model.provider, model.id));
    if (!known) throw new Error(`${name} is not registered.`);
    const { definition, generation, member } = known;
    const latest = messages.findLast((message) => message.role === "assistant" && !hasFailed(message));
    const state = reason === "direct" ? undefined : this.#state(model);
    const request = {
      model,
      thinkingLevel,
      reason,
      previous: this.#answering(latest),
      failed: failed && withMessage(this.#answering(failed), failed),
      state,
      messages,
      signal,
    };
    const { createContext } = await import("./context.mjs");
    const ctx = createContext(this.#host, generation);
    const route = await within({ path: member.path }, () => definition.route(request, ctx));
    if (!isRecord(route) || !isRecord(route.model)) throw new Error(`${name}: route: expected an object with a model, got ${typeName(route)}`);
    const { provider, id } = route.model;
    const routed = `${name} routed to ${provider}/${id}`;
    if (!this.#physical(provider, id)) throw new Error(`${routed}, which is not a physical model.`);
    if (!this.#host.models.hasConfiguredAuth(provider)) throw new Error(`${routed}, which has no credentials.`);
    if (reason !== "direct" && route.state !== undefined && route.state !== state) {
      const data = { provider: model.provider, modelId: model.id, state: route.state };
      this.#host.act({ type: "append_entry", customType: STATE_ENTRY, data });
    }
    return { provider, modelId: id, thinkingLevel: text(route.thinkingLevel) ?? "off" };
  }

  /** The state that the router has kept last on the branch. */
  #state({ provider, id }) {
    const kept = this.#host.session.getBranch().findLast(
      ({ type, customType, data }) =>
        type === "custom" && customType === STATE_ENTRY && data?.provider === provider && data.modelId === id,
    );
    return kept?.data.state;
  }

  /** The physical model of an answer, with its level; `undefined` where it is not known. */
  #answering(message) {
    const model = message && this.#physical(message.provider, message.model);
    return model && { model, thinkingLevel: message.thinkingLevel };
  }

  #physical(provider, id) {
    const model = this.#host.models.find(provider, id);
    return model?.api === VIRTUAL_API ? undefined : model;
  }

  #request(frame, path) {
    this.#host.wire.request(frame).catch((error) => this.#host.reportError(path, "register_virtual_model", error));
  }
}

function hasFailed({ stopReason }) {
  return stopReason === "error" || stopReason === "aborted";
}

function withMessage(answering, message) {
  return answering && { ...answering, message };
}

function keyOf(provider, id) {
  return JSON.stringify([provider, id]);
}
