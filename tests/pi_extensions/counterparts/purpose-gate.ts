// Keeps prompts back until the user has named an aim. The handler of `session_start` returns while the question is open,
// and the question comes again until it has an answer.
//
// Uses pi's API as `purpose-gate` of pi-vs-claude-code does; the code is our own.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { truncateToWidth } from "@earendil-works/pi-tui";

const KEY = "aim";

export default function gate(pi: ExtensionAPI) {
	let aim = "";

	async function settle({ ui }: ExtensionContext): Promise<void> {
		for (;;) {
			const given = (await ui.input("What is this session for?", "One sentence will do"))?.trim();
			if (given) {
				aim = given;
				break;
			}
			ui.notify("There is no work without an aim.", "warning");
		}
		// Drawn on a terminal; RPC mode has no use for it.
		ui.setWidget(KEY, (_tui, theme) => ({
			invalidate: () => {},
			render: (width: number) => [theme.fg("accent", truncateToWidth(`Aim: ${aim}`, width))],
		}));
		ui.setStatus(KEY, aim);
	}

	pi.on("session_start", async (_event, ctx) => {
		ctx.ui.setTheme("dark");
		ctx.ui.setTitle("gate");
		void settle(ctx);
	});

	pi.on("input", (_event, { ui }) => {
		if (aim) return { action: "continue" };
		ui.notify("Name the aim first.", "warning");
		return { action: "handled" };
	});

	pi.on("before_agent_start", ({ systemPrompt }) => {
		if (aim) return { systemPrompt: `${systemPrompt}\n\nThe aim of the session: ${aim}` };
	});
}
