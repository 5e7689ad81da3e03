// Makes models.json from the installed packages of pi: the facts about each model, nothing else. Before it writes, it compares
// what is kept by hand with the same release, and fails with a line for each thing that differs.
//
//   node data/refresh.mjs <folder of pi-coding-agent> <folder of pi-ai> <date of their release> [--looked]
//
// The date is asked for because the published files carry none. `--looked` notes the files of looked-at.json as looked at.
// Prints how many models each API has.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";

const [agent, ai, date, looked] = process.argv.slice(2);
if (!agent || !ai || !/^\d{4}-\d\d-\d\d$/.test(date ?? "") || ![undefined, "--looked"].includes(looked)) {
  console.error("usage: node data/refresh.mjs <folder of pi-coding-agent> <folder of pi-ai> <YYYY-MM-DD> [--looked]");
  process.exit(2);
}

const data = join(ai, "dist", "providers", "data");
const text = (...path) => readFileSync(join(...path), "utf8");
const read = (...path) => JSON.parse(text(...path));
const here = (name) => new URL(name, import.meta.url);
const ours = (name) => JSON.parse(readFileSync(here(name), "utf8"));
const { name, version } = read(ai, "package.json");

/** What differs from the release, a line each. */
const wrong = [];
const show = (value) => JSON.stringify(value) ?? "nothing";
function expect(place, here, there) {
  if (!isDeepStrictEqual(here, there)) wrong.push(`${place}: pi has ${show(there)}, here is ${show(here)}`);
}

// --- models ---------------------------------------------------------------------------------------------------------

/** Members of a model that are taken over, and those that are not. */
const TAKEN = ["id", "name", "api", "baseUrl", "reasoning", "thinkingLevelMap", "input", "inputLimits", "cost", "promptCache"];
TAKEN.push("contextWindow", "maxTokens", "samplingParams", "samplingParamsByThinkingLevel", "headers", "compat");
const LEFT = ["type", "provider", "lab", "providers", "enabled", "free", "output"];

const ofFile = (file) => file.replace(/\.json$/, "");
const isList = (file) => file.endsWith(".json") && !file.startsWith(".");
const lists = readdirSync(data).filter(isList).map(ofFile).sort();

/** The models of a provider that have a type, in pi's order. */
function modelsOf(provider, type) {
  const groups = Object.values(read(data, `${provider}.json`));
  return groups.flatMap((group) => Object.values(group)).filter((model) => model.type === type);
}

/** One model as `README.md` describes it; what is absent there is `undefined` here. */
function facts(model) {
  for (const key of Object.keys(model)) {
    if (![...TAKEN, ...LEFT].includes(key)) wrong.push(`${model.provider}/${model.id}: new member "${key}": add it to TAKEN or LEFT`);
  }
  const taken = Object.fromEntries(TAKEN.map((key) => [key, model[key]]));
  return { ...taken, baseUrl: model.baseUrl || undefined, thinkingLevelMap: model.reasoning ? model.thinkingLevelMap : undefined };
}

/** What is taken over of a model for images or classification. */
const OTHER = ["id", "name", "api", "baseUrl", "input", "output", "inputLimits", "cost", "contextWindow", "headers", "compat"];

/** One model for images or classification. */
function otherFacts(model) {
  for (const key of Object.keys(model)) {
    if (![...OTHER, ...LEFT].includes(key)) wrong.push(`${model.provider}/${model.id}: new member "${key}": add it to OTHER or LEFT`);
  }
  return Object.fromEntries(OTHER.map((key) => [key, model[key]]));
}

const chats = lists.map((provider) => [provider, modelsOf(provider, "chat")]).filter(([, models]) => models.length > 0);
const all = chats.flatMap(([, models]) => models);
const types = new Set(lists.flatMap((list) => Object.values(read(data, `${list}.json`)).flatMap((group) => Object.values(group).map((model) => model.type))));
expect("types of models", ["chat", "classifier", "image"], [...types].sort());
const chatLines = chats.map(([provider, models]) => {
  const rows = models.map((model) => `      ${JSON.stringify(facts(model))}`);
  return `    ${JSON.stringify(provider)}: [\n${rows.join(",\n")}\n    ]`;
});
const otherLines = ["classifier", "image"].map((type) => {
  const models = lists.map((provider) => [provider, modelsOf(provider, type)]).filter(([, models]) => models.length > 0);
  const rows = models.map(([provider, models]) => {
    const rows = models.map((model) => `        ${JSON.stringify(otherFacts(model))}`);
    return `      ${JSON.stringify(provider)}: [\n${rows.join(",\n")}\n      ]`;
  });
  return `    ${JSON.stringify(type)}: {\n${rows.join(",\n")}\n    }`;
});

// --- compat-defaults.json --------------------------------------------------------------------------------------------

/** The text of a function of the package, which is evaluated without anything around it. */
function functionText(file, name) {
  const found = new RegExp(`^(?:export )?(function ${name}\\([^]*?\\n\\})$`, "m").exec(text(ai, "dist", file));
  if (!found) throw new Error(`${file}: no function ${name}`);
  return found[1];
}
const evaluate = (texts, expression) => runInNewContext(`${texts.join("\n")}\n(${expression})`, Object.create(null));
const plain = (value) => JSON.parse(JSON.stringify(value));

/** The defaults of an API for a model, from our data. */
function ourDefaults(api, model) {
  const address = model.baseUrl.toLowerCase();
  const is = ({ providers = [], addresses = [], models = "" }) =>
    (providers.includes(model.provider) || addresses.some((part) => address.includes(part))) && model.id.startsWith(models);
  const servers = (api.servers ?? []).filter(is).map((server) => server.compat);
  return Object.assign({ ...api.compat }, ...servers.reverse());
}

const THEIR_DEFAULTS = {
  "anthropic-messages": evaluate([functionText("api/anthropic-messages.js", "getAnthropicCompat")], "getAnthropicCompat"),
  "openai-completions": evaluate([functionText("api/openai-completions.js", "detectCompat")], "detectCompat"),
  "openai-responses": evaluate(
    ["detectSessionAffinityFormat", "getCompat"].map((name) => functionText("api/openai-responses.js", name)),
    "getCompat",
  ),
};
const defaults = ours("compat-defaults.json");
expect("compat-defaults.json, version", defaults.version, version);
for (const [api, theirs] of Object.entries(THEIR_DEFAULTS)) {
  // Models of the list, and models of one's own at each address that either knows.
  const own = all.filter((model) => model.api === api);
  const parts = defaults.apis[api].servers.flatMap(({ providers = [], addresses = [] }) => [
    ...providers.map((provider) => ["", provider]),
    ...addresses.map((part) => [`https://x.${part}/v1`, "own"]),
  ]);
  const invented = [...parts, ["http://127.0.0.1:1/v1", "own"]].flatMap(([baseUrl, provider]) =>
    ["own", "anthropic/own"].map((id) => ({ id, provider, baseUrl })),
  );
  const places = [...text(ai, "dist", "api", `${api}.js`).matchAll(/baseUrl(?:\.toLowerCase\(\))?\.includes\("([^"]+)"\)/g)];
  const known = JSON.stringify(defaults.apis[api].servers);
  for (const [, place] of places) if (!known.includes(`"${place}"`)) wrong.push(`compat-defaults.json, ${api}: "${place}" is missing`);
  for (const { id, provider, baseUrl } of [...own, ...invented]) {
    const model = { id, provider, baseUrl: baseUrl || "https://own/v1" };
    expect(`compat-defaults.json, ${api}, ${provider}/${id} at ${model.baseUrl}`, ourDefaults(defaults.apis[api], model), plain(theirs(model)));
  }
}
for (const [api, { compat }] of Object.entries(defaults.apis).filter(([api]) => !(api in THEIR_DEFAULTS))) {
  const found = text(ai, "dist", "api", `${api}.js`).matchAll(/compat\?\.(\w+) \?\? (true|false)/g);
  const there = Object.fromEntries([...found].map(([, member, value]) => [member, value === "true"]));
  // Both have the input of OpenAI Responses.
  const shared = api.endsWith("-responses") ? text(ai, "dist", "api", "openai-responses-shared.js") : "";
  for (const [, member] of shared.matchAll(/compat\?\.(\w+) !== false/g)) there[member] = true;
  expect(`compat-defaults.json, ${api}`, compat, there);
}

// --- providers.json --------------------------------------------------------------------------------------------------

const providers = ours("providers.json").providers;
/** What pi 0.73.1 called `azure`. */
const OLD = "azure-openai-responses";
const names = [...text(ai, "dist", "env-api-keys.js").matchAll(/^export const (\w+_ENV) = "(\w+)";$/gm)];
const constants = names.map(([, name, value]) => `const ${name} = "${value}";`);
const keyVariables = evaluate([...constants, functionText("env-api-keys.js", "getApiKeyEnvVars")], "getApiKeyEnvVars");
const defaultModels = /export const defaultModelPerProvider = (\{[^}]*\})/.exec(text(agent, "dist", "core", "model-resolver.js"));
const theirModels = evaluate([], defaultModels[1]);
// A provider without a default has no models that answer prompts.
const order = Object.keys(providers).filter((provider) => provider !== OLD && providers[provider].defaults.length > 0);
expect("providers.json, order", order, Object.keys(theirModels));
for (const [provider, model] of Object.entries(theirModels)) {
  const { bearerEnv = [], env, defaults, baseUrl } = providers[provider] ?? {};
  expect(`providers.json, ${provider}, defaults`, defaults, [model]);
  // Amazon's and ChatGPT's keys come from elsewhere.
  const variables = keyVariables(provider);
  if (variables) expect(`providers.json, ${provider}, env`, [...bearerEnv, ...env], [...variables]);
  const file = join(ai, "dist", "providers", `${provider}.js`);
  const address = existsSync(file) && /^ +baseUrl: "([^"]+)",$/m.exec(readFileSync(file, "utf8"));
  const models = chats.find(([id]) => id === provider)?.[1] ?? [];
  const isThere = address && models.some((model) => model.baseUrl === address[1]) ? address[1] : undefined;
  if (isThere && models.every((model) => model.baseUrl === isThere)) expect(`providers.json, ${provider}, baseUrl`, baseUrl, isThere);
}

// --- what is written by hand after files of the release --------------------------------------------------------------

const lookedAt = ours("looked-at.json");
for (const [file, entry] of Object.entries(lookedAt)) {
  const [folder, ...path] = file.split("/");
  const place = join(folder === "pi-ai" ? ai : agent, ...path);
  const hash = existsSync(place) ? createHash("sha256").update(readFileSync(place)).digest("hex").slice(0, 16) : "gone";
  if (looked) entry.sha256 = hash;
  else if (hash !== entry.sha256) wrong.push(`${file} is another: look at ${entry.for}, then call this with --looked`);
}

if (wrong.length > 0) {
  console.error([...new Set(wrong)].join("\n"));
  console.error(`error: ${wrong.length} things differ from ${name} ${version}; nothing is written`);
  process.exit(1);
}
const written = `{
  "date": ${JSON.stringify(date)},
  "source": ${JSON.stringify(`the model list of ${name} ${version}`)},
  "providers": {
${chatLines.join(",\n")}
  },
  "others": {
${otherLines.join(",\n")}
  }
}
`;
writeFileSync(here("models.json"), written);
if (looked) writeFileSync(here("looked-at.json"), `${JSON.stringify(lookedAt, null, 2)}\n`);
const counts = {};
for (const { api } of all) counts[api] = (counts[api] ?? 0) + 1;
console.log(all.length, "models of", chats.length, "providers", counts);
