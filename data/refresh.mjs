// Makes models.json from an installed package @earendil-works/pi-ai: the facts about each model, nothing else.
//
//   node data/refresh.mjs <folder of the package> <date of its release>
//
// The date is asked for because the published files carry none.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Providers that are asked with an API key over an API that this program speaks; in the order of pi's list. */
const PROVIDERS = [
  "anthropic",
  "cerebras",
  "deepseek",
  "google",
  "google-vertex",
  "groq",
  "minimax",
  "minimax-cn",
  "mistral",
  "moonshotai",
  "moonshotai-cn",
  "openai",
  "openrouter",
  "xai",
  "zai",
];

/** APIs that this program speaks. */
const APIS = [
  "anthropic-messages",
  "google-generative-ai",
  "google-vertex",
  "mistral-conversations",
  "openai-completions",
  "openai-responses",
];

/** What is told of a model's API; the rest of `compat` concerns features that this program does not use. */
const COMPAT = [
  "cacheControlFormat",
  "forceAdaptiveThinking",
  "maxTokensField",
  "requiresAssistantAfterToolResult",
  "requiresReasoningContentOnAssistantMessages",
  "requiresThinkingAsText",
  "requiresToolResultName",
  "sendSessionIdHeader",
  "supportsDeveloperRole",
  "supportsEagerToolInputStreaming",
  "supportsLongCacheRetention",
  "supportsReasoningEffort",
  "supportsStore",
  "supportsStrictMode",
  "supportsTemperature",
  "supportsUsageInStreaming",
  "thinkingFormat",
];

const [folder, date] = process.argv.slice(2);
if (!folder || !/^\d{4}-\d\d-\d\d$/.test(date ?? "")) {
  console.error("usage: node data/refresh.mjs <folder of @earendil-works/pi-ai> <YYYY-MM-DD>");
  process.exit(2);
}

const read = (...path) => JSON.parse(readFileSync(join(folder, ...path), "utf8"));
const { name, version } = read("package.json");

function compat(model) {
  const known = COMPAT.filter((key) => model.compat?.[key] !== undefined);
  return known.length ? Object.fromEntries(known.map((key) => [key, model.compat[key]])) : undefined;
}

/** One model as `data/README.md` describes it; what is absent there is `undefined` here. */
function facts(model) {
  const { input, output, cacheRead, cacheWrite } = model.cost;
  return {
    id: model.id,
    name: model.name,
    api: model.api,
    baseUrl: model.baseUrl,
    reasoning: model.reasoning,
    thinkingLevelMap: model.reasoning ? model.thinkingLevelMap : undefined,
    input: model.input,
    cost: { input, output, cacheRead, cacheWrite },
    contextWindow: model.contextWindow,
    maxTokens: model.maxTokens,
    compat: compat(model),
  };
}

const inOrder = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

const lines = PROVIDERS.map((provider) => {
  const groups = Object.values(read("dist", "providers", "data", `${provider}.json`));
  const chats = groups.flatMap((group) => Object.values(group)).filter((model) => model.type === "chat");
  const models = chats.filter((model) => APIS.includes(model.api)).sort(inOrder);
  return `    ${JSON.stringify(provider)}: [\n${models.map((model) => `      ${JSON.stringify(facts(model))}`).join(",\n")}\n    ]`;
});
const text = `{
  "date": ${JSON.stringify(date)},
  "source": ${JSON.stringify(`the model list of ${name} ${version}`)},
  "providers": {
${lines.join(",\n")}
  }
}
`;
writeFileSync(new URL("models.json", import.meta.url), text);
