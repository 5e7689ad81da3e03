// Talks to a fake Amazon Bedrock by the vendor's own client, and prints what the client made of it.
//
//   node client.mjs FOLDER ADDRESS KEY_ID SECRET        FOLDER has node_modules

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, endpoint, accessKeyId, secretAccessKey] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const aws = await import(pathToFileURL(require.resolve("@aws-sdk/client-bedrock-runtime")));
const http = await import(pathToFileURL(createRequire(require.resolve("@aws-sdk/client-bedrock-runtime")).resolve("@smithy/node-http-handler")));
const settings = { endpoint, region: "eu-west-1", maxAttempts: 1, requestHandler: new http.NodeHttpHandler() };
const client = (credentials) => new aws.BedrockRuntimeClient({ ...settings, credentials });
const known = client({ accessKeyId, secretAccessKey });
const modelId = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const request = (messages) => ({
  modelId,
  messages,
  system: [{ text: "Be brief." }, { cachePoint: { type: "default" } }],
  inferenceConfig: { maxTokens: 4096 },
  toolConfig: { tools: [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }] },
  additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1024 } },
});
const user = (...content) => ({ role: "user", content });

/** The blocks of a streamed answer as an answer that is not streamed has them. */
async function streamed(messages, by = known) {
  const answer = await by.send(new aws.ConverseStreamCommand(request(messages)));
  const content = [];
  let input;
  let stopReason;
  let tokens;
  for await (const event of answer.stream) {
    const { start, delta, contentBlockIndex: at } = event.contentBlockStart ?? event.contentBlockDelta ?? {};
    const thought = delta?.reasoningContent;
    if (start?.toolUse) {
      content[at] = { toolUse: { ...start.toolUse } };
      input = "";
    } else if (delta?.toolUse) {
      input += delta.toolUse.input;
    } else if (delta?.text !== undefined) {
      content[at] = { text: (content[at]?.text ?? "") + delta.text };
    } else if (thought) {
      const { text = "", signature } = content[at]?.reasoningContent.reasoningText ?? {};
      const more = { text: text + (thought.text ?? ""), signature: thought.signature ?? signature };
      content[at] = { reasoningContent: { reasoningText: more } };
    }
    if (event.contentBlockStop && content[event.contentBlockStop.contentBlockIndex]?.toolUse) {
      content[event.contentBlockStop.contentBlockIndex].toolUse.input = JSON.parse(input || "{}");
    }
    stopReason ??= event.messageStop?.stopReason;
    tokens ??= event.metadata?.usage;
  }
  return { content, stopReason, tokens };
}

/** The error of a call. */
async function refused(call) {
  try {
    return { answered: await call() };
  } catch (error) {
    return { name: error.name, status: error.$metadata?.httpStatusCode, message: error.message };
  }
}

const messages = [user({ text: "work" })];
const first = await streamed(messages);
const called = first.content.find((block) => block.toolUse).toolUse;
messages.push({ role: "assistant", content: first.content });
messages.push(user({ toolResult: { toolUseId: called.toolUseId, content: [{ text: "one two three" }] } }));
const whole = await known.send(new aws.ConverseCommand(request(messages)));
const { output, stopReason } = whole;
console.log(
  JSON.stringify({
    first,
    second: { content: output.message.content, stopReason },
    busy: await refused(() => streamed([user({ text: "busy" })])),
    half: await refused(() => streamed([user({ text: "half" })])),
    orphan: await refused(() => streamed(messages.slice(0, 2).concat(user({ text: "work" })))),
    forged: await refused(() => streamed([user({ text: "work" })], client({ accessKeyId, secretAccessKey: "another" }))),
  }),
);
