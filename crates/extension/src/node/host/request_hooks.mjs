/** Hooks of model requests and their answers, which extensions may change. */
import { callHandlers } from "./handlers.mjs";
import { isRecord, messageContent, plain, typeName } from "./shapes.mjs";

/** @type {import("./hooks.mjs").HOOKS[string]} */
export async function contextHook(host, { messages: conversation }) {
  const unchanged = JSON.stringify(conversation);
  let messages = conversation;
  await callHandlers(host, "context", async (handler, ctx) => {
    const event = { type: "context", messages };
    messages = normalizeMessages((await handler(event, ctx))?.messages ?? event.messages);
  });
  if (host.generation.handlers("context_with_system").length > 0) {
    messages = await callWithSystem(host, messages);
  }
  return JSON.stringify(messages) === unchanged ? undefined : { messages };
}

/** @throws when it is no array of messages. */
function normalizeMessages(messages) {
  if (!Array.isArray(messages)) throw new Error(`messages: expected an array, got ${typeName(messages)}`);
  return messages.map((message) => normalizeMessage(message));
}

/** A message whose content and timestamp have the types of the schema. */
function normalizeMessage(given, before = Date.now()) {
  if (!isRecord(given) || typeof given.role !== "string") throw new Error(`message: expected an object with a role, got ${typeName(given)}`);
  const message = { ...given };
  if (given.role !== "branchSummary" && given.role !== "compactionSummary" && given.role !== "bashExecution") {
    message.content = messageContent(given.content);
    const inBlocks = given.role === "assistant" || given.role === "toolResult";
    if (inBlocks && typeof message.content === "string") message.content = [{ type: "text", text: message.content }];
  }
  if (!Number.isFinite(given.timestamp)) message.timestamp = Number.isFinite(before) ? before : Date.now();
  return plain(message, "message");
}

/** Calls handlers with the system message in front, and ignores their changes of it. */
async function callWithSystem(host, conversation) {
  const { systemPrompt } = host.query("system_prompt");
  let messages = [{ role: "system", content: systemPrompt, timestamp: Date.now() }, ...conversation];
  const instructions = JSON.stringify(messages[0]);
  await callHandlers(host, "context_with_system", async (handler, ctx, member) => {
    const event = { type: "context_with_system", messages };
    messages = normalizeMessages((await handler(event, ctx))?.messages ?? event.messages);
    const [first, ...rest] = messages.filter(({ role }) => role === "system");
    if (rest.length > 0 || JSON.stringify(first) !== instructions) {
      host.reportErrorOnce(member.path, "context_with_system", "context_with_system: changes of system messages are ignored by this server");
    }
  });
  return messages.filter(({ role }) => role !== "system");
}

/** @type {import("./hooks.mjs").HOOKS[string]} */
export async function messageEndHook(host, { message: original }) {
  let message = original;
  await callHandlers(host, "message_end", async (handler, ctx) => {
    const replacement = (await handler({ type: "message_end", message }, ctx))?.message;
    if (!replacement) return;
    if (replacement.role !== message.role) {
      throw new Error("message_end handlers must return a message with the same role");
    }
    message = normalizeMessage({ ...replacement, content: replacement.content ?? [] }, message.timestamp);
  });
  return message === original ? undefined : { messages: [message] };
}

/** @type {import("./hooks.mjs").HOOKS[string]} */
export async function payloadHook(host, { payload: body }) {
  const unchanged = JSON.stringify(body);
  let payload = body;
  await callHandlers(host, "before_provider_request", async (handler, ctx) => {
    const result = await handler({ type: "before_provider_request", payload }, ctx);
    if (result !== undefined) payload = plain(result, "payload");
  });
  return JSON.stringify(payload) === unchanged ? undefined : { payload };
}

/** Headers are changed in place; null removes one. */
export async function headersHook(host, { headers }) {
  const unchanged = JSON.stringify(headers);
  await callHandlers(host, "before_provider_headers", (handler, ctx) =>
    handler({ type: "before_provider_headers", headers }, ctx),
  );
  if (JSON.stringify(headers) === unchanged) return undefined;
  const kept = Object.entries(headers).filter(([, value]) => value !== null && value !== undefined);
  return { headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])) };
}
