/** The session manager that the callback `setup` of `ctx.newSession` writes the beginning of a session to. */

/** Keeps messages until the session begins. */
export class SetupSession {
  /** What the session begins with, oldest first. */
  messages = [];
  #host;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
    // What it does not write, it answers as the session that is open does.
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
    this.#host.reportErrorOnce("<runtime>", "new_session", `setup cannot ${name} on this server: ${instead}`);
    return "";
  }
}
