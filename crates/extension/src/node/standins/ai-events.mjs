/** The event streams of pi-ai: what providers push into, and callers read from. */

/** Events that come one after another, and a result that the last of them has. */
export class EventStream {
  #isLast;
  #resultOf;
  /** @type {unknown[]} */
  #ready = [];
  /** @type {((next: IteratorResult<unknown>) => void)[]} */
  #waiting = [];
  #ended = false;
  #result = Promise.withResolvers ? Promise.withResolvers() : resolvers();

  /**
   * @param {(event: any) => boolean} isLast Whether an event ends the stream.
   * @param {(event: any) => any} resultOf What that event says came of it.
   */
  constructor(isLast, resultOf) {
    this.#isLast = isLast;
    this.#resultOf = resultOf;
  }

  /** Adds an event. After the last one nothing is added any more. */
  push(event) {
    if (this.#ended) return;
    if (this.#isLast(event)) {
      this.#ended = true;
      this.#result.resolve(this.#resultOf(event));
    }
    const reader = this.#waiting.shift();
    if (reader) reader({ value: event, done: false });
    else this.#ready.push(event);
  }

  /** Ends the stream, with a result if no event had one. */
  end(result) {
    this.#ended = true;
    if (result !== undefined) this.#result.resolve(result);
    for (const reader of this.#waiting.splice(0)) reader({ value: undefined, done: true });
  }

  /** @returns {Promise<any>} What came of it. */
  result() {
    return this.#result.promise;
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.#ready.length > 0) yield this.#ready.shift();
      else if (this.#ended) return;
      else {
        const next = await new Promise((resolve) => this.#waiting.push(resolve));
        if (next.done) return;
        yield next.value;
      }
    }
  }
}

/** What a model says, as it says it; the result is its message. */
export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super(
      (event) => event.type === "done" || event.type === "error",
      (event) => (event.type === "done" ? event.message : event.error),
    );
  }
}

export const createAssistantMessageEventStream = () => new AssistantMessageEventStream();

function resolvers() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
