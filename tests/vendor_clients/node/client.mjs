// Talks to a fake vendor by the vendor's own client, and prints what the client made of it.
//
//   node client.mjs FOLDER ADDRESS [vertex]        FOLDER has node_modules; vertex: by an account, at Vertex AI

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, baseUrl, service] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { GoogleGenAI } = await load("@google/genai");
// Its remarks would be among the output.
console.debug = () => {};
const isVertex = service === "vertex";
const access = isVertex ? await account() : { apiKey: "key" };
const client = new GoogleGenAI({ ...access, httpOptions: { baseUrl, retryOptions: { attempts: 1 } } });
const model = "gemini-3.5-flash";
const config = {
  systemInstruction: "Be brief.",
  thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" },
  tools: [{ functionDeclarations: [{ name: "read", parametersJsonSchema: { type: "object" } }] }],
};
const user = (text) => ({ role: "user", parts: [{ text }] });

/** Access by the vendor's service account. The client asks for tokens at an address of its own. */
async function account() {
  const credentials = await (await fetch(`${baseUrl}/google/service_account.json`)).json();
  const { Gaxios } = await load("gaxios");
  const transporter = new Gaxios();
  const resolved = async (request) => {
    if (String(request.url).startsWith("https://oauth2.googleapis.com/")) request.url = new URL(credentials.token_uri);
    return request;
  };
  transporter.interceptors.request.add({ resolved });
  const googleAuthOptions = { credentials, clientOptions: { transporter } };
  return { vertexai: true, project: "p", location: "global", googleAuthOptions };
}

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
if (!isVertex) {
  for await (const found of await client.models.list()) {
    listed.push(found.name);
  }
}
console.log(JSON.stringify({ first, second, busy, half, orphan, listed }));
