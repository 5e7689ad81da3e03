// Talks to a fake vendor by the vendor's own client, and prints what the client made of it.
//
//   node client.mjs FOLDER ADDRESS        FOLDER has node_modules

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, baseUrl] = process.argv.slice(2);
const genai = createRequire(join(folder, "package.json")).resolve("@google/genai");
const { GoogleGenAI } = await import(pathToFileURL(genai));
const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl, retryOptions: { attempts: 1 } } });
const model = "gemini-3.5-flash";
const config = {
  systemInstruction: "Be brief.",
  thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" },
  tools: [{ functionDeclarations: [{ name: "read", parametersJsonSchema: { type: "object" } }] }],
};
const user = (text) => ({ role: "user", parts: [{ text }] });

/** The parts of a whole answer, and how it ended. */
function whole(response) {
  const { content, finishReason } = response.candidates[0];
  const parts = content.parts.filter((part) => part.text !== "" || part.thoughtSignature);
  return { parts, finishReason, tokens: response.usageMetadata };
}

/** The same of a stream, with texts of one kind in a row as one. */
async function streamed(contents) {
  const parts = [];
  let last;
  for await (last of await client.models.generateContentStream({ model, contents, config })) {
    for (const part of last.candidates[0].content?.parts ?? []) {
      const before = parts.at(-1);
      if (part.text !== undefined && before?.text !== undefined && before.thought === part.thought) {
        before.text += part.text;
        before.thoughtSignature ??= part.thoughtSignature;
      } else {
        parts.push({ ...part });
      }
    }
  }
  return whole({ ...last, candidates: [{ ...last.candidates[0], content: { parts } }] });
}

/** The error of a call. */
async function refused(call) {
  try {
    return { answered: await call() };
  } catch (error) {
    const { status } = error;
    return { status, message: error.message };
  }
}

const contents = [user("work")];
const first = await streamed(contents);
const called = first.parts.find((part) => part.functionCall).functionCall;
contents.push({ role: "model", parts: first.parts });
const response = { id: called.id, name: called.name, response: { output: "one two three" } };
contents.push({ role: "user", parts: [{ functionResponse: response }] });
const second = whole(await client.models.generateContent({ model, contents, config }));
const busy = await refused(() => streamed([user("busy")]));
const half = await refused(() => streamed([user("half")]));
const orphan = await refused(() => client.models.generateContent({ model, contents: contents.slice(0, 2) }));
const listed = [];
for await (const found of await client.models.list()) {
  listed.push(found.name);
}
console.log(JSON.stringify({ first, second, busy, half, orphan, listed }));
