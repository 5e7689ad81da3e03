import { ProtocolError } from "./errors.js";

const LF = 0x0a;
const CR = 0x0d;

/**
 * Splitter of bytes into lines: a line ends at LF only (not at U+2028, as in readers of text),
 * a CR before it is dropped, and a character may be split between chunks.
 */
export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;

  /** `longest` is the maximum length of a line in bytes. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Lines that `chunk` completes, without line ends. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#longest) {
      throw new ProtocolError(`the server wrote a line of more than ${this.#longest} bytes`);
    }
    this.#pieces.push(piece);
  }

  #take(): string {
    const [first, ...rest] = this.#pieces;
    const line = first !== undefined && rest.length === 0 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    return line.toString("utf8", 0, line.at(-1) === CR ? line.length - 1 : line.length);
  }
}

/**
 * Encodes a frame as a line. U+2028 and U+2029 are escaped, as old servers end a line there.
 */
export function line(frame: object): string {
  return `${JSON.stringify(frame).replace(/[\u2028\u2029]/g, (it) => (it === "\u2028" ? "\\u2028" : "\\u2029"))}\n`;
}
