import { ProtocolError } from "./errors.js";
import type { Frame } from "./tables.js";

/** Limits of frames: longer than `frame` bytes, they may come in chunks, of together at most `reassembled` bytes. */
export interface FrameLimits {
  readonly frame: number;
  readonly reassembled: number;
}

const MOST_CHUNKS = 256;
const LONGEST_ID = 128;

/** Chunks of a frame that is not complete yet. */
interface Series {
  readonly id: unknown;
  readonly count: number;
  readonly byteLength: number;
  readonly pieces: Uint8Array[];
  bytes: number;
}

/** Reassembly of frames that come in chunks. The chunks of a frame follow each other without another frame between them. */
export class Chunks {
  readonly #limits: FrameLimits | null;
  #series: Series | undefined;

  /** `limits`: null in dialects without chunks. */
  constructor(limits: FrameLimits | null) {
    this.#limits = limits;
  }

  /**
   * Takes a frame. Returns the text of the frame that its chunk completes, undefined within a series, and null for a frame
   * that is no chunk.
   */
  take(frame: Frame | undefined): string | undefined | null {
    if (this.#limits === null) return null;
    if (frame?.type !== "rpc_chunk") {
      if (this.#series !== undefined) throw this.#broken("another frame");
      return null;
    }
    this.#series ??= begin(frame, this.#limits);
    const series = this.#series;
    this.#add(series, frame);
    if (series.pieces.length < series.count) return undefined;
    this.#series = undefined;
    if (series.bytes !== series.byteLength) {
      throw new ProtocolError(`the chunks of ${String(series.id)} have ${series.bytes} bytes, not ${series.byteLength}`);
    }
    return text(series);
  }

  #add(series: Series, { chunkId, index, count, byteLength, data }: Frame): void {
    if (chunkId !== series.id || count !== series.count || byteLength !== series.byteLength || index !== series.pieces.length) {
      throw this.#broken(`chunk ${String(index)} of ${String(chunkId)}`);
    }
    const piece = decoded(data);
    if (piece === undefined) throw this.#broken("data that is no base64");
    series.bytes += piece.length;
    if (series.bytes > series.byteLength) throw this.#broken(`more than ${series.byteLength} bytes`);
    series.pieces.push(piece);
  }

  #broken(came: string): ProtocolError {
    const { id, pieces } = this.#series ?? { id: "", pieces: [] };
    this.#series = undefined;
    return new ProtocolError(`expected chunk ${pieces.length} of ${String(id)}, got ${came}`);
  }
}

function begin({ chunkId, count, byteLength }: Frame, { frame, reassembled }: FrameLimits): Series {
  if (typeof chunkId !== "string" || chunkId.length > LONGEST_ID) {
    throw new ProtocolError(`chunkId: expected a text of at most ${LONGEST_ID} characters`);
  }
  if (typeof count !== "number" || count < 2 || count > MOST_CHUNKS) {
    throw new ProtocolError(`count: expected 2 to ${MOST_CHUNKS} chunks, got ${String(count)}`);
  }
  if (typeof byteLength !== "number" || byteLength < frame || byteLength > reassembled) {
    throw new ProtocolError(`byteLength: expected ${frame} to ${reassembled} bytes, got ${String(byteLength)}`);
  }
  return { id: chunkId, count, byteLength, pieces: [], bytes: 0 };
}

/** Bytes of a text in base64; undefined: it is none. */
function decoded(data: unknown): Uint8Array | undefined {
  try {
    const binary = atob(String(data));
    // `atob` also accepts other forms than the canonical one.
    return btoa(binary) === data ? Uint8Array.from(binary, (byte) => byte.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}

function text({ pieces }: Series): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}
