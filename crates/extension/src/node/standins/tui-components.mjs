/** Components that give plain lines. There is no terminal: they are rendered only by those who ask. */
import { matchesKey } from "./tui-keys.mjs";
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "./tui-text.mjs";

export const CURSOR_MARKER = "\x1b_pi:c\x07";
export const isFocusable = (component) => component !== null && typeof component === "object" && "focused" in component;
export const renderFakeCursor = (text) => `\x1b[7m${text}\x1b[27m`;

const padded = (line, width) => line + " ".repeat(Math.max(0, width - visibleWidth(line)));

/** Lines with room around them. */
function framed(lines, width, paddingX, paddingY, background) {
  const margin = " ".repeat(paddingX);
  const paint = background ?? ((line) => line);
  const empty = Array.from({ length: paddingY }, () => paint(padded("", width)));
  return [...empty, ...lines.map((line) => paint(padded(margin + line + margin, width))), ...empty];
}

export class Container {
  children = [];
  addChild(component) {
    this.children.push(component);
  }
  removeChild(component) {
    this.children = this.children.filter((child) => child !== component);
  }
  clear() {
    this.children = [];
  }
  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
  render(width) {
    return this.children.flatMap((child) => child.render(width));
  }
}
export { Container as VStack };

export class Box extends Container {
  #paddingX;
  #paddingY;
  #background;
  constructor(paddingX = 1, paddingY = 1, background) {
    super();
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
    this.#background = background;
  }
  setBgFn(background) {
    this.#background = background;
  }
  render(width) {
    const lines = super.render(Math.max(1, width - 2 * this.#paddingX));
    return lines.length === 0 ? [] : framed(lines, width, this.#paddingX, this.#paddingY, this.#background);
  }
}

export class Text {
  #text;
  #paddingX;
  #paddingY;
  #background;
  constructor(text = "", paddingX = 1, paddingY = 1, background) {
    this.#text = text;
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
    this.#background = background;
  }
  setText(text) {
    this.#text = text;
  }
  setCustomBgFn(background) {
    this.#background = background;
  }
  invalidate() {}
  render(width) {
    if (!this.#text?.trim()) return [];
    const lines = wrapTextWithAnsi(this.#text.replaceAll("\t", "   "), Math.max(1, width - 2 * this.#paddingX));
    return framed(lines, width, this.#paddingX, this.#paddingY, this.#background);
  }
}

/** Markdown, shown as it is written. */
export class Markdown extends Text {
  constructor(text = "", paddingX = 0, paddingY = 0) {
    super(text, paddingX, paddingY);
  }
}

export class TruncatedText {
  constructor(text, paddingX = 0, paddingY = 0) {
    Object.assign(this, { text, paddingX, paddingY });
  }
  invalidate() {}
  render(width) {
    const line = truncateToWidth(this.text.split("\n")[0], Math.max(1, width - 2 * this.paddingX));
    return framed([line], width, this.paddingX, this.paddingY);
  }
}

export class Spacer {
  constructor(lines = 1) {
    this.lines = lines;
  }
  setLines(lines) {
    this.lines = lines;
  }
  invalidate() {}
  render() {
    return Array.from({ length: this.lines }, () => "");
  }
}

/** A picture, by its kind only. */
export class Image {
  constructor(data, mimeType, theme, options = {}) {
    Object.assign(this, { data, mimeType, theme, options });
  }
  getImageId() {
    return undefined;
  }
  invalidate() {}
  render() {
    const line = `[Image: ${this.options.filename ?? this.mimeType}]`;
    return [this.theme?.fallbackColor?.(line) ?? line];
  }
}

/** A message while something goes on. Nothing moves. */
export class Loader extends Text {
  constructor(_ui, _spinnerColor, messageColor = (text) => text, message = "Loading...") {
    super(messageColor(message), 1, 0);
    this.color = messageColor;
  }
  start() {}
  stop() {}
  setIndicator() {}
  setMessage(message) {
    this.setText(this.color(message));
  }
}

export class CancellableLoader extends Loader {
  #controller = new AbortController();
  onAbort;
  get signal() {
    return this.#controller.signal;
  }
  get aborted() {
    return this.signal.aborted;
  }
  handleInput(data) {
    if (!matchesKey(data, "escape") && !matchesKey(data, "ctrl+c")) return;
    this.#controller.abort();
    this.onAbort?.();
  }
  dispose() {}
}
