/** Makes pi's events for extensions of the events that host applications get. */
import { callBoundary, outcomeOf } from "./boundary.mjs";
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
   * @returns {Promise<any>} What the handlers of a `turn_end` add, for the server.
   */
  async emit(event) {
    const piEvent = this.#toPiEvent(event);
    const isBoundary = event.type === "turn_end" && this.#host.features.modern;
    let outcome;
    if (isBoundary) outcome = await callBoundary(this.#host, piEvent);
    else if (piEvent) await callHandlers(this.#host, piEvent.type, (handler, ctx) => handler(piEvent, ctx));
    if (event.type === "turn_end") this.#turn += 1;
    return outcome;
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
      outcome: outcomeOf(message),
      get messageEntryId() {
        return idOf(message);
      },
      get toolResultEntryIds() {
        return toolResults.map(idOf).filter(Boolean);
      },
    };
  }
}

function sameMessage(stored, shown) {
  return stored.role === shown.role && stored.timestamp === shown.timestamp && stored.toolCallId === shown.toolCallId;
}

/** `session_compact_failed`, for a `compaction_end` without a result. */
function failedCompaction({ reason, result, errorMessage, aborted, willRetry }) {
  if (result) return undefined;
  return { type: "session_compact_failed", reason, errorMessage, aborted, willRetry, fromExtension: false };
}
