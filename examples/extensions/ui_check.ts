// Calls everything that a user interface has to answer or to show: to try a host out.
//
//     pi-rpc serve -e examples/extensions/ui_check.ts
//
// It does what ui_check.py beside it does, with the extension API of pi.

import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";

/** Shows a value as JavaScript writes it. */
function tell(ctx: ExtensionContext, what: string, value: unknown) {
	ctx.ui.notify(`${what}=${value === undefined ? "undefined" : JSON.stringify(value)}`, "info");
}

export default function (pi: ExtensionAPI) {
	pi.registerCommand("dlg", {
		description: "dialogs",
		handler: async (args, ctx) => {
			const [kind = "", milliseconds] = args.trim().split(/\s+/);
			const options = milliseconds ? { timeout: Number(milliseconds) } : undefined;
			const dialogs: Record<string, () => Promise<unknown>> = {
				select: () => ctx.ui.select("Pick one", ["alpha", "beta"], options),
				confirm: () => ctx.ui.confirm("Sure?", "Really do it?", options),
				input: () => ctx.ui.input("Name?", "type here", options),
				editor: () => ctx.ui.editor("Edit", "line1\nline2"),
			};
			tell(ctx, kind, await (dialogs[kind]?.() ?? `no kind: ${args.trim()}`));
		},
	});

	pi.registerCommand("fire", {
		description: "fire and forget",
		handler: async (_args, ctx) => {
			const { ui } = ctx;
			ui.notify("plain");
			ui.notify("w", "warning");
			ui.notify("e", "error");
			ui.setStatus("k", "busy");
			ui.setStatus("k", undefined);
			ui.setWidget("wid", ["l1", "l2"]);
			ui.setWidget("wid", ["b"], { placement: "belowEditor" });
			ui.setWidget("wid", undefined);
			ui.setTitle("the title");
			ui.setEditorText("draft");
			// What nobody can answer over a pipe.
			tell(ctx, "getEditorText", ui.getEditorText());
			tell(ctx, "hasUI", ctx.hasUI);
			tell(ctx, "custom", await ui.custom(() => ({ render: () => [], invalidate: () => {} })));
		},
	});

	pi.registerCommand("boom", {
		description: "throws",
		handler: async () => {
			throw new Error("boom happened");
		},
	});

	pi.registerCommand("usermsg", {
		description: "sends a user message",
		handler: async () => pi.sendUserMessage("from the extension"),
	});

	pi.registerCommand("bye", { description: "asks for shutdown", handler: async (_args, ctx) => ctx.shutdown() });

	pi.registerTool({
		name: "asker",
		label: "Asker",
		description: "asks the user",
		parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] } as any,
		async execute(_id: string, params: any, ...rest: any[]) {
			// Its place among the arguments has changed from version to version.
			const ctx = rest.find((it): it is ExtensionContext => Boolean(it?.ui));
			const ok = await ctx!.ui.confirm("Tool asks", params.q);
			return { content: [{ type: "text", text: `user said ${ok}` }], details: { ok } };
		},
	});

	pi.on("tool_call", async (event) => {
		if (event.toolName === "bash" && String(event.input.command).includes("forbidden"))
			return { block: true, reason: "blocked by test extension" };
	});

	pi.on("input", async (event) => {
		if (event.text.startsWith("!!boom")) throw new Error("input handler boom");
	});
}
