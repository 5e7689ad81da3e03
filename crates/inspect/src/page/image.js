// Images of frames: only bytes that are of a known kind are given to the browser, whatever their frame says.

import { getBytes } from "./api.js";
import { element } from "./elements.js";
import { formatBytes, visiblePlainText } from "./visible_text.js";

/** Images up to this size are shown. */
const LARGEST = 20_000_000;

/** The first bytes of each kind; `undefined` stands for any byte. @type {[string, (number | undefined)[]][]} */
const KINDS = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46, undefined, undefined, undefined, undefined, 0x57, 0x45, 0x42, 0x50]],
];

/**
 * The kind of an image by its first bytes.
 * @param {Uint8Array} bytes
 */
export function imageKind(bytes) {
  return KINDS.find(([, head]) => head.every((byte, at) => byte === undefined || bytes[at] === byte))?.[0];
}

/**
 * Shows an image of the conversation once it has come.
 * @param {{ mime: string, href: string, bytes: number }} part
 * @returns {HTMLElement}
 */
export function imageView(part) {
  const name = `Image, ${visiblePlainText(part.mime)}, ${formatBytes(part.bytes)}`;
  const box = element("figure", { class: "image" }, element("figcaption", { class: "faint" }, name));
  if (part.bytes <= LARGEST) void load(part.href, name, box);
  else box.append(element("p", {}, "Too large to be shown."));
  return box;
}

/**
 * @param {string} href
 * @param {string} name
 * @param {HTMLElement} box
 */
async function load(href, name, box) {
  try {
    const bytes = await getBytes(href);
    const type = imageKind(new Uint8Array(bytes, 0, Math.min(16, bytes.byteLength)));
    if (!type) {
      box.append(element("p", { class: "bad" }, "Not shown: neither PNG, JPEG, GIF nor WebP."));
      return;
    }
    const address = URL.createObjectURL(new Blob([bytes], { type }));
    const image = element("img", { alt: name, src: address });
    image.addEventListener("load", () => URL.revokeObjectURL(address));
    image.addEventListener("error", () => {
      URL.revokeObjectURL(address);
      image.replaceWith(element("p", { class: "bad" }, "Not shown: the image is damaged."));
    });
    box.append(image);
  } catch (failure) {
    box.append(element("p", { class: "bad" }, visiblePlainText(String(failure))));
  }
}
