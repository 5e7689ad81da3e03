/** The session manager for the callback `setup` of `ctx.newSession`. */

/** Collects the messages that the new session begins with. */
export class SetupSession {
  /** Messages of the new session, oldest first. */
  messages = [];
  #host;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
    // Reads are those of the open session.
    return new Proxy(this, {
      get: (target, name) => {
        const owner = name in target ? target : host.session;
        return typeof owner[name] === "function" ? owner[name].bind(owner) : owner[name];
      },
    });
  }

  appendMessage(message) {
    this.messages.push(message);
    return `prepared-${this.messages.length}`;
  }

  appendCustomMessageEntry(customType, content, display, details) {
    return this.appendMessage({ role: "custom", customType, content, display, details, timestamp: Date.now() });
  }

  appendSessionInfo() {
    this.#refuse("appendSessionInfo", "call pi.setSessionName in withSession");
  }

  appendCustomEntry() {
    this.#refuse("appendCustomEntry", "call pi.appendEntry in session_start");
  }

  appendLabelChange() {
    this.#refuse("appendLabelChange", "call pi.setLabel in session_start");
  }

  #refuse(name, instead) {
    this.#host.reportErrorOnce("<runtime>", "new_session", `newSession: ${name} is not supported in setup; ${instead}`);
    return "";
  }
}
