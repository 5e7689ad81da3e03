// Asks wherever its handlers have returned: by a timer of `session_start`, a promise of a command, a timer of `agent_end`; one
// question is open while its handler returns. An answer is shown.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

const WAIT = 20;

export default function late(pi: ExtensionAPI) {
	const later = (work: () => Promise<void>) => void setTimeout(() => void work(), WAIT);

	async function ask({ ui }: ExtensionContext, of: string): Promise<void> {
		const chosen = await ui.select(`${of}-which`, ["one", "two"]);
		const sure = await ui.confirm(`${of}-sure`, "again");
		const typed = await ui.input(`${of}-what`);
		const written = await ui.editor(`${of}-text`, "Dear");
		ui.notify(`${of}:${chosen}:${sure}:${typed}:${written === undefined}`, "info");
	}

	pi.on("session_start", (event, ctx) => {
		if (event.reason === "startup") later(() => ask(ctx, "start"));
	});

	// Questions of two at once would come in no certain order.
	let asked = false;
	pi.on("agent_end", (_event, ctx) => {
		if (!asked) later(() => ask(ctx, "run"));
		asked = false;
	});

	pi.registerCommand("late", {
		handler: async (args, ctx) => {
			if (args === "open") void ask(ctx, "open");
			else void Promise.resolve().then(() => ask(ctx, "promise"));
		},
	});

	pi.on("input", ({ text }, ctx) => {
		if (text !== "And") return;
		asked = true;
		void ask(ctx, "input");
	});
}
