/** The sizes of images, from the beginnings of their files, and how terminals forget them. */
import { bridge } from "./bridge.mjs";

/** @typedef {{ widthPx: number, heightPx: number }} Size */

const sized = (widthPx, heightPx) => ({ widthPx, heightPx });
const bytesOf = (base64) => Buffer.from(base64, "base64");

/** @returns {Size | null} */
export function getPngDimensions(base64) {
  const bytes = bytesOf(base64);
  return bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47 ? sized(bytes.readUInt32BE(16), bytes.readUInt32BE(20)) : null;
}

/** @returns {Size | null} */
export function getGifDimensions(base64) {
  const bytes = bytesOf(base64);
  return bytes.length >= 10 && /^GIF8[79]a/.test(bytes.toString("latin1", 0, 6)) ? sized(bytes.readUInt16LE(6), bytes.readUInt16LE(8)) : null;
}

/** @returns {Size | null} */
export function getJpegDimensions(base64) {
  const bytes = bytesOf(base64);
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = bytes[at + 1];
    // The frame's head, which is not DHT (c4), JPG (c8) or DAC (cc).
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return sized(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
    at += marker === 0xff ? 1 : 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return null;
}

/** @returns {Size | null} */
export function getWebpDimensions(base64) {
  const bytes = bytesOf(base64);
  if (bytes.length < 30 || !/^RIFF....WEBP/s.test(bytes.toString("latin1", 0, 12))) return null;
  const kind = bytes.toString("latin1", 12, 16);
  if (kind === "VP8 ") return sized(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  if (kind === "VP8L") {
    const bits = bytes.readUInt32LE(21);
    return sized((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
  }
  return kind === "VP8X" ? sized(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1) : null;
}

const READERS = { "image/png": getPngDimensions, "image/jpeg": getJpegDimensions, "image/gif": getGifDimensions, "image/webp": getWebpDimensions };

/** @returns {Size | null} `null` for what is no image of that type. */
export const getImageDimensions = (base64, mimeType) => READERS[mimeType]?.(base64) ?? null;

/** Later versions ask the terminal not to answer. */
const quiet = () => (Number.parseFloat(bridge().api) >= 1 ? ",q=2" : "");

export const deleteKittyImage = (id) => `\x1b_Ga=d,d=I,i=${id}${quiet()}\x1b\\`;
export const deleteAllKittyImages = () => `\x1b_Ga=d,d=A${quiet()}\x1b\\`;
