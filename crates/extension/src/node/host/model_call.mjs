/** Calls `streamSimple` for a model of an extension, and sends its events to the server. */
import { STREAM_EVENTS } from "./schema.mjs";
import { within } from "./scope.mjs";
import { isRecord } from "./shapes.mjs";

/**
 * @param {import("./host.mjs").Host} host
 * @param {any} frame The `model_call`.
 * @param {AbortSignal} signal Aborts when the request is cancelled.
 * @throws when the stream ends without a final event.
 */
export async function callModel(host, frame, signal) {
  const { model } = frame;
  const config = host.providers.get(model.provider);
  if (!config?.streamSimple) throw new Error(`no extension registers streamSimple for the provider ${model.provider}`);
  const send = (event) => host.wire.send({ type: "model_event", id: frame.id, event });

  const stream = await within({}, () =>
    config.streamSimple(model, contextOf(frame, host.features), optionsOf(host, frame, signal)),
  );
  for await (const streamed of stream) {
    // What is no event of pi's providers is ignored.
    if (!STREAM_EVENTS.includes(streamed?.type)) continue;
    const { partial, ...event } = streamed;
    if (event.type === "done" && !isRecord(event.message)) throw new Error("streamSimple: the event done has no message");
    if (event.type === "error" && !isRecord(event.error)) throw new Error("streamSimple: the event error has no error");
    send(event);
    if (event.type === "done" || event.type === "error") return;
  }
  const message = typeof stream.result === "function" ? await stream.result() : undefined;
  if (!isRecord(message)) throw new Error("streamSimple: the stream ended without done or error");
  const failed = message.stopReason === "error" || message.stopReason === "aborted";
  send({ type: failed ? "error" : "done", reason: message.stopReason, [failed ? "error" : "message"]: message });
}

function contextOf({ systemPrompt, messages, tools = [] }, { modern }) {
  if (!modern) return { systemPrompt, messages, tools };
  // Later versions have instructions and tools in the conversation itself.
  const first = { role: "system", content: systemPrompt ?? "", toolsAdded: tools, timestamp: Date.now() };
  return { messages: systemPrompt === undefined && tools.length === 0 ? messages : [first, ...messages] };
}

function optionsOf(host, { model, level, sessionId, maxTokens }, signal) {
  const { apiKey, headers } = host.query("api_key", { provider: model.provider, modelId: model.id }) ?? {};
  return {
    signal,
    apiKey,
    headers,
    sessionId,
    maxTokens,
    reasoning: level === "off" ? undefined : level,
    onPayload: () => undefined,
    onResponse: () => undefined,
  };
}
