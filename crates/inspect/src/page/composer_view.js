// The message under the conversation: what is typed there becomes a prompt or, while a run is open, joins a queue.

import { send } from "./api.js";
import { announce } from "./announce.js";
import { byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {CommandState} from "./contract" */

/** Commands that carry a message, the first that starts a run; and what they are called while one is open. */
const CARRIERS = new Map([["prompt", "Prompt"], ["steer", "Steer"], ["follow_up", "Follow up"]]);

/** The command that ends a run. */
const STOP = "abort";

/** The field, and what the state makes of its text. */
export class ComposerView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.form = typedById("composer", HTMLFormElement);
    this.message = typedById("message", HTMLTextAreaElement);
    this.as = typedById("message-as", HTMLSelectElement);
    this.stop = typedById("message-stop", HTMLButtonElement);
    this.submit = typedById("message-send", HTMLButtonElement);
    this.count = 0;
    this.draw = onNextFrame(() => this.show());
    inspection.on(["session", "commands", "moment"], this.draw);
    this.as.addEventListener("change", this.draw);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.sendMessage();
    });
    this.message.addEventListener("keydown", (event) => {
      // An input method ends a word by Enter, too.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.sendMessage();
    });
    this.stop.addEventListener("click", () => void this.sendCommand({ type: STOP }));
  }

  /** The carriers that the state does not refuse: only the prompt where it starts a run. @returns {CommandState[]} */
  accepted() {
    const carriers = this.inspection.commands.filter((it) => CARRIERS.has(it.type));
    const starts = carriers.filter((it) => it.disposition === "run");
    return starts.length > 0 ? starts : carriers.filter((it) => it.allowed && it.disposition !== "depends");
  }

  /** The command that the message goes out as. */
  chosen() {
    const accepted = this.accepted();
    return accepted.find((it) => it.type === this.as.value) ?? accepted[0];
  }

  show() {
    const { inspection } = this;
    this.form.hidden = !(inspection.session?.sends ?? false);
    const accepted = this.accepted();
    const chosen = this.chosen();
    if (document.activeElement !== this.as)
      replace(this.as, ...accepted.map(({ type }) => element("option", { value: type, selected: type === chosen?.type }, CARRIERS.get(type) ?? type)));
    this.as.hidden = accepted.length < 2;
    const stops = inspection.commands.find((it) => it.type === STOP);
    this.stop.hidden = !stops?.allowed || stops.disposition === "noop";
    this.submit.disabled = chosen === undefined;
    // Before the first moment is read, nothing is known.
    const fate = chosen ? (chosen.why ?? "") : inspection.commands.length > 0 ? "No message is accepted in this state." : "";
    replace(byId("message-fate"), visiblePlainText(fate));
  }

  async sendMessage() {
    const message = this.message.value;
    const chosen = this.chosen();
    if (message.trim() === "" || !chosen) return;
    if (await this.sendCommand({ type: chosen.type, message })) this.message.value = "";
    this.message.focus();
  }

  /**
   * @param {{ type: string, message?: string }} command
   * @returns {Promise<boolean>} Whether it was sent.
   */
  async sendCommand(command) {
    this.count += 1;
    const id = `m${this.inspection.records + 1}-${this.count}`;
    try {
      await send("POST", "api/send", { line: JSON.stringify({ id, ...command }), force: false });
      return true;
    } catch (failure) {
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
      return false;
    }
  }
}
