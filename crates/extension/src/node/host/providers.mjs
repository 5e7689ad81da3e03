/** The model providers of extensions. */

/** A key for providers that need none of the server; its value is not used. */
const PLACEHOLDER_KEY = "the-extension-has-its-own";

/** The registered providers, by name, as the extensions have passed them. */
export class Providers {
  #host;
  #all = new Map();

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {any} provider The name; in later versions also a provider object of pi's library.
   * @param {any} config For a name: the fields of `models.json`, and functions.
   * @param {string} path The extension.
   */
  register(provider, config, path) {
    const name = typeof provider === "string" ? provider : provider?.id;
    const given = typeof provider === "string" ? config : configOf(provider);
    if (!name || typeof given !== "object" || given === null) {
      throw new Error("registerProvider: expected the name of a provider and its configuration");
    }
    this.#all.set(name, given);
    const { streamSimple, images, classifiers, refreshModels, oauth, ...plain } = given;
    const described = { ...plain, oauth: oauth && { name: oauth.name } };
    if (Array.isArray(plain.models)) {
      const [prompted, others] = [true, false].map((wanted) => plain.models.filter((model) => answersPrompts(model) === wanted));
      if (others.length > 0) {
        described.models = prompted.length > 0 ? prompted : undefined;
        // Without models a registration moves those that are there to its address: not what was asked for.
        if (prompted.length === 0) for (const member of ["baseUrl", "apiKey", "api", "headers", "authHeader"]) delete described[member];
        const names = others.map((model) => `${name}/${model.id} (${model.type})`).join(", ");
        this.#host.reportErrorOnce(path, "register_provider", `models of extensions answer prompts here, others are left out: ${names}`);
      }
    }
    this.#request({ type: "register_provider", name, config: described, path, streams: streamSimple ? true : undefined }, path);
  }

  /** @param {string} name */
  unregister(name) {
    if (this.#all.delete(name)) this.#request({ type: "unregister_provider", name }, "<runtime>");
  }

  /** @param {string} name */
  get(name) {
    return this.#all.get(name);
  }

  names() {
    return [...this.#all.keys()];
  }

  #request(frame, path) {
    this.#host.wire.request(frame).catch((error) => this.#host.reportError(path, frame.type, error));
  }
}

/** Whether a model answers prompts, as those of no type do. */
function answersPrompts(model) {
  return (model?.type ?? "chat") === "chat";
}

function configOf(provider) {
  if (typeof provider?.getModels !== "function") return undefined;
  const stream = (provider.streamSimple ?? provider.stream)?.bind(provider);
  const models = provider.getModels();
  const { name, baseUrl, headers } = provider;
  return { name, baseUrl, headers, api: models[0]?.api, models, streamSimple: stream, apiKey: stream && PLACEHOLDER_KEY };
}
