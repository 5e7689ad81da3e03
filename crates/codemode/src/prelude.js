// Makes what a script sees of the world. Runs before it, in the same realm: nothing here keeps a secret from the script, and what
// it breaks, it breaks for itself alone. `bridge(kind, a, b, c)` takes texts and hands them to the program outside.
(function (bridge, startText, limits) {
  "use strict";
  const { stringify, parse } = JSON;
  const start = parse(startText);
  const pending = new Map();
  let lastId = 0;
  let isOver = false;
  const EXIT = {};

  function end(error, value) {
    if (isOver) return;
    let written;
    try {
      written = stringify(Object.fromEntries(writes));
    } catch (failure) {
      error ??= describe(failure);
      written = "{}";
    }
    isOver = true;
    bridge("done", error, value, written);
  }

  // QuickJS lists frames only: the name and the message come first, as elsewhere.
  function describe(error) {
    try {
      if (!(error instanceof Error)) return shown(error);
      const frames = String(error.stack ?? "").split("\n").filter((line) => line.includes("codemode.js"));
      const head = error.message === "" ? String(error.name) : `${error.name}: ${error.message}`;
      return [head, ...frames.map((line) => `    ${line.trim()}`)].join("\n");
    } catch {
      return "The script threw a value that has no text";
    }
  }

  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return describe(value);
    if (value === null || typeof value !== "object") return String(value);
    try {
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  }

  function caller(target, name) {
    return (...values) =>
      new Promise((resolve, reject) => {
        const json = stringify(target === "tool" ? values[0] : values);
        if (json !== undefined && json.length > limits.arguments) {
          throw new RangeError(`${name}: the arguments have ${json.length} characters of JSON, at most ${limits.arguments} are possible`);
        }
        const id = ++lastId;
        pending.set(id, { resolve, reject });
        bridge("call", String(id), `${target} ${name}`, json);
      });
  }

  // Says which member there is instead of one that there is not.
  function guarded(members, label, hint) {
    const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
    return new Proxy(Object.freeze(members), {
      get(target, name) {
        if (typeof name !== "string" || name in target || name === "then" || name === "toJSON") return target[name];
        const wanted = plain(name);
        const near = Object.keys(target).filter((it) => /^[\w$]+$/.test(it) && wanted !== "" && (plain(it).includes(wanted) || wanted.includes(plain(it))));
        const guess = near.length > 0 ? ` Is it ${near.slice(0, 5).map((it) => `${label}.${it}`).join(" or ")}?` : "";
        throw new TypeError(`${label}.${name} does not exist.${guess} ${hint}`);
      },
    });
  }

  const tools = Object.create(null);
  const listed = [];
  for (const { name, identifier, description } of start.tools) {
    const call = caller("tool", name);
    if (!(identifier in tools)) {
      tools[identifier] = call;
      listed.push(Object.freeze({ name: identifier, description }));
    }
    tools[name] ??= call;
  }

  // By key: the value as JSON, undefined once it is removed.
  const stored = new Map(Object.entries(start.store));
  const writes = new Map();
  let storedLength = 0;
  for (const [key, json] of stored) storedLength += key.length + json.length;

  function store(key, value) {
    if (typeof key !== "string") throw new TypeError("store(): key: expected a string");
    const before = stored.has(key) ? key.length + stored.get(key).length : 0;
    if (value === undefined) {
      stored.delete(key);
      storedLength -= before;
      writes.set(key, null);
      return;
    }
    const json = stringify(value);
    if (json === undefined) throw new TypeError(`store(): the value of "${key}" has no JSON`);
    if (json.length > limits.stored) {
      throw new RangeError(`store(): the value of "${key}" has ${json.length} characters of JSON, at most ${limits.stored} are possible`);
    }
    const length = storedLength - before + key.length + json.length;
    if (length > limits.storedTogether) {
      throw new RangeError(`store(): all values would have ${length} characters of JSON, at most ${limits.storedTogether} are possible; remove some with store(key, undefined)`);
    }
    stored.set(key, json);
    storedLength = length;
    writes.set(key, json);
  }

  function load(key) {
    if (typeof key !== "string") throw new TypeError("load(): key: expected a string");
    const json = stored.get(key);
    return json === undefined ? undefined : parse(json);
  }

  let outputLength = 0;
  let outputCount = 0;
  function output(kind, data, mimeType) {
    if (isOver) return;
    outputLength += data.length;
    outputCount += 1;
    if (outputLength > limits.output || outputCount > limits.outputItems) {
      const error = new RangeError(`The output has more than ${limits.output} characters or ${limits.outputItems} items; print less, or write it to a file with a tool`);
      end(describe(error));
      throw error;
    }
    bridge(kind, data.toWellFormed(), mimeType, undefined);
  }

  function text(value) {
    output("text", typeof value === "object" && value !== null ? (stringify(value) ?? String(value)) : String(value));
  }

  const SIGNATURES = [
    ["image/png", /^iVBORw0KGg/],
    ["image/jpeg", /^\/9j\//],
    ["image/gif", /^R0lGOD[dl]h/],
    ["image/webp", /^UklG.{8}RUJQ/],
  ];

  // The type is found in the data, as vendors refuse images of another type than they are told.
  function image(value) {
    let url = typeof value === "object" && value !== null ? value.image_url : value;
    if (value?.type === "image" && typeof value.data === "string") url = `data:;base64,${value.data}`;
    const matched = typeof url === "string" ? /^data:[^,]*;base64,/i.exec(url) : null;
    if (matched === null) throw new TypeError("image(): expected a data: URL in base64, an object with image_url, or an image block");
    const data = url.slice(matched[0].length).replace(/\s+/g, "");
    if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) throw new TypeError("image(): the data is not in base64");
    const signature = SIGNATURES.find(([, pattern]) => pattern.test(data.slice(0, 16)));
    if (signature === undefined) throw new TypeError("image(): expected a PNG, JPEG, GIF or WebP image");
    output("image", data, signature[0]);
  }

  function exit() {
    end();
    throw EXIT;
  }

  const console = {};
  for (const level of ["log", "info", "warn", "error", "debug"]) {
    console[level] = (...values) => output("console", values.map(shown).join(" "));
  }

  const functions = Object.create(null);
  const models = Object.create(null);
  for (const name of start.functions) {
    if (name.startsWith("models.")) models[name.slice("models.".length)] = caller("function", name);
    else functions[name] = caller("function", name);
  }
  const listedModels = Object.keys(models);
  const aboutModels = listedModels.length > 0 ? `models has ${listedModels.join(", ")}.` : "Classifiers and image models cannot be run from scripts here.";

  const globals = {
    ...functions,
    tools: guarded(tools, "tools", "ALL_TOOLS has every tool, searchTools(query) finds some."),
    ALL_TOOLS: Object.freeze(listed),
    models: guarded(models, "models", aboutModels),
    console: Object.freeze(console),
    text,
    image,
    exit,
    store,
    load,
  };
  for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, enumerable: true });

  return {
    settle(id, isGood, text) {
      const call = pending.get(Number(id));
      pending.delete(Number(id));
      if (!isGood) return call?.reject(new Error(text));
      call?.resolve(text === undefined ? undefined : parse(text));
    },
    // `script` is a function, or what compiling it has thrown.
    run(script) {
      if (typeof script !== "function") return end(describe(script));
      script().then((value) => end(undefined, stringify(value)), (error) => { if (error !== EXIT) end(describe(error)); })
        .catch((error) => end(describe(error)));
    },
    // Nothing runs any more. With no call under way, nothing ever will.
    rest() {
      if (pending.size === 0) end("Error: The script waits for a promise that nothing can settle: no call is under way, and there are no timers.");
    },
  };
})
