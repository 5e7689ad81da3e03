// Talks to a fake vendor by Mistral's own client, and prints what the client made of it.
//
//   node client.mjs FOLDER ADDRESS        FOLDER has node_modules

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, address] = process.argv.slice(2);
const path = createRequire(join(folder, "package.json")).resolve("@mistralai/mistralai");
const { Mistral } = await import(pathToFileURL(path));
const client = new Mistral({ apiKey: "key", serverURL: `${address}/mistral`, retryConfig: { strategy: "none" } });
const model = "magistral-medium-latest";
const tools = [{ type: "function", function: { name: "read", parameters: { type: "object" } } }];
const request = { model, tools, promptMode: "reasoning" };
const user = (content) => ({ role: "user", content });

/** The text and the thinking of a content, which is a text or a list of parts. */
function texts(content) {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  const text = parts.filter((part) => part.type === "text").map((part) => part.text);
  const thought = parts.filter((part) => part.type === "thinking").flatMap((part) => part.thinking);
  return { text: text.join(""), thinking: thought.map((part) => part.text).join("") };
}

function calls(all) {
  return (all ?? []).map(({ id, function: { name, arguments: given } }) => ({ id, name, arguments: given }));
}

function tokens({ promptTokens, completionTokens, totalTokens }) {
  return [promptTokens, completionTokens, totalTokens];
}

async function streamed(messages) {
  const told = { text: "", thinking: "", calls: [] };
  for await (const { data } of await client.chat.stream({ ...request, messages })) {
    const [{ delta, finishReason }] = data.choices;
    const { text, thinking } = texts(delta.content);
    told.text += text;
    told.thinking += thinking;
    told.calls.push(...calls(delta.toolCalls));
    if (finishReason) {
      told.finishReason = finishReason;
      told.tokens = tokens(data.usage);
    }
  }
  return told;
}

async function whole(messages) {
  const { choices, usage } = await client.chat.complete({ ...request, messages });
  const [{ message, finishReason }] = choices;
  return { ...texts(message.content), calls: calls(message.toolCalls), finishReason, tokens: tokens(usage) };
}

/** The error of a call. */
async function refused(call) {
  try {
    return { answered: await call() };
  } catch (error) {
    return { status: error.statusCode, message: error.body ?? error.message };
  }
}

const first = await streamed([user("work")]);
const [called] = first.calls;
const answer = {
  role: "assistant",
  content: [{ type: "thinking", thinking: [{ type: "text", text: first.thinking }] }, { type: "text", text: first.text }],
  toolCalls: [{ id: called.id, function: { name: called.name, arguments: called.arguments } }],
};
const result = { role: "tool", toolCallId: called.id, name: called.name, content: "one two three" };
const second = await whole([user("work"), answer, result]);
const busy = await refused(() => streamed([user("busy")]));
const orphan = await refused(() => whole([user("work"), answer]));
const shape = await refused(() => whole([{ role: "user", content: [{ type: "image_url", imageUrl: "no address" }] }]));
const { data } = await client.models.list();
const listed = data.map(({ id }) => id);
console.log(JSON.stringify({ first, second, busy, orphan, shape, listed }));
