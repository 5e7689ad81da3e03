/** What differs between the versions of pi's extension API. */

/**
 * @typedef {object} Features
 * @property {number} version The version, major and minor, as one number that grows.
 * @property {boolean} instances A session gets new instances of all extensions, and old ones are refused.
 * @property {boolean} cachedModules New instances are made by the same module, except on a reload.
 * @property {boolean} reasons `session_start`, `session_shutdown` and the like say why.
 * @property {boolean} numberedCommands Commands of the same name are numbered.
 * @property {boolean} replaceMessages Handlers of `message_end` may replace the message.
 * @property {boolean} modern What came after 0.73.
 */

/**
 * @param {string} [api] `0.52`, `0.58`, `0.73` or `1.5`.
 * @returns {Features}
 */
export function features(api = "1.5") {
  const [major, minor] = api.split(".").map(Number);
  const version = major * 1000 + minor;
  return {
    version,
    instances: version >= 69,
    cachedModules: version > 73,
    reasons: version >= 65,
    numberedCommands: version >= 62,
    replaceMessages: version >= 71,
    modern: version > 73,
  };
}

/** The hooks of the server that are there since a version of pi; all others always were. */
export const SINCE = {
  before_provider_request: 57,
  prepare_arguments: 64,
  after_provider_response: 67,
  thinking_level_select: 71,
  message_end: 71,
  before_provider_headers: 80,
  agent_before_settle: 84,
  provider_stream_event: 1005,
  cache_warming_decision: 1005,
  mcp_servers_change: 1005,
};
