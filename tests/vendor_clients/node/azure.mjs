// Talks to a fake vendor by OpenAI's own client for Azure, and prints what the client made of it.
//
//   node azure.mjs FOLDER ADDRESS        FOLDER has node_modules

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, address] = process.argv.slice(2);
const { AzureOpenAI } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve("openai")));
const keys = { apiKey: "key", maxRetries: 0 };
const client = new AzureOpenAI({ ...keys, apiVersion: "v1", baseURL: `${address}/openai/v1` });
const dated = new AzureOpenAI({ ...keys, apiVersion: "2025-04-01-preview", endpoint: address });
const request = {
  model: "deployment",
  instructions: "Be brief.",
  store: false,
  include: ["reasoning.encrypted_content"],
  reasoning: { effort: "low", summary: "auto" },
  tools: [{ type: "function", name: "read", parameters: { type: "object" }, strict: false }],
};
const user = (content) => ({ role: "user", content });

/** The whole answer of a stream, the texts of its deltas, and its error. */
async function streamed(input) {
  const told = { text: "", error: null };
  const events = await client.responses.create({ ...request, input, stream: true });
  try {
    for await (const event of events) {
      if (event.type === "response.output_text.delta") told.text += event.delta;
      if (event.type === "response.completed") told.response = event.response;
    }
  } catch (error) {
    told.error = error.message;
  }
  return told;
}

/** The error of a call. */
async function refused(call) {
  try {
    return { answered: await call() };
  } catch (error) {
    return { status: error.status, message: error.message };
  }
}

const first = await streamed([user("work")]);
const { output, status, usage } = first.response;
const call = output.find((item) => item.type === "function_call");
const result = { type: "function_call_output", call_id: call.call_id, output: "one two three" };
const second = await dated.responses.create({ ...request, input: [user("work"), ...output, result] });
const listed = [];
for await (const found of client.models.list()) listed.push(found.id);
console.log(
  JSON.stringify({
    first: {
      text: first.text,
      status,
      kinds: output.map((item) => item.type),
      call: [call.name, call.arguments],
      tokens: [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens],
    },
    second: second.output_text,
    busy: await refused(() => streamed([user("busy")])),
    half: (await streamed([user("half")])).error,
    orphan: await refused(() => client.responses.create({ ...request, input: [user("work"), call] })),
    listed,
  }),
);
