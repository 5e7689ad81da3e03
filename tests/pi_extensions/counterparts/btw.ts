// A conversation beside the conversation: a session of its own in memory, which begins with what was said so far, and whose
// questions and answers are kept as entries. Its overlay is drawn on terminals only.
//
// Uses pi's API as `btw` of agent-stuff does; the code is our own.

import {
	type AgentSession,
	buildSessionContext,
	createAgentSession,
	createExtensionRuntime,
	type ExtensionAPI,
	type ExtensionCommandContext,
	type ExtensionContext,
	getMarkdownTheme,
	type ResourceLoader,
	SessionManager,
} from "@earendil-works/pi-coding-agent";
import { Container, Markdown, Text } from "@earendil-works/pi-tui";

const [KEPT, FORGOTTEN] = ["aside", "aside-over"];
const ROLE = "You answer questions beside the main conversation, in short.";
const HAND_OVER = "You hand a conversation over: say what was found out.";

type Pair = { question: string; answer: string; at: number; model: string; level: string };

/** Nothing but the instructions of the main conversation, and what is added to them. */
function resources(ctx: ExtensionContext, more: string): ResourceLoader {
	const runtime = createExtensionRuntime();
	const main = ctx.getSystemPrompt().split("\n").filter((line) => !/^Current (date|working directory)/.test(line));
	return {
		getExtensions: () => ({ extensions: [], errors: [], runtime }),
		getSkills: () => ({ skills: [], diagnostics: [] }),
		getPrompts: () => ({ prompts: [], diagnostics: [] }),
		getThemes: () => ({ themes: [], diagnostics: [] }),
		getAgentsFiles: () => ({ agentsFiles: [] }),
		getSystemPrompt: () => main.join("\n").trim(),
		getSystemPromptSource: () => undefined,
		getAppendSystemPrompt: () => [more],
		getAppendSystemPromptSources: () => [],
		extendResources: () => {},
		reload: async () => {},
	};
}

function lastAnswer({ state }: AgentSession): string {
	const last: any = state.messages.findLast((message) => message.role === "assistant");
	if (!last) throw new Error("There was no answer.");
	if (last.stopReason !== "stop") throw new Error(last.errorMessage ?? last.stopReason);
	return last.content.filter((it: any) => it.type === "text").map((it: any) => it.text).join("\n").trim();
}

export default function aside(pi: ExtensionAPI) {
	let pairs: Pair[] = [];
	let seen: Record<string, number> = {};
	let side: { session: AgentSession; model: string; leave: () => void } | undefined;
	const theme = getMarkdownTheme();

	async function endSide(): Promise<void> {
		const ended = side;
		side = undefined;
		ended?.leave();
		await ended?.session.abort();
		ended?.session.dispose();
	}

	async function restore({ sessionManager }: ExtensionContext): Promise<void> {
		await endSide();
		pairs = [];
		for (const entry of sessionManager.getBranch()) {
			if (entry.type !== "custom") continue;
			if (entry.customType === FORGOTTEN) pairs = [];
			if (entry.customType === KEPT) pairs.push(entry.data as Pair);
		}
	}

	async function forget(): Promise<void> {
		pairs = [];
		await endSide();
		pi.appendEntry(FORGOTTEN, { at: Date.now() });
	}

	/** What the side conversation begins with. */
	function beginning({ sessionManager, model }: ExtensionContext): any[] {
		const main = buildSessionContext(sessionManager.getEntries(), sessionManager.getLeafId()).messages;
		const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
		const usage = { ...zero, totalTokens: 0, cost: { ...zero, total: 0 } };
		const text = (text: string) => [{ type: "text", text }];
		const more = pairs.flatMap(({ question, answer, at }) => [
			{ role: "user", content: text(question), timestamp: at },
			{ role: "assistant", content: text(answer), api: model?.api, provider: model?.provider, model: model?.id, usage, stopReason: "stop", timestamp: at },
		]);
		return [...main, ...more];
	}

	async function begin(ctx: ExtensionContext, more: string, tools: string[]): Promise<AgentSession> {
		const made = await createAgentSession({
			sessionManager: SessionManager.inMemory(),
			model: ctx.model,
			modelRegistry: ctx.modelRegistry as AgentSession["modelRegistry"],
			thinkingLevel: pi.getThinkingLevel(),
			tools,
			resourceLoader: resources(ctx, more),
		} as any);
		return made.session;
	}

	async function sideSession(ctx: ExtensionContext): Promise<AgentSession> {
		const model = `${ctx.model?.provider}/${ctx.model?.id}`;
		if (side?.model === model) return side.session;
		await endSide();
		const session = await begin(ctx, ROLE, ["read", "bash", "edit", "write"]);
		session.agent.state.messages = beginning(ctx);
		const leave = session.subscribe(({ type }) => void (seen[type] = (seen[type] ?? 0) + 1));
		side = { session, model, leave };
		return session;
	}

	function overlay(ctx: ExtensionContext): void {
		ctx.ui
			.custom<void>((_tui, _theme, _keys, done) => {
				const shown = new Container();
				shown.addChild(new Text("Aside", 0, 0));
				for (const { answer } of pairs) shown.addChild(new Markdown(answer, 0, 0, theme));
				return Object.assign(shown, { handleInput: () => done() });
			}, { overlay: true })
			.catch((error) => ctx.ui.notify(String(error), "error"));
	}

	async function question(ctx: ExtensionCommandContext, text: string): Promise<void> {
		const { model } = ctx;
		if (!model) return ctx.ui.notify("No model is chosen.", "error");
		const auth = await ctx.modelRegistry.getApiKeyAndHeaders(model);
		if (!auth.ok) return ctx.ui.notify(auth.error, "error");
		try {
			seen = {};
			const session = await sideSession(ctx);
			await session.prompt(text, { source: "extension" });
			const pair = { question: text, answer: lastAnswer(session), at: Date.now(), model: model.id, level: pi.getThinkingLevel() };
			pairs.push(pair);
			pi.appendEntry(KEPT, pair);
			const counted = ["agent_start", "turn_end", "tool_execution_start", "tool_execution_end", "agent_end"];
			ctx.ui.notify(`${pair.answer} (${counted.map((type) => seen[type] ?? 0).join(" ")})`, "info");
		} catch (error) {
			ctx.ui.notify((error as Error).message, "error");
		}
	}

	async function handOver(ctx: ExtensionCommandContext): Promise<void> {
		if (pairs.length === 0) return ctx.ui.notify("Nothing was asked beside.", "warning");
		const session = await begin(ctx, HAND_OVER, []);
		try {
			await session.prompt(pairs.map((it) => `${it.question}\n${it.answer}`).join("\n---\n"), { source: "extension" });
			const text = `From beside:\n\n${lastAnswer(session)}`;
			pi.sendUserMessage(text, ctx.isIdle() ? undefined : { deliverAs: "followUp" });
			await forget();
			ctx.ui.notify("It was handed over.", "info");
		} catch (error) {
			ctx.ui.notify((error as Error).message, "error");
		} finally {
			await session.abort();
			session.dispose();
		}
	}

	pi.registerCommand("btw", {
		description: "Asks beside the conversation",
		handler: async (args, ctx) => {
			const text = args.trim();
			if (text === "over") return handOver(ctx);
			if (!text && pairs.length > 0) {
				const choice = await ctx.ui.select("The conversation beside:", ["Go on", "Begin anew"]);
				if (choice === "Go on") await endSide();
				else if (choice) await forget();
			} else if (!text) await forget();
			if (ctx.hasUI) overlay(ctx);
			if (text) await question(ctx, text);
		},
	});

	pi.on("session_start", (_event, ctx) => restore(ctx));
	pi.on("session_tree", (_event, ctx) => restore(ctx));
	pi.on("session_shutdown", endSide);
}
