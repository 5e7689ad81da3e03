/** Messages of a session: as models get them, as text, and how much they are. */
import { completeSimple } from "./ai-models.mjs";
import { contentText } from "./ai-transcript.mjs";
import { bridge } from "./bridge.mjs";

const COMPACTED = ["The conversation history before this point was compacted into the following summary:\n\n<summary>\n", "\n</summary>"];
const BRANCH = ["The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "</summary>"];

/** Messages as models understand them: what is the agent's own becomes the user's. */
export function convertToLlm(messages) {
  return messages.flatMap((message) => {
    const says = (content) => [
      { role: "user", content: typeof content === "string" ? [{ type: "text", text: content }] : content, timestamp: message.timestamp },
    ];
    switch (message.role) {
      case "bashExecution":
        return message.excludeFromContext ? [] : says(bashText(message));
      case "custom":
        return says(message.content);
      case "branchSummary":
        return says(BRANCH[0] + message.summary + BRANCH[1]);
      case "compactionSummary":
        return says(COMPACTED[0] + message.summary + COMPACTED[1]);
      case "system":
      case "user":
      case "assistant":
      case "toolResult":
        return [message];
      default:
        return [];
    }
  });
}

function bashText({ command, output, cancelled, exitCode, truncated, fullOutputPath }) {
  const shown = output ? `\`\`\`\n${output}\n\`\`\`` : "(no output)";
  const ended = cancelled ? "\n\n(command cancelled)" : exitCode ? `\n\nCommand exited with code ${exitCode}` : "";
  return `Ran \`${command}\`\n${shown}${ended}${truncated && fullOutputPath ? `\n\n[Output truncated. Full output: ${fullOutputPath}]` : ""}`;
}

const LONGEST_RESULT = 2000;

/** A conversation as text, for a model that is to sum it up. */
export function serializeConversation(messages) {
  return messages
    .flatMap((message) => {
      if (message.role === "assistant") return ofAssistant(message.content);
      const text = ["user", "toolResult"].includes(message.role) ? contentText(message.content, "") : "";
      if (!text) return [];
      return message.role === "user" ? [`[User]: ${text}`] : [`[Tool result]: ${shortened(text)}`];
    })
    .join("\n\n");
}

function ofAssistant(content) {
  const of = (type) => content.filter((block) => block.type === type);
  const old = bridge().api !== "1.5";
  const calls = of("toolCall").map(
    ({ name, arguments: args }) =>
      `${name}(${Object.entries(args)
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .join(", ")})`,
  );
  return [
    ...(old && of("thinking").length > 0
      ? [
          `[Assistant thinking]: ${of("thinking")
            .map(({ thinking }) => thinking)
            .join("\n")}`,
        ]
      : []),
    ...(of("text").length > 0 ? [`[Assistant]: ${contentText(content)}`] : []),
    ...(calls.length > 0 ? [`[Assistant tool calls]: ${calls.join("; ")}`] : []),
  ];
}

function shortened(text) {
  if (text.length <= LONGEST_RESULT || bridge().api === "0.52") return text;
  return `${text.slice(0, LONGEST_RESULT)}\n\n[... ${text.length - LONGEST_RESULT} more characters truncated]`;
}

const IMAGE_CHARACTERS = 4800;

/** About how many tokens a message is: four characters each. */
export function estimateTokens(message) {
  return Math.ceil(charactersOf(message) / 4);
}

function charactersOf({ role, content, summary, command, output, sections, toolsAdded }) {
  switch (role) {
    case "bashExecution":
      return command.length + output.length;
    case "branchSummary":
    case "compactionSummary":
      return summary.length;
    case "system":
      return ofContent(content) + Object.values(sections ?? {}).join("").length + (toolsAdded ? JSON.stringify(toolsAdded).length : 0);
    case "user":
      return ofContent(content, bridge().api === "1.5" ? IMAGE_CHARACTERS : 0);
    case "custom":
    case "toolResult":
    case "assistant":
      return ofContent(content);
    default:
      return 0;
  }
}

function ofContent(content, ofImage = IMAGE_CHARACTERS) {
  if (typeof content === "string") return content.length;
  return content.reduce((sum, block) => {
    if (block.type === "toolCall") return sum + block.name.length + JSON.stringify(block.arguments).length;
    return sum + (block.type === "image" ? ofImage : (block.text ?? block.thinking ?? "").length);
  }, 0);
}

export const calculateContextTokens = (usage) => usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
export const shouldCompact = (tokens, contextWindow, { enabled, reserveTokens }) => enabled && tokens > contextWindow - reserveTokens;
export const getLatestCompactionEntry = (entries) => entries.findLast(({ type }) => type === "compaction") ?? null;

/** The usage of the last answer that was not cut off. */
export function getLastAssistantUsage(entries) {
  const whole = ({ type, message }) =>
    type === "message" && message.role === "assistant" && !["aborted", "error"].includes(message.stopReason) && message.usage;
  return entries.findLast(whole)?.message.usage;
}

/** A summary of messages, by a model. `apiKey` and headers do not count: the server has its own. */
export async function generateSummary(messages, model, reserveTokens, ...rest) {
  const signal = rest.find((one) => one instanceof AbortSignal);
  const [instructions, previous] = rest.slice(rest.indexOf(signal) + 1).filter((one) => one === undefined || typeof one === "string");
  const parts = [
    `<conversation>\n${serializeConversation(convertToLlm(messages))}\n</conversation>`,
    ...(previous ? [`<previous-summary>\n${previous}\n</previous-summary>`] : []),
    "Sum up this conversation, so that somebody can go on with the work: what is wanted, what was done and decided, what is left, and the files that matter.",
    ...(instructions ? [`Dwell on: ${instructions}`] : []),
  ];
  const context = {
    systemPrompt: "You sum up conversations. You do not go on with them.",
    messages: [{ role: "user", content: [{ type: "text", text: parts.join("\n\n") }], timestamp: Date.now() }],
  };
  const answer = await completeSimple(model, context, { signal, maxTokens: Math.floor(0.8 * reserveTokens) });
  if (answer.stopReason === "error" || answer.stopReason === "aborted")
    throw new Error(`Summarization failed: ${answer.errorMessage || answer.stopReason}`);
  return contentText(answer.content);
}

/** What a compaction comes to: what `session_before_compact` may return. */
export async function compact(preparation, model, ...rest) {
  const { firstKeptEntryId, messagesToSummarize, turnPrefixMessages = [], tokensBefore, previousSummary, fileOps, settings } = preparation;
  const signal = rest.find((one) => one instanceof AbortSignal);
  const instructions = rest
    .slice(0, signal ? rest.indexOf(signal) : rest.length)
    .findLast((one, index) => typeof one === "string" && index > 0);
  const reserve = settings?.reserveTokens ?? DEFAULT_COMPACTION_SETTINGS.reserveTokens;
  const summary = await generateSummary(
    [...messagesToSummarize, ...turnPrefixMessages],
    model,
    reserve,
    signal,
    instructions,
    previousSummary,
  );
  const modifiedFiles = [...new Set([...(fileOps?.edited ?? []), ...(fileOps?.written ?? [])])].sort();
  const readFiles = [...(fileOps?.read ?? [])].filter((file) => !modifiedFiles.includes(file)).sort();
  return { summary, firstKeptEntryId, tokensBefore, details: { readFiles, modifiedFiles } };
}
