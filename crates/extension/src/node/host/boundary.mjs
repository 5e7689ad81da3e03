/** Events at whose end handlers may add entries and have the model requested once more: `turn_end`, `agent_before_settle`. */
import { callHandlers } from "./handlers.mjs";
import { asText, plain } from "./shapes.mjs";

const LLM_ROLES = new Set(["user", "assistant", "toolResult"]);

/**
 * Calls the handlers of the event; each sees what those before it have proposed.
 * @param {import("./host.mjs").Host} host
 * @param {any} event The event, which gets `entries`, `continue` and `context`.
 * @returns {Promise<any>} The outcome for the server, if there is one.
 */
export async function callBoundary(host, event) {
  const proposed = Object.defineProperties(event, {
    entries: { value: [], writable: true, enumerable: true },
    continue: { value: false, writable: true, enumerable: true },
    context: { get: () => contextOf(host.session, proposed.entries), enumerable: true },
  });
  let frames = [];
  let isValid = true;
  await callHandlers(host, event.type, async (handler, ctx, member) => {
    let failure;
    try {
      const result = await handler(proposed, ctx);
      if (result?.entries !== undefined) proposed.entries = result.entries;
      if (result?.continue !== undefined) proposed.continue = Boolean(result.continue);
    } catch (error) {
      failure = error;
    }
    try {
      frames = proposed.entries.map(frameOf);
      isValid = true;
    } catch (error) {
      isValid = false;
      host.reportError(member.path, event.type, new Error(`Invalid boundary entries: ${error?.message ?? error}`));
    }
    if (failure) throw failure;
  });
  if (!isValid || (frames.length === 0 && !proposed.continue)) return undefined;
  return { entries: frames, continues: proposed.continue };
}

/** How the last answer of the branch has ended. */
export function lastOutcome(session) {
  const messages = session.getBranch().filter((entry) => entry.type === "message");
  return outcomeOf(messages.findLast(({ message }) => message.role === "assistant")?.message);
}

/** How an answer has ended. */
export function outcomeOf(message) {
  return { aborted: "aborted", error: "error" }[message?.stopReason] ?? "completed";
}

function frameOf({ type, customType, data, content, display, details }) {
  if (type === "custom") return { customType: asText(customType), data: plain(data, "data") };
  if (type === "custom_message") {
    const message = { customType: asText(customType), content: content ?? [], display: Boolean(display) };
    return { message: { ...message, details: plain(details, "details") } };
  }
  throw new Error(`entries of the type ${type} are not supported; expected custom or custom_message`);
}

function contextOf(session, drafts) {
  const { entries: contextEntries, messages } = session.buildSessionProjection();
  const added = drafts.filter(({ type }) => type === "custom_message");
  const contextMessages = [...messages, ...added.map((draft) => ({ ...draft, role: "custom", timestamp: Date.now() }))];
  const llmMessages = contextMessages.flatMap((message) => {
    if (LLM_ROLES.has(message.role)) return [message];
    return message.role === "custom" ? [{ role: "user", content: message.content, timestamp: message.timestamp }] : [];
  });
  const last = llmMessages.at(-1);
  const canContinue = last !== undefined && last.role !== "assistant";
  return { contextEntries, contextMessages, llmMessages, pendingMessages: [], canContinue };
}
