// Makes models.json from an installed package @earendil-works/pi-ai: the facts about each model, nothing else.
//
//   node data/refresh.mjs <folder of the package> <date of its release>
//
// The date is asked for because the published files carry none. Prints how many models each API and provider has.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, date] = process.argv.slice(2);
if (!folder || !/^\d{4}-\d\d-\d\d$/.test(date ?? "")) {
  console.error("usage: node data/refresh.mjs <folder of @earendil-works/pi-ai> <YYYY-MM-DD>");
  process.exit(2);
}

const data = join(folder, "dist", "providers", "data");
const read = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));
const { name, version } = read(folder, "package.json");

const ofFile = (file) => file.replace(/\.json$/, "");
const isList = (file) => file.endsWith(".json") && !file.startsWith(".");

/** The models of a provider that answer with text, in pi's order. */
function chats(provider) {
  const groups = Object.values(read(data, `${provider}.json`));
  const models = groups.flatMap((group) => Object.values(group));
  return models.filter((model) => model.type === "chat");
}

/** One model as `data/README.md` describes it; what is absent there is `undefined` here. */
function facts(model) {
  return {
    id: model.id,
    name: model.name,
    api: model.api,
    baseUrl: model.baseUrl || undefined,
    reasoning: model.reasoning,
    thinkingLevelMap: model.reasoning ? model.thinkingLevelMap : undefined,
    input: model.input,
    inputLimits: model.inputLimits,
    cost: model.cost,
    promptCache: model.promptCache,
    contextWindow: model.contextWindow,
    maxTokens: model.maxTokens,
    headers: model.headers,
    compat: model.compat,
  };
}

const counts = (models, key) => {
  const numbers = {};
  for (const model of models) numbers[model[key]] = (numbers[model[key]] ?? 0) + 1;
  return numbers;
};

const lists = readdirSync(data).filter(isList).map(ofFile).sort();
const filled = lists.map((provider) => [provider, chats(provider)]).filter(([, models]) => models.length > 0);
const lines = filled.map(([provider, models]) => {
  const rows = models.map((model) => `      ${JSON.stringify(facts(model))}`);
  return `    ${JSON.stringify(provider)}: [\n${rows.join(",\n")}\n    ]`;
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
const all = filled.flatMap(([, models]) => models);
console.log(all.length, "models of", filled.length, "providers", counts(all, "api"));
