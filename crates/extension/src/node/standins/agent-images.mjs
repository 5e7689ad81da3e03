/** Images and the clipboard, as far as no decoder is needed. */
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { getImageDimensions } from "./tui-images.mjs";

/** @type {[RegExp, string][]} How files of a type begin. */
const TYPES = [
  [/^\x89PNG\r\n\x1a\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF....WEBP/s, "image/webp"],
];

/** The programs that take what is to be in the clipboard, in the order in which they are tried. */
const CLIPBOARDS = [["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"], ["termux-clipboard-set"], ["clip.exe"]];

/**
 * An image that fits already as it is.
 * @param {Uint8Array} bytes
 * @param {string} mimeType
 * @param {{ maxWidth?: number, maxHeight?: number, maxBytes?: number }} [limits]
 * @returns {Promise<object | null>} `null` for one that does not fit, or is none: there is no decoder here.
 */
export async function resizeImage(bytes, mimeType, { maxWidth = 2000, maxHeight = 2000, maxBytes = 4.5 * 1024 * 1024 } = {}) {
  const data = Buffer.from(bytes).toString("base64");
  const size = getImageDimensions(data, mimeType);
  if (!size || size.widthPx > maxWidth || size.heightPx > maxHeight || data.length > maxBytes) return null;
  const { widthPx: width, heightPx: height } = size;
  return { data, mimeType, originalWidth: width, originalHeight: height, width, height, wasResized: false };
}

/** The note for the model about an image that was scaled down. */
export function formatDimensionNote({ wasResized, originalWidth, originalHeight, width, height }) {
  if (!wasResized) return undefined;
  const scale = (originalWidth / width).toFixed(2);
  return `[Image: original ${originalWidth}x${originalHeight}, displayed at ${width}x${height}. Multiply coordinates by ${scale} to map to original image.]`;
}

/** The type of an image by how its file begins; `null` for any other file. */
export async function detectSupportedImageMimeTypeFromFile(file) {
  const handle = await fs.promises.open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    const beginning = buffer.toString("latin1", 0, bytesRead);
    return TYPES.find(([pattern]) => pattern.test(beginning))?.[1] ?? null;
  } finally {
    await handle.close();
  }
}

/**
 * Puts a text into the clipboard by the first program that does so.
 * @param {string} text
 * @returns {Promise<void>}
 */
export async function copyToClipboard(text) {
  for (const [program, ...args] of CLIPBOARDS) if (await takes(program, args, text)) return;
  throw new Error(`copyToClipboard: none of ${CLIPBOARDS.map(([program]) => program).join(", ")} works here`);
}

function takes(program, args, text) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", () => resolve(false));
    child.on("close", (code) => resolve(code === 0));
    child.stdin.on("error", () => {});
    child.stdin.end(text);
  });
}
