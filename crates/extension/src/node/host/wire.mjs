/**
 * The three descriptors between this host and the server: inbound frames on stdin, outbound frames on stdout, and answers to
 * queries on descriptor 3, which is read synchronously.
 */
import { readSync, writeSync } from "node:fs";
import { INPUT, inputStream, OUTPUT } from "./descriptors.mjs";
import { messageOf } from "./shapes.mjs";

const ANSWERS = 3;
const LINE_FEED = 0x0a;
/** Bytes for the frame around the text of an error. */
const ERROR_MARGIN = 1024;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Frames in both directions. */
export class Wire {
  /** Longest line that the server reads, in bytes; known from `hello` on. */
  maxFrame = Infinity;
  #lastId = 0;
  #waiting = new Map();
  #input = new Lines();
  #answers = new Lines();
  #piece = Buffer.alloc(64 * 1024);
  #listeners = new Set();
  #due;

  /**
   * Reads the first frame synchronously: setting up a stream would delay the start.
   * @returns {any} The frame; `undefined` at the end of input.
   */
  readFirst() {
    for (;;) {
      const line = this.#input.next();
      if (line !== undefined) return JSON.parse(line);
      const length = read(INPUT, this.#piece);
      if (length === 0) return undefined;
      this.#input.add(this.#piece.subarray(0, length));
    }
  }

  /**
   * Calls `onFrame` for each later frame of the server except `response`, and `onEnd` at the end of input.
   * @param {(frame: any) => void} onFrame
   * @param {() => void} onEnd
   */
  listen(onFrame, onEnd) {
    const take = () => {
      for (let line = this.#input.next(); line !== undefined; line = this.#input.next()) {
        const frame = JSON.parse(line);
        if (frame.type === "response") this.#settle(frame);
        else onFrame(frame);
      }
    };
    take();
    inputStream().then((input) => {
      input.on("data", (piece) => {
        this.#input.add(piece);
        take();
      });
      input.on("end", onEnd);
      input.on("error", onEnd);
    }, onEnd);
  }

  /**
   * Calls `listener` after each frame that is written, as earlier answers may then be out of date.
   * @param {() => void} listener
   */
  onWritten(listener) {
    this.#listeners.add(listener);
  }

  /**
   * Calls `write` before the next frame is written, or in a microtask.
   * @param {() => void} write
   */
  beforeNextFrame(write) {
    if (!this.#due) queueMicrotask(() => this.#flush());
    this.#due = write;
  }

  /**
   * Writes a frame synchronously.
   * @param {Record<string, unknown>} frame
   * @throws when the frame cannot be written as JSON, or is longer than the limit.
   */
  send(frame) {
    this.#flush();
    const line = Buffer.from(`${JSON.stringify(frame)}\n`);
    if (line.length > this.maxFrame) {
      throw new Error(`${frame.type}: the frame has ${line.length} bytes, the limit is ${this.maxFrame}`);
    }
    write(line);
    for (const listener of this.#listeners) listener();
  }

  /**
   * Writes the answer to a request of the server, or `failed` when that cannot be written.
   * @param {{ id: string } & Record<string, unknown>} frame
   */
  answer(frame) {
    try {
      this.send(frame);
    } catch (error) {
      this.send({ type: "failed", id: frame.id, error: shortenedMessage(error, this.maxFrame) });
    }
  }

  /**
   * Sends an action.
   * @param {Record<string, unknown>} frame The action, without its id.
   * @param {AbortSignal} [signal] Withdraws the action.
   * @returns {Promise<any>} The data of the response.
   */
  request(frame, signal) {
    const id = this.#nextId();
    return new Promise((resolve, reject) => {
      const withdraw = () => this.send({ type: "withdraw", id });
      this.#waiting.set(id, {
        resolve,
        reject,
        forget: () => signal?.removeEventListener("abort", withdraw),
      });
      try {
        this.send({ ...frame, id });
      } catch (error) {
        this.#waiting.delete(id);
        reject(error);
        return;
      }
      if (signal?.aborted) withdraw();
      else signal?.addEventListener("abort", withdraw, { once: true });
    });
  }

  /**
   * Sends a query, and waits synchronously for its answer.
   * @param {string} about
   * @param {Record<string, unknown>} [more] Further fields of the query.
   * @returns {any} The answer.
   */
  query(about, more) {
    this.#flush();
    const id = this.#nextId();
    write(Buffer.from(`${JSON.stringify({ type: "query", id, about, ...more })}\n`));
    for (;;) {
      const line = this.#answers.next();
      if (line === undefined) {
        const length = read(ANSWERS, this.#piece);
        if (length === 0) throw new Error("the server has closed the connection");
        this.#answers.add(this.#piece.subarray(0, length));
        continue;
      }
      const answer = JSON.parse(line);
      if (answer.id !== id) continue;
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.data;
    }
  }

  #flush() {
    const due = this.#due;
    this.#due = undefined;
    due?.();
  }

  #nextId() {
    return `host-${++this.#lastId}`;
  }

  #settle({ id, success, error, data }) {
    const action = this.#waiting.get(id);
    if (!action) return;
    this.#waiting.delete(id);
    action.forget();
    if (success) action.resolve(data);
    else action.reject(new Error(error ?? "the server refused the action"));
  }
}

/** Splits pieces of bytes into lines. */
class Lines {
  #pieces = [];
  #lines = [];

  add(piece) {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      this.#pieces.push(piece.subarray(start, end));
      this.#lines.push(Buffer.concat(this.#pieces).toString());
      this.#pieces = [];
      start = end + 1;
    }
    // The buffer of the piece is reused.
    if (start < piece.length) this.#pieces.push(Buffer.from(piece.subarray(start)));
  }

  next() {
    return this.#lines.shift();
  }
}

function shortenedMessage(error, maxFrame) {
  return messageOf(error).slice(0, Math.max(0, Math.min(maxFrame - ERROR_MARGIN, 4 * ERROR_MARGIN)));
}

function write(bytes) {
  for (let done = 0; done < bytes.length; ) {
    done += retryUntilReady(() => writeSync(OUTPUT, bytes, done));
  }
}

/** The number of bytes that were read; 0 at the end of input. */
function read(descriptor, piece) {
  return retryUntilReady(() => readSync(descriptor, piece));
}

/** Retries until a descriptor that the parent process has made non-blocking is ready. */
function retryUntilReady(attempt) {
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}
