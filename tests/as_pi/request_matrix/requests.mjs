// Prints what pi-ai sends, a line for each model, level and conversation. Nothing leaves the machine: what would be sent is
// caught, and answered with a refusal.
//
//   node requests.mjs <folder of pi-ai> <file of cases> <sample or all>

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [ai, file, extent] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(ai, "dist", path)));
const { key, variables, signatures, conversations } = JSON.parse(readFileSync(file, "utf8"));
const { MODELS } = await load("models.generated.js");
const { getSupportedThinkingLevels } = await load("models.js");
const { normalizeContext } = await load("utils/transcript.js");
const { cleanupSessionResources } = await load("session-resources.js");

let sent;
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  sent = { url: request.url, headers: Object.fromEntries([...request.headers].filter(([name]) => !isOwn(name))), body: await request.text() };
  return new Response('{"error":{"message":"caught"}}', { status: 400, headers: { "content-type": "application/json" } });
};

/** Headers that name the program, its library and the machine. */
const isOwn = (name) => name === "user-agent" || name === "x-goog-api-client" || name.startsWith("x-stainless-");

// Bytes of images, which the library of AWS encodes.
const encoded = (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);

/** What is sent for one model, level and conversation. */
async function request(model, level, { messages, systemPrompt, tools, retention }) {
  sent = undefined;
  let payload;
  const quoted = (text) => JSON.stringify(text).slice(1, -1);
  const names = { provider: model.provider, api: model.api, model: model.id, signature: signatures[model.api] ?? "c2lnbmVk" };
  const own = (text) => text.replace(/\$(provider|api|model|signature)/g, (_, name) => quoted(names[name]));
  const context = JSON.parse(own(JSON.stringify({ systemPrompt, tools, messages })));
  const { streamSimple } = await load(`api/${model.api}.js`);
  const stream = streamSimple(model, normalizeContext(context), {
    apiKey: key[model.api] ?? "key",
    sessionId: "session",
    reasoning: level === "off" ? undefined : level,
    // pi states it only where it is not the usual one.
    cacheRetention: retention === "short" ? undefined : retention,
    transport: "sse",
    maxRetries: 0,
    env: variables,
    fetch: globalThis.fetch,
    onPayload: (it) => {
      payload = it;
      // Its library sends by itself.
      if (model.api === "bedrock-converse-stream") throw new Error("caught");
    },
  });
  await stream.result();
  cleanupSessionResources();
  let body = payload;
  try {
    body = JSON.parse(sent.body);
  } catch {
    // Packed, or not sent.
  }
  return { url: sent?.url, headers: sent?.headers ?? {}, body };
}

/** Of a sample: the first model of an API has all conversations, that of a further provider one. */
const OF_SAMPLE = "own answers";
const seen = new Set();
for (const models of Object.values(MODELS)) {
  for (const found of Object.values(models)) {
    const group = `${found.provider} ${found.api}`;
    if (extent === "sample" && seen.has(group)) continue;
    const isFirst = extent === "all" || !seen.has(found.api);
    seen.add(group).add(found.api);
    const baseUrl = Object.entries(variables).reduce((url, [name, value]) => url.replaceAll(`{${name}}`, value), found.baseUrl);
    const model = { ...found, baseUrl };
    const levels = getSupportedThinkingLevels(model);
    for (const level of extent === "sample" ? levels.slice(-1) : levels) {
      for (const [name, conversation] of Object.entries(conversations)) {
        if (!isFirst && name !== OF_SAMPLE) continue;
        // pi throws for levels that it has no word for.
        const said = await request(model, level, conversation).catch((error) => ({ refused: error.message, headers: {}, body: null }));
        const line = { provider: model.provider, model: model.id, level, levels: levels.length, conversation: name, ...said };
        process.stdout.write(`${JSON.stringify(line, encoded)}\n`);
      }
    }
  }
}
