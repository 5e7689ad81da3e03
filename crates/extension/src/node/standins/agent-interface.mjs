/** Themes, hints and components of pi's own interface. There is no terminal: themes colour nothing. */
import { CancellableLoader, Container } from "./tui-components.mjs";
import { Editor } from "./tui-inputs.mjs";
import { wrapTextWithAnsi } from "./tui-text.mjs";

const same = (text) => String(text ?? "");

/** A theme in which everything looks the same. */
export class Theme {
  name = "plain";
  fg(_color, text) {
    return same(text);
  }
  bg(_color, text) {
    return same(text);
  }
  bold = same;
  italic = same;
  underline = same;
  inverse = same;
  strikethrough = same;
  getFgAnsi() {
    return "";
  }
  getBgAnsi() {
    return "";
  }
  getColorMode() {
    return "truecolor";
  }
  getThinkingBorderColor() {
    return same;
  }
  getBashModeBorderColor() {
    return same;
  }
}

export const initTheme = () => {};
export const getMarkdownTheme = () => {
  const parts = [
    "heading",
    "link",
    "linkUrl",
    "code",
    "codeBlock",
    "codeBlockBorder",
    "quote",
    "quoteBorder",
    "hr",
    "listBullet",
    "bold",
    "italic",
    "strikethrough",
    "underline",
  ];
  return { ...Object.fromEntries(parts.map((part) => [part, same])), highlightCode };
};
export const getSelectListTheme = () => ({ selectedPrefix: same, selectedText: same, description: same, scrollInfo: same, noMatch: same });
export const getSettingsListTheme = () => ({ label: same, value: same, description: same, hint: same, cursor: "→ " });
export const highlightCode = (code) => code.split("\n");
export const renderDiff = same;

const LANGUAGES = {
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  py: "python",
  rs: "rust",
  go: "go",
  java: "java",
  c: "c",
  h: "c",
  cpp: "cpp",
  cc: "cpp",
  hpp: "cpp",
  cs: "csharp",
  rb: "ruby",
  php: "php",
  sh: "bash",
  bash: "bash",
  zsh: "bash",
  json: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "toml",
  md: "markdown",
  html: "html",
  css: "css",
  sql: "sql",
  xml: "xml",
  kt: "kotlin",
  swift: "swift",
  lua: "lua",
  makefile: "makefile",
  dockerfile: "dockerfile",
};
export const getLanguageFromPath = (file) => LANGUAGES[file.split(".").pop()?.toLowerCase() ?? ""];

export const keyText = (action) => action;
export const keyHint = (action, description) => `${action} ${description}`;
export const rawKeyHint = (key, description) => `${key} ${description}`;
export const editorKey = keyText;
export const appKey = (_keybindings, action) => action;
export const appKeyHint = (_keybindings, action, description) => `${action} ${description}`;

/** The last lines of a text, as they would be seen. */
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0) {
  const lines = text ? wrapTextWithAnsi(text, Math.max(1, width - 2 * paddingX)) : [];
  return { visualLines: lines.slice(-maxVisualLines), skippedCount: Math.max(0, lines.length - maxVisualLines) };
}

/** `:10-19` behind the path of a file that is read in part. */
export function formatReadLineRange(offset, limit) {
  if (offset == null && limit == null) return "";
  const first = Number(offset ?? 1);
  if (!Number.isFinite(first)) return "";
  return limit == null ? `:${first}` : `:${first}-${first + Number(limit) - 1}`;
}

export class DynamicBorder {
  constructor(color = same) {
    this.color = color;
  }
  invalidate() {}
  render(width) {
    return [this.color("─".repeat(Math.max(1, width)))];
  }
}

export class BorderedLoader extends Container {
  #loader;
  constructor(tui, _theme, message) {
    super();
    this.#loader = new CancellableLoader(tui, same, same, message);
    for (const child of [new DynamicBorder(), this.#loader, new DynamicBorder()]) this.addChild(child);
  }
  get signal() {
    return this.#loader.signal;
  }
  set onAbort(action) {
    this.#loader.onAbort = action;
  }
  handleInput(data) {
    this.#loader.handleInput(data);
  }
  dispose() {
    this.#loader.dispose();
  }
}

export class CustomEditor extends Editor {
  actionHandlers = new Map();
  onEscape;
  onCtrlD;
  onPasteImage;
  onExtensionShortcut;
  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options);
    this.keybindings = keybindings;
  }
  onAction(action, handler) {
    this.actionHandlers.set(action, handler);
  }
  handleInput(data) {
    if (!this.onExtensionShortcut?.(data)) super.handleInput(data);
  }
}
