/** Makes pi's events for extensions of the events that host applications get. */
import { callHandlers } from "./handlers.mjs";
import { Snapshot } from "./snapshot.mjs";

/** Emits events to extensions, and keeps the state that events build on: the turn and the partial message. */
export class Events {
  #host;
  #turn = 0;
  #snapshot = new Snapshot();

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * Calls the handlers of all extensions, and resolves once they have completed.
   * @param {any} event The event as the host application gets it.
   */
  async emit(event) {
    const piEvent = this.#toPiEvent(event);
    if (piEvent) await callHandlers(this.#host, piEvent.type, (handler, ctx) => this.#callHandler(handler, piEvent, ctx));
    if (event.type === "turn_end") this.#turn += 1;
  }

  #toPiEvent(event) {
    const { type } = event;
    switch (type) {
      case "agent_start":
        this.#turn = 0;
        return { type };
      case "turn_start":
        return { type, turnIndex: this.#turn, timestamp: Date.now() };
      case "turn_end":
        return this.#turnEnd(event);
      case "agent_end":
        return { type, messages: event.messages };
      case "agent_settled":
        return { type, aborted: event.aborted ?? false };
      case "message_start":
        this.#snapshot.begin(event.message);
        return { type, message: event.message };
      case "message_end":
        return { type, message: event.message };
      case "message_update":
        return this.#snapshot.update(event);
      case "session_info_changed":
        return { type, name: event.name };
      case "compaction_end":
        return failedCompaction(event);
      default:
        return event;
    }
  }

  #turnEnd({ type, message, toolResults }) {
    const basic = { type, turnIndex: this.#turn, message, toolResults };
    if (!this.#host.features.modern) return basic;
    const { session } = this.#host;
    const entries = () => session.getBranch().filter((entry) => entry.type === "message");
    const idOf = (message) => entries().findLast((entry) => sameMessage(entry.message, message))?.id;
    return {
      ...basic,
      entries: [],
      continue: false,
      outcome: { aborted: "aborted", error: "error" }[message.stopReason] ?? "completed",
      get messageEntryId() {
        return idOf(message);
      },
      get toolResultEntryIds() {
        return toolResults.map(idOf).filter(Boolean);
      },
      get context() {
        const { entries: contextEntries, messages: contextMessages } = session.buildSessionProjection();
        const llmMessages = contextMessages.filter(({ role }) => LLM_ROLES.has(role));
        return { contextEntries, contextMessages, llmMessages, pendingMessages: [], canContinue: true };
      },
    };
  }

  /** Handlers of later versions may add entries at the end of a turn. */
  async #callHandler(handler, event, ctx) {
    const result = await handler(event, ctx);
    if (event.type !== "turn_end" || !this.#host.features.modern) return;
    for (const draft of result?.entries ?? []) this.#add(draft);
    if (result?.continue) throw new Error("turn_end: continue is not supported by this server");
  }

  #add(draft) {
    const { type, customType, data, content, display, details } = draft;
    if (type === "custom") this.#host.act({ type: "append_entry", customType, data });
    else if (type === "custom_message") {
      const message = { customType, content, display: Boolean(display), details };
      this.#host.act({ type: "send_message", message, deliverAs: "nextTurn" });
    } else throw new Error(`turn_end: entries of the type ${type} are not supported; expected custom or custom_message`);
  }
}

const LLM_ROLES = new Set(["user", "assistant", "toolResult"]);

function sameMessage(stored, shown) {
  return stored.role === shown.role && stored.timestamp === shown.timestamp && stored.toolCallId === shown.toolCallId;
}

/** `session_compact_failed`, for a `compaction_end` without a result. */
function failedCompaction({ reason, result, errorMessage, aborted, willRetry }) {
  if (result) return undefined;
  return { type: "session_compact_failed", reason, errorMessage, aborted, willRetry, fromExtension: false };
}
