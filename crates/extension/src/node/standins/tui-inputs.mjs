/** Components that take input: lists, a line, an editor. They get only the input that they are given. */
import { fuzzyFilter } from "./tui-fuzzy.mjs";
import { matchesKey, parseKey } from "./tui-keys.mjs";
import { truncateToWidth, wrapTextWithAnsi } from "./tui-text.mjs";

export class SelectList {
  onSelect;
  onCancel;
  onSelectionChange;
  #items;
  #shown;
  #selected = 0;
  constructor(items, maxVisible, theme) {
    this.#items = this.#shown = items;
    Object.assign(this, { maxVisible, theme });
  }
  setFilter(filter) {
    this.#shown = this.#items.filter(({ value }) => value.toLowerCase().startsWith(filter.toLowerCase()));
    this.#selected = 0;
  }
  setSelectedIndex(index) {
    this.#selected = Math.max(0, Math.min(index, this.#shown.length - 1));
  }
  getSelectedItem() {
    return this.#shown[this.#selected] ?? null;
  }
  invalidate() {}
  render(width) {
    const first = Math.max(0, Math.min(this.#selected - Math.floor(this.maxVisible / 2), this.#shown.length - this.maxVisible));
    return this.#shown.slice(first, first + this.maxVisible).map((item, index) => {
      const line = `${first + index === this.#selected ? "→ " : "  "}${item.label || item.value}${item.description ? `  ${item.description}` : ""}`;
      return truncateToWidth(line, width);
    });
  }
  handleInput(data) {
    const move = matchesKey(data, "up") ? -1 : matchesKey(data, "down") ? 1 : 0;
    const item = this.getSelectedItem();
    if (move && this.#shown.length > 0) {
      this.#selected = (this.#selected + move + this.#shown.length) % this.#shown.length;
      this.onSelectionChange?.(this.getSelectedItem());
    } else if (matchesKey(data, "enter") && item) this.onSelect?.(item);
    else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.onCancel?.();
  }
}

export class SettingsList {
  #items;
  #selected = 0;
  constructor(items, maxVisible, theme, onChange, onCancel) {
    this.#items = items;
    Object.assign(this, { maxVisible, theme, onChange, onCancel });
  }
  updateValue(id, value) {
    const item = this.#items.find((one) => one.id === id);
    if (item) item.currentValue = value;
  }
  invalidate() {}
  render(width) {
    return this.#items.map(({ label, currentValue }, index) =>
      truncateToWidth(`${index === this.#selected ? "→ " : "  "}${label}  ${currentValue}`, width),
    );
  }
  handleInput(data) {
    const move = matchesKey(data, "up") ? -1 : matchesKey(data, "down") ? 1 : 0;
    const item = this.#items[this.#selected];
    if (move && this.#items.length > 0) this.#selected = (this.#selected + move + this.#items.length) % this.#items.length;
    else if ((matchesKey(data, "enter") || data === " ") && item?.values?.length) {
      item.currentValue = item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length];
      this.onChange?.(item.id, item.currentValue);
    } else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.onCancel?.();
  }
}

/** A line of input: characters are added and taken away at its end. */
export class Input {
  focused = false;
  onSubmit;
  onEscape;
  #value = "";
  getValue() {
    return this.#value;
  }
  setValue(value) {
    this.#value = value;
  }
  handleInput(data) {
    if (matchesKey(data, "enter")) this.onSubmit?.(this.#value);
    else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.onEscape?.();
    else if (matchesKey(data, "backspace")) this.#value = [...this.#value].slice(0, -1).join("");
    else if (isText(data)) this.#value += data;
  }
  invalidate() {}
  render(width) {
    return [truncateToWidth(`> ${this.#value}`, width)];
  }
}

/** Lines of input: characters are added and taken away at the end. */
export class Editor {
  focused = false;
  onSubmit;
  onChange;
  disableSubmit = false;
  borderColor = (text) => text;
  #text = "";
  constructor(tui, theme, options = {}) {
    this.tui = tui;
    this.theme = theme;
    this.options = options;
    if (theme?.borderColor) this.borderColor = theme.borderColor;
  }
  getText() {
    return this.#text;
  }
  getExpandedText() {
    return this.#text;
  }
  getLines() {
    return this.#text.split("\n");
  }
  getCursor() {
    const lines = this.getLines();
    return { line: lines.length - 1, col: lines.at(-1).length };
  }
  setText(text) {
    this.#text = text;
    this.onChange?.(text);
  }
  insertTextAtCursor(text) {
    this.setText(this.#text + text);
  }
  handleInput(data) {
    if (matchesKey(data, "enter") && !this.disableSubmit) {
      const text = this.#text.trim();
      this.setText("");
      this.onSubmit?.(text);
    } else if (matchesKey(data, "shift+enter")) this.insertTextAtCursor("\n");
    else if (matchesKey(data, "backspace")) this.setText([...this.#text].slice(0, -1).join(""));
    else if (isText(data)) this.insertTextAtCursor(data);
  }
  addToHistory() {}
  setAutocompleteProvider() {}
  isShowingAutocomplete() {
    return false;
  }
  getPaddingX() {
    return this.options.paddingX ?? 0;
  }
  setPaddingX(paddingX) {
    this.options.paddingX = paddingX;
  }
  getAutocompleteMaxVisible() {
    return this.options.autocompleteMaxVisible ?? 5;
  }
  setAutocompleteMaxVisible(autocompleteMaxVisible) {
    this.options.autocompleteMaxVisible = autocompleteMaxVisible;
  }
  invalidate() {}
  render(width) {
    const border = this.borderColor("─".repeat(Math.max(0, width)));
    return [border, ...this.getLines().flatMap((line) => wrapTextWithAnsi(line, Math.max(1, width))), border];
  }
}

/** Completes slash commands. Paths are the server's business. */
export class CombinedAutocompleteProvider {
  constructor(commands = []) {
    this.commands = commands;
  }
  getSuggestions(lines, line, column) {
    const prefix = lines[line].slice(0, column);
    if (!prefix.startsWith("/") || prefix.includes(" ")) return null;
    const items = this.commands.map(({ name, value = name, label = name, description }) => ({ value, label, description }));
    const found = fuzzyFilter(items, prefix.slice(1), ({ value }) => value);
    return found.length > 0 ? { items: found, prefix } : null;
  }
  applyCompletion(lines, line, column, item, prefix) {
    const made = lines[line].slice(0, column - prefix.length) + `/${item.value} `;
    const completed = lines.map((text, at) => (at === line ? made + text.slice(column) : text));
    return { lines: completed, cursorLine: line, cursorCol: made.length };
  }
}

/** Keys for actions, as an extension may set them. */
export class KeybindingsManager {
  constructor(definitions = {}, user = {}) {
    Object.assign(this, { definitions, user });
  }
  getKeys(action) {
    return [this.user[action] ?? this.definitions[action]?.defaultKeys ?? this.definitions[action] ?? []].flat();
  }
  matches(data, action) {
    return this.getKeys(action).some((key) => matchesKey(data, key));
  }
}
export { KeybindingsManager as EditorKeybindingsManager };

function isText(data) {
  return !data.startsWith("\x1b") && !(parseKey(data) ?? "").startsWith("ctrl+") && !matchesKey(data, "backspace") && data !== "\t";
}
