// Short messages for everybody, screen readers included; and the clipboard.

import { byId, element, replace } from "./elements.js";
import { visiblePlainText } from "./visible_text.js";

/** Milliseconds for which a message is shown. */
const SHOWN = 6000;

let timer = 0;

/**
 * Shows a message.
 * @param {string} text
 * @param {"good" | "bad"} tone
 */
export function announce(text, tone = "good") {
  const box = byId("announcement");
  replace(box, element("span", { class: tone }, visiblePlainText(text).slice(0, 600)));
  clearTimeout(timer);
  timer = setTimeout(() => replace(box), SHOWN);
}

/**
 * Copies a text and announces it. Where the browser refuses, the text is selected in a field instead.
 * @param {string} text
 * @param {string} name of what is copied
 */
export async function copyText(text, name) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  announce(`Copied as ${name}`);
}
