// Lets other processes drive a session: a socket beside the sessions, one JSON object a line, and a tool that speaks to it.
//
// Uses pi's API as `control` of agent-stuff does; the code is our own. Its tools are there only when the flag stands on the
// command line, which the factory reads from `process.argv`: flags have no values yet when it is called.

import { complete, StringEnum } from "@earendil-works/pi-ai";
import {
	buildSessionContext,
	type ExtensionAPI,
	type ExtensionContext,
	getMarkdownTheme,
} from "@earendil-works/pi-coding-agent";
import { Box, Markdown, Text } from "@earendil-works/pi-tui";
import { mkdir, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { Type } from "typebox";

const FLAG = "remote";
const GREETING = "remote-greeting";
const FOLDER = join(homedir(), ".pi", "remote");
const ACTIONS = ["last", "summary", "say", "rewind", "name"] as const;

type Request = { action: string; text?: string; later?: boolean; untilTurn?: boolean };
type Reply = { ok: boolean; value?: unknown; error?: string };

const place = (session: string) => join(FOLDER, `${session}.sock`);
const textOf = (content: any) =>
	typeof content === "string" ? content : content.filter((it: any) => it.type === "text").map((it: any) => it.text).join("\n");

/** Sends one request, and gives the reply, or that and what comes when a turn has ended. */
function ask(path: string, request: Request): Promise<Reply[]> {
	return new Promise((resolve, reject) => {
		const replies: Reply[] = [];
		let rest = "";
		const socket = connect(path, () => socket.write(`${JSON.stringify(request)}\n`));
		socket.setTimeout(5000, () => socket.destroy(new Error("no reply in time")));
		socket.on("error", reject);
		socket.on("data", (piece) => {
			const lines = (rest + piece).split("\n");
			rest = lines.pop() ?? "";
			replies.push(...lines.map((line) => JSON.parse(line)));
			if (replies.length < (request.untilTurn ? 2 : 1)) return;
			socket.end();
			resolve(replies);
		});
	});
}

export default function remote(pi: ExtensionAPI) {
	let server: Server | undefined;
	let current: ExtensionContext | undefined;
	let timer: ReturnType<typeof setInterval> | undefined;
	let ticks = 0;
	let rewoundAt: number | undefined;
	const waiting = new Set<Socket>();

	pi.registerFlag(FLAG, { type: "boolean", description: "Listens on a socket" });
	pi.registerFlag(GREETING, { type: "string", default: "hello", description: "What /remote says" });
	pi.registerMessageRenderer("remote", (message, _options, theme) => {
		const box = new Box(1, 0, (text) => theme.bg("customMessageBg", text));
		box.addChild(new Text(theme.bold("remote"), 0, 0));
		box.addChild(new Markdown(textOf(message.content), 0, 0, getMarkdownTheme()));
		return box;
	});

	const branch = (ctx: ExtensionContext) =>
		ctx.sessionManager.getBranch().flatMap((entry) => (entry.type === "message" ? [entry.message as any] : []));

	async function summary(ctx: ExtensionContext): Promise<Reply> {
		const { modelRegistry } = ctx;
		const model = modelRegistry.find("mock", "second") ?? ctx.model;
		if (!model) return { ok: false, error: "no model" };
		const auth = await modelRegistry.getApiKeyAndHeaders(model);
		if (!auth.ok) return { ok: false, error: auth.error };
		const said = branch(ctx).filter(({ role }) => role === "user" || role === "assistant");
		const text = said.map(({ role, content }) => `${role}: ${textOf(content)}`).join("\n");
		const answer = await complete(
			model,
			{
				systemPrompt: "You sum up.",
				messages: [{ role: "user", content: [{ type: "text", text: `<conversation>${text}</conversation>` }], timestamp: Date.now() }],
			},
			{ apiKey: auth.apiKey, headers: auth.headers },
		);
		if (answer.stopReason !== "stop") return { ok: false, error: answer.stopReason };
		return { ok: true, value: { by: model.id, text: textOf(answer.content) } };
	}

	function say(ctx: ExtensionContext, { text, later }: Request): Reply {
		if (!text) return { ok: false, error: "nothing to say" };
		const idle = ctx.isIdle();
		const message = { customType: "remote", content: text, display: true };
		pi.sendMessage(message, idle ? { triggerTurn: true } : { triggerTurn: true, deliverAs: later ? "followUp" : "steer" });
		return { ok: true, value: idle ? "at once" : "queued" };
	}

	function rewind(ctx: ExtensionContext): Reply {
		if (!ctx.isIdle()) return { ok: false, error: "busy" };
		const root = ctx.sessionManager.getEntries().find((entry) => entry.parentId === null);
		if (!root) return { ok: false, error: "nothing there" };
		(ctx.sessionManager as any).branch(root.id);
		rewoundAt = Date.now();
		return { ok: true, value: ctx.sessionManager.getLeafId() === root.id };
	}

	async function serve(socket: Socket, request: Request): Promise<void> {
		const ctx = current;
		const write = (reply: Reply) => socket.write(`${JSON.stringify(reply)}\n`);
		if (!ctx) return void write({ ok: false, error: "no session" });
		if (request.untilTurn) waiting.add(socket);
		try {
			const actions: Record<string, () => Reply | Promise<Reply>> = {
				last: () => {
					const last = branch(ctx).findLast(({ role, content }) => role === "assistant" && textOf(content));
					return { ok: true, value: last ? textOf(last.content) : null };
				},
				summary: () => summary(ctx),
				say: () => say(ctx, request),
				rewind: () => rewind(ctx),
				name: () => ({ ok: true, value: ctx.sessionManager.getSessionName() ?? null }),
			};
			const act = actions[request.action];
			write(act ? await act() : { ok: false, error: `${request.action} is not known` });
		} catch (error) {
			write({ ok: false, error: (error as Error).message });
		}
	}

	async function listen(ctx: ExtensionContext): Promise<void> {
		await mkdir(FOLDER, { recursive: true });
		await close();
		current = ctx;
		server = createServer((socket) => {
			let rest = "";
			socket.on("error", () => {});
			socket.on("close", () => waiting.delete(socket));
			socket.on("data", (piece) => {
				const lines = (rest + piece).split("\n");
				rest = lines.pop() ?? "";
				for (const line of lines.filter(Boolean)) void serve(socket, JSON.parse(line));
			});
		});
		const path = place(ctx.sessionManager.getSessionId());
		await rm(path, { force: true });
		await new Promise<void>((resolve, reject) => server?.once("error", reject).listen(path, resolve));
		process.env.REMOTE_SESSION = ctx.sessionManager.getSessionId();
		// The name of a session may change behind our back.
		timer ??= setInterval(() => void (current && ticks++ && current.sessionManager.getSessionName()), 200);
		ctx.ui.setStatus("remote", ctx.ui.theme.fg("dim", `socket of ${ctx.sessionManager.getSessionId()}`));
	}

	async function close(): Promise<void> {
		if (!server) return;
		const gone = new Promise<void>((resolve) => server?.close(() => resolve()));
		for (const socket of waiting) socket.destroy();
		await gone;
		server = undefined;
	}

	if (pi.getFlag(FLAG) === true || process.argv.slice(2).includes(`--${FLAG}`)) {
		pi.registerTool({
			name: "remote",
			label: "Remote",
			description: "Speaks to the session that listens.",
			parameters: Type.Object({
				action: Type.Optional(StringEnum(ACTIONS, { description: "What to do", default: "last" })),
				text: Type.Optional(Type.String({ description: "What to say" })),
				later: Type.Optional(Type.Boolean({ description: "When the run has ended" })),
			}),
			async execute(_id, { action = "last", text, later }, _signal, onUpdate) {
				const [session] = (await readdir(FOLDER)).filter((name) => name.endsWith(".sock"));
				if (!session) return { content: [{ type: "text", text: "Nobody listens." }], details: { sessions: 0 } };
				onUpdate?.({ content: [{ type: "text", text: `Asks for ${action}` }], details: undefined });
				const [{ ok, value, error }] = await ask(join(FOLDER, session), { action, text, later });
				return { content: [{ type: "text", text: ok ? JSON.stringify(value) : `Failed: ${error}` }], details: { ok, value } };
			},
		});
	}

	pi.registerCommand("remote", {
		description: "Says what the socket says, or speaks to it",
		handler: async (args, ctx) => {
			if (pi.getFlag(FLAG) !== true) return ctx.ui.notify(`Not without --${FLAG}: ${pi.getFlag(GREETING)}`, "warning");
			const [action = "last", ...words] = args.split(" ").filter(Boolean);
			const path = place(ctx.sessionManager.getSessionId());
			const untilTurn = action === "say";
			const replies = await ask(path, { action, text: words.join(" ") || undefined, untilTurn });
			const content = `${pi.getFlag(GREETING)}: ${replies.map((reply) => JSON.stringify(reply)).join(", ")}`;
			pi.sendMessage({ customType: "remote", content, display: true }, { triggerTurn: false });
		},
	});

	pi.on("session_start", async (_event, ctx) => {
		rewoundAt = undefined;
		if (pi.getFlag(FLAG) === true) await listen(ctx);
		else ctx.ui.setStatus("remote", undefined);
	});

	pi.on("turn_end", (event, ctx) => {
		if (waiting.size === 0) return;
		const kept = buildSessionContext(ctx.sessionManager.getEntries(), ctx.sessionManager.getLeafId()).messages.length;
		for (const socket of waiting) socket.write(`${JSON.stringify({ ok: true, value: { turn: event.turnIndex, kept } })}\n`);
		waiting.clear();
	});

	pi.on("context", ({ messages }) => {
		const since = rewoundAt;
		if (since === undefined) return;
		return { messages: messages.filter((message, index) => index === 0 || message.role === "system" || message.timestamp >= since) };
	});

	pi.on("session_shutdown", async () => {
		clearInterval(timer);
		timer = undefined;
		current?.ui.setStatus("remote", undefined);
		delete process.env.REMOTE_SESSION;
		await close();
		current = undefined;
		await rm(FOLDER, { recursive: true, force: true });
	});
}
