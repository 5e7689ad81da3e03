/**
 * The three descriptors between this host and the server: frames come in by stdin, go out by stdout, and what has to be
 * known at once comes in by descriptor 3, which is read while everything else stands still.
 */
import { readSync, writeSync } from "node:fs";
import { INPUT, inputStream, OUTPUT } from "./descriptors.mjs";
import { messageOf } from "./shapes.mjs";

const ANSWERS = 3;
const LINE_FEED = 0x0a;
/** What may be in a line besides what is said: the frame around an error. */
const ERROR_MARGIN = 1024;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Frames in both directions. */
export class Wire {
  /** The longest line that the server reads, in bytes; known from `hello` on. */
  maxFrame = Infinity;
  #lastId = 0;
  #waiting = new Map();
  #input = new Lines();
  #answers = new Lines();
  #piece = Buffer.alloc(64 * 1024);
  #listeners = new Set();
  #due;

  /**
   * Waits for the first frame. A stream is not set up for it: that takes as long as a good part of the start.
   * @returns {any} The frame, `undefined` when there is none.
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
   * Calls `onFrame` for each further frame of the server but `response`, and `onEnd` when there will be none any more.
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
   * Calls `listener` whenever something was written: what was asked for before may be out of date.
   * @param {() => void} listener
   */
  onWritten(listener) {
    this.#listeners.add(listener);
  }

  /**
   * Calls `write` before anything else is written, or as soon as the code that runs has come to an end.
   * @param {() => void} write
   */
  beforeNextFrame(write) {
    if (!this.#due) queueMicrotask(() => this.#flush());
    this.#due = write;
  }

  /**
   * Writes a frame, now.
   * @param {Record<string, unknown>} frame
   * @throws what cannot be said in JSON, or not in a line of the length allowed.
   */
  send(frame) {
    this.#flush();
    const line = Buffer.from(`${JSON.stringify(frame)}\n`);
    if (line.length > this.maxFrame) {
      throw new Error(`${frame.type} is ${line.length} bytes long; at most ${this.maxFrame} are allowed`);
    }
    write(line);
    for (const listener of this.#listeners) listener();
  }

  /**
   * Writes how a request of the server ends; when that cannot be said, that it failed.
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
   * Asks for something to be done.
   * @param {Record<string, unknown>} frame The action, without its id.
   * @param {AbortSignal} [signal] Takes the action back.
   * @returns {Promise<any>} What came of it.
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
   * Asks how something is, and waits for the answer. Nothing else happens meanwhile.
   * @param {string} about
   * @param {Record<string, unknown>} [more] What the question needs besides.
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
    else action.reject(new Error(error ?? "the server did not do it"));
  }
}

/** Bytes that come in pieces, line by line. */
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
    // The piece is used again for what comes next.
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

/** How many bytes there were; none: there will be none any more. */
function read(descriptor, piece) {
  return retryUntilReady(() => readSync(descriptor, piece));
}

/** Descriptors that whoever started us has made non-blocking are waited for. */
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
