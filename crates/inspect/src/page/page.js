// Starts the page: reads what there is, creates the views, and follows what happens.

import { get } from "./api.js";
import { announce } from "./announce.js";
import { byId, typedById } from "./elements.js";
import { ChartView } from "./chart_view.js";
import { CommandsView } from "./commands_view.js";
import { ComposerView } from "./composer_view.js";
import { ConversationView } from "./conversation_view.js";
import { DialogsView } from "./dialogs_view.js";
import { FindingsView } from "./findings_view.js";
import { FrameDetail } from "./frame_detail.js";
import { FramesView } from "./frames_view.js";
import { HeaderView } from "./header_view.js";
import { Inspection } from "./inspection.js";
import { Live } from "./live.js";
import { ReportView } from "./report_view.js";
import { ScriptsView } from "./scripts_view.js";
import { Scrubber } from "./scrubber.js";
import { TimingView } from "./timing_view.js";
import { Views } from "./views.js";

/** @import {FromServer, Session} from "./contract" */

const inspection = new Inspection();
const conversation = new ConversationView(inspection);
const scrubber = new Scrubber(inspection);
const views = new Views({
  "[": () => void scrubber.step(-1),
  "]": () => void scrubber.step(1),
  "{": () => typedById("change-back", HTMLButtonElement).click(),
  "}": () => typedById("change-on", HTMLButtonElement).click(),
  ".": () => typedById("finding-on", HTMLButtonElement).click(),
  "0": () => typedById("to-now", HTMLButtonElement).click(),
  d: () => byId("dialogs-waiting").click(),
  c: () => detail.toConversation(),
  e: () => byId("frame-detail").focus(),
});
const detail = new FrameDetail(inspection, (item) => {
  views.show("conversation");
  void conversation.showItem(item);
});
new ComposerView(inspection);
new HeaderView(inspection);
new FramesView(inspection);
new ChartView(inspection);
new ScriptsView(inspection, new CommandsView(inspection));
new DialogsView(inspection);
new FindingsView(inspection);
new TimingView(inspection);
new ReportView(inspection);
inspection.on(["selected"], () => {
  if (!["frames", "scrubber"].includes(inspection.selectedBy)) views.show("frames");
});

addEventListener("unhandledrejection", (event) => {
  announce(event.reason instanceof Error ? event.reason.message : String(event.reason), "bad");
});

/** @param {FromServer} message */
function take(message) {
  switch (message.type) {
    case "session":
      void takeSession(message.session);
      break;
    case "update":
      inspection.update(message);
      break;
    case "reset":
      void reset();
      break;
    case "scripts":
      inspection.scripts = message.scripts;
      inspection.emit("scripts");
      break;
  }
}

/** @param {Session} session */
async function takeSession(session) {
  const isOther = session.dialect !== inspection.protocol?.dialect;
  inspection.setSession(session);
  if (isOther) await inspection.loadProtocol();
}

/** Reads everything again: another dialect or another session. */
async function reset() {
  inspection.setSession(await get("api/session"));
  inspection.moment = undefined;
  inspection.selected = 0;
  await inspection.loadProtocol();
  inspection.emit("reset");
  await inspection.loadNow();
}

await takeSession(await get("api/session"));
await inspection.loadNow();
await conversation.loadEnd();
// What a recording is looked at for.
if (inspection.session?.source.kind === "file" && (views.isWide || inspection.totals?.findings)) views.show("findings");
document.body.dataset["ready"] = "1";
new Live(take, (isConnected) => {
  inspection.isConnected = isConnected;
  inspection.emit("connection");
}).connect();
