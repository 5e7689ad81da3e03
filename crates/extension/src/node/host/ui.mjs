/** `ctx.ui`: dialogs and notices of the host application, as in pi's RPC mode. */
import { asText, text } from "./shapes.mjs";
import { plainTheme } from "./theme.mjs";

/** The open dialogs, and the object `ctx.ui`. */
export class UserInterface {
  #host;
  #lastId = 0;
  #open = new Map();
  #depth = 0;
  #outermost;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * Resolves a dialog by its response.
   * @param {{ id: string }} response
   */
  resolveDialog(response) {
    this.#open.get(response.id)?.(response);
  }

  /** @returns {any} The object `ctx.ui`. */
  createUi() {
    const dialog = (kind, request, read, options) => this.#dialog(kind, request, read, options);
    const notice = (request) => this.#notice(request);
    const value = (response) => (response.cancelled ? undefined : response.value);
    const ui = {
      select: (title, options, dialogOptions) =>
        dialog("select", { method: "select", title: asText(title), options: Array.from(options ?? [], asText) }, value, dialogOptions),
      confirm: (title, message, dialogOptions) =>
        dialog("confirm", { method: "confirm", title: asText(title), message: asText(message) }, (it) => it.confirmed === true, dialogOptions),
      input: (title, placeholder, dialogOptions) =>
        dialog("input", { method: "input", title: asText(title), placeholder: text(placeholder) }, value, dialogOptions),
      editor: (title, prefill) => dialog("editor", { method: "editor", title: asText(title), prefill: text(prefill) }, value),
      notify: (message, notifyType) => notice({ method: "notify", message: asText(message), notifyType: text(notifyType) }),
      setStatus: (statusKey, statusText) => notice({ method: "setStatus", statusKey: asText(statusKey), statusText: text(statusText) }),
      setTitle: (title) => notice({ method: "setTitle", title: asText(title) }),
      setEditorText: (text) => notice({ method: "set_editor_text", text: asText(text) }),
      pasteToEditor: (text) => ui.setEditorText(text),
      setWidget: (widgetKey, content, options) => {
        // Components for a terminal cannot be sent.
        if (content !== undefined && !Array.isArray(content)) return;
        const widgetLines = content?.map(asText);
        notice({ method: "setWidget", widgetKey: asText(widgetKey), widgetLines, widgetPlacement: text(options?.placement) });
      },
    };
    const custom = async () => {
      // pi says nothing, and the extension waits for what a person cannot do.
      this.#host.reportErrorOnce("<runtime>", "ui_custom", "ctx.ui.custom() shows a component of a terminal; there is none, so it returns undefined. Use select, confirm, input or editor");
    };
    return Object.assign(ui, TERMINAL_STUBS, { custom });
  }

  #notice(request) {
    this.#host.act({ type: "ui", request: { type: "extension_ui_request", id: this.#nextId(), ...request } });
  }

  async #dialog(kind, request, read, options) {
    const { signal } = options ?? {};
    const timeout = Number.isFinite(options?.timeout) && options.timeout >= 0 ? Math.round(options.timeout) : undefined;
    const cancelled = { cancelled: true };
    if (signal?.aborted) return read(cancelled);
    this.#dialogOpened(kind, request.title);
    const id = this.#nextId();
    try {
      const response = await new Promise((resolve) => {
        this.#open.set(id, resolve);
        this.#host.act({ type: "ui", request: { type: "extension_ui_request", id, ...request, timeout } });
        signal?.addEventListener("abort", () => {
          this.#host.wire.send({ type: "ui_cancel", id });
          resolve(cancelled);
        }, { once: true });
      });
      return read(response);
    } finally {
      this.#open.delete(id);
      this.#dialogClosed();
    }
  }

  #nextId() {
    return `ui-${++this.#lastId}`;
  }

  #dialogOpened(kind, title) {
    if (this.#depth++ > 0) return;
    this.#outermost = { reason: "ui_prompt", kind, ...(title ? { title } : {}) };
    this.#host.emit({ type: "ui_prompt_start", ...this.#outermost });
  }

  #dialogClosed() {
    if (--this.#depth > 0) return;
    this.#host.emit({ type: "ui_prompt_end", ...this.#outermost });
  }
}

/** Methods that have no effect without a terminal, as in pi's RPC mode. */
const TERMINAL_STUBS = {
  onTerminalInput: () => () => {},
  setWorkingMessage: () => {},
  setWorkingVisible: () => {},
  setWorkingIndicator: () => {},
  setHiddenThinkingLabel: () => {},
  setFooter: () => {},
  setHeader: () => {},
  getEditorText: () => "",
  addAutocompleteProvider: () => {},
  setEditorComponent: () => {},
  getEditorComponent: () => undefined,
  theme: plainTheme,
  getAllThemes: () => [],
  getTheme: () => undefined,
  setTheme: () => ({ success: false, error: "Theme switching not supported in RPC mode" }),
  getToolsExpanded: () => false,
  setToolsExpanded: () => {},
};
