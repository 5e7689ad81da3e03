/** `ctx.ui`: what the host application is shown and asked, and what extensions get of its answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

/** A command that keeps what an expression in `ui` gives. */
const trying = (expression) => `
  export default function (pi) {
    pi.registerCommand("try", {
      handler: async (_, { ui }) => pi.appendEntry("got", [(await (${expression})) ?? "undefined"]),
    });
  }`;

async function tried(t, expression, answer) {
  const server = await started({ test: t, extensions: [trying(expression)] });
  const ended = server.ask({ type: "command", name: "try", arguments: "" });
  let request;
  if (answer !== undefined) {
    ({ request } = await server.hear("ui"));
    server.tell({ type: "ui_answer", response: { type: "extension_ui_response", id: request.id, ...answer } });
  }
  assert.deepEqual(await ended, { type: "done" });
  const shown = server.of("ui").map((frame) => frame.request);
  const bare = [request, ...shown].filter(Boolean).map(({ type, id, ...rest }) => rest);
  return { got: server.of("append_entry")[0].data[0], requests: bare };
}

const CANCELLED = { cancelled: true };

/** Each row: what is called; the answer, if there is one; what comes of it; what the host application is asked. */
const TABLE = [
  [`ui.select("T", ["a", "b"])`, { value: "b" }, "b", { method: "select", title: "T", options: ["a", "b"] }],
  [`ui.select("T", ["a"], { timeout: 5 })`, CANCELLED, "undefined", { method: "select", title: "T", options: ["a"], timeout: 5 }],
  [`ui.confirm("T", "M")`, { confirmed: true }, true, { method: "confirm", title: "T", message: "M" }],
  [`ui.confirm("T", "M")`, CANCELLED, false, { method: "confirm", title: "T", message: "M" }],
  [`ui.confirm("T", "M")`, { confirmed: false }, false, { method: "confirm", title: "T", message: "M" }],
  [`ui.input("T", "P")`, { value: "" }, "", { method: "input", title: "T", placeholder: "P" }],
  [`ui.editor("T", "P")`, { value: "x" }, "x", { method: "editor", title: "T", prefill: "P" }],
  [`ui.editor("T")`, CANCELLED, "undefined", { method: "editor", title: "T" }],
  [`ui.notify("N", "error")`, undefined, "undefined", { method: "notify", message: "N", notifyType: "error" }],
  [`ui.setStatus("k", "v")`, undefined, "undefined", { method: "setStatus", statusKey: "k", statusText: "v" }],
  [`ui.setStatus("k", undefined)`, undefined, "undefined", { method: "setStatus", statusKey: "k" }],
  [
    `ui.setWidget("k", ["l"], { placement: "belowEditor" })`,
    undefined,
    "undefined",
    { method: "setWidget", widgetKey: "k", widgetLines: ["l"], widgetPlacement: "belowEditor" },
  ],
  [`ui.setTitle("T")`, undefined, "undefined", { method: "setTitle", title: "T" }],
  [`ui.pasteToEditor("x")`, undefined, "undefined", { method: "set_editor_text", text: "x" }],
  [`ui.setWidget("k", () => ({}))`, undefined, "undefined"],
  [`ui.custom(() => ({}))`, undefined, "undefined"],
  [`ui.getEditorText()`, undefined, ""],
  [`ui.theme.fg("dim", ui.theme.bold("x"))`, undefined, "x"],
  [`ui.setTheme("dark").success`, undefined, false],
  [`ui.select("T", ["a"], { signal: AbortSignal.abort() })`, undefined, "undefined"],
];

for (const [expression, answer, got, request] of TABLE) {
  test(`${expression}${answer ? ` answered ${JSON.stringify(answer)}` : ""} gives ${JSON.stringify(got)}`, async (t) => {
    assert.deepEqual(await tried(t, expression, answer), { got, requests: request ? [request] : [] });
  });
}

test("a dialog whose signal is aborted is taken back", async (t) => {
  const expression = `(() => {
    const control = new AbortController();
    const answer = ui.confirm("T", "M", { signal: control.signal });
    control.abort();
    return answer;
  })()`;
  const server = await started({ test: t, extensions: [trying(expression)] });
  await server.ask({ type: "command", name: "try", arguments: "" });
  const [{ request }] = server.of("ui");
  assert.deepEqual(server.of("ui_cancel"), [{ type: "ui_cancel", id: request.id }]);
  assert.deepEqual(server.of("append_entry")[0].data, [false]);
});

test("whoever listens hears that a dialog is open, and that it is not any more", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        for (const event of ["ui_prompt_start", "ui_prompt_end"]) {
          pi.on(event, ({ type, kind, title }) => pi.appendEntry("heard", [type, kind, title]));
        }
        pi.on("session_tree", async (_, ctx) => void (await ctx.ui.confirm("T", "M")));
      },
    ],
  });
  const ended = server.hook({ type: "session_tree" });
  const { request, origin } = await server.hear("ui");
  assert.equal(origin, "r1");
  server.tell({ type: "ui_answer", response: { type: "extension_ui_response", id: request.id, confirmed: true } });
  await ended;
  assert.deepEqual((await server.hear("append_entry")).data, ["ui_prompt_start", "confirm", "T"]);
  assert.deepEqual((await server.hear("append_entry")).data, ["ui_prompt_end", "confirm", "T"]);
});
