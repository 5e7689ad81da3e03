/**
 * Stand-in for pi-ai. Models are the server's, and the server asks them. Logging in, models of images, and talking to providers without
 * the server are not there.
 */
import { bridge } from "./bridge.mjs";
import { getModel, getModels, getProviders, stream, streamSimple } from "./ai-models.mjs";
import { Type } from "./typebox.mjs";
import { Check, Convert, Errors } from "./typebox-value.mjs";

export * from "./ai-events.mjs";
export * from "./ai-json.mjs";
export * from "./ai-models.mjs";
export * from "./ai-transcript.mjs";
export { Type };
export { getModel as getBuiltinModel, getModels as getBuiltinModels, getProviders as getBuiltinProviders };

/** A string out of a list, as every provider understands it. */
export function StringEnum(values, { description, default: initial } = {}) {
  return Type.Unsafe({ type: "string", enum: values, ...(description ? { description } : {}), ...(initial ? { default: initial } : {}) });
}

export const getEnvApiKey = (provider) => bridge().query("api_key", { provider })?.key;

/** The arguments of a tool call, as its schema has them. */
export function validateToolArguments(tool, toolCall) {
  const value = Convert(tool.parameters, structuredClone(toolCall.arguments));
  if (Check(tool.parameters, value)) return value;
  const faults = Errors(tool.parameters, value).map(
    ({ path, message }) => `  - ${path.slice(1).replaceAll("/", ".") || "root"}: ${message}`,
  );
  throw new Error(`Invalid arguments for tool "${toolCall.name}":\n${faults.join("\n")}`);
}

export function validateToolCall(tools, toolCall) {
  const tool = tools.find(({ name }) => name === toolCall.name);
  if (!tool) throw new Error(`Tool "${toolCall.name}" not found`);
  return validateToolArguments(tool, toolCall);
}

const OVERFLOW = [
  /prompt is too long/i,
  /exceeds? the (?:context window|limit of|maximum)/i,
  /input is too long/i,
  /maximum context length/i,
  /context[_ ]length[_ ]exceeded/i,
  /too many tokens/i,
  /token limit exceeded/i,
  /reduce the length of the messages/i,
  /input token count.*exceeds/i,
  /context window (?:exceeds|exceeded)/i,
];
export const getOverflowPatterns = () => [...OVERFLOW];

/** Whether an answer says that the conversation was too long for the model, or was cut to fit it. */
export function isContextOverflow({ stopReason, errorMessage, usage }, contextWindow) {
  if (stopReason === "error" && errorMessage) return OVERFLOW.some((pattern) => pattern.test(errorMessage));
  return Boolean(contextWindow && stopReason === "stop" && usage.input + usage.cacheRead > contextWindow);
}

let lastTime = 0;
let count = 0;

/** An id that sorts by time, also within a millisecond. */
export function uuidv7(time = Date.now()) {
  count = time <= lastTime ? count + 1 : 0;
  lastTime = Math.max(time, lastTime);
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  const random = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const stamp = time.toString(16).padStart(12, "0");
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${(count & 0xfff).toString(16).padStart(3, "0")}-${(8 + (bytes[0] & 3)).toString(16)}${random.slice(0, 3)}-${random.slice(3, 15)}`;
}

/** An interface of pi-ai, spoken by the server. */
const api = () => ({ stream, streamSimple });
export {
  api as anthropicMessagesApi,
  api as azureOpenAIResponsesApi,
  api as bedrockConverseStreamApi,
  api as googleGenerativeAIApi,
  api as googleVertexApi,
  api as mistralConversationsApi,
  api as openAICodexResponsesApi,
  api as openAICompletionsApi,
  api as openAIResponsesApi,
  stream as streamAnthropic,
  stream as streamAzureOpenAIResponses,
  stream as streamGoogle,
  stream as streamGoogleVertex,
  stream as streamMistral,
  stream as streamOpenAICodexResponses,
  stream as streamOpenAICompletions,
  stream as streamOpenAIResponses,
  streamSimple as streamSimpleAnthropic,
  streamSimple as streamSimpleAzureOpenAIResponses,
  streamSimple as streamSimpleGoogle,
  streamSimple as streamSimpleGoogleVertex,
  streamSimple as streamSimpleMistral,
  streamSimple as streamSimpleOpenAICodexResponses,
  streamSimple as streamSimpleOpenAICompletions,
  streamSimple as streamSimpleOpenAIResponses,
};
