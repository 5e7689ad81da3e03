/**
 * Stand-in for pi-tui. What only computes is real; components give plain lines; what needs a terminal, or draws pictures, is not there.
 */
import { KeybindingsManager } from "./tui-inputs.mjs";

export * from "./tui-components.mjs";
export * from "./tui-fuzzy.mjs";
export * from "./tui-images.mjs";
export * from "./tui-inputs.mjs";
export * from "./tui-keys.mjs";
export * from "./tui-text.mjs";

/** The usual keys of the editor and of lists. */
export const DEFAULT_EDITOR_KEYBINDINGS = {
  cursorUp: "up",
  cursorDown: "down",
  cursorLeft: "left",
  cursorRight: "right",
  submit: "enter",
  newLine: "shift+enter",
  tab: "tab",
  selectUp: "up",
  selectDown: "down",
  selectConfirm: "enter",
  selectCancel: ["escape", "ctrl+c"],
};
export const TUI_KEYBINDINGS = {
  "tui.editor.cursorUp": { defaultKeys: "up" },
  "tui.editor.cursorDown": { defaultKeys: "down" },
  "tui.input.submit": { defaultKeys: "enter" },
  "tui.input.newLine": { defaultKeys: "shift+enter" },
  "tui.input.tab": { defaultKeys: "tab" },
  "tui.select.up": { defaultKeys: "up" },
  "tui.select.down": { defaultKeys: "down" },
  "tui.select.confirm": { defaultKeys: "enter" },
  "tui.select.cancel": { defaultKeys: ["escape", "ctrl+c"] },
};

let keybindings = new KeybindingsManager({ ...DEFAULT_EDITOR_KEYBINDINGS, ...TUI_KEYBINDINGS });
export const getKeybindings = () => keybindings;
export const setKeybindings = (made) => void (keybindings = made);
export { getKeybindings as getEditorKeybindings, setKeybindings as setEditorKeybindings };

/** A terminal that can do nothing. */
export const getCapabilities = () => ({ images: null, trueColor: false, hyperlinks: false });
export const detectCapabilities = getCapabilities;
export const getCellDimensions = () => ({ widthPx: 9, heightPx: 18 });
export const imageFallback = (mimeType, dimensions, filename) =>
  `[Image: ${[filename, `[${mimeType}]`, dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`].filter(Boolean).join(" ")}]`;
