/** `pi`, the argument of the factory of an extension. */
import { within } from "./scope.mjs";
import { typeName } from "./shapes.mjs";

/** Methods that register renderers, which are never called: there is no terminal. */
const RENDERERS = [
  "registerMessageRenderer",
  "registerEntryRenderer",
  "registerMarkdownTransformer",
  "registerToolRenderer",
];

/**
 * @param {import("./host.mjs").Host} host
 * @param {import("./generation.mjs").Generation} generation
 * @param {import("./member.mjs").Member} member
 */
export function createApi(host, generation, member) {
  const api = {
    ...registrationApi(host, generation, member),
    ...actionApi(host, generation),
    ...queryApi(host, generation),
    ...providerApi(host, generation, member),
    exec: async (command, args, options) => {
      generation.assertActive();
      const { exec } = await import("./exec.mjs");
      return exec(command, args, { cwd: host.cwd, ...options, signalStatus: host.features.modern });
    },
    events: {
      emit: (channel, data) => {
        generation.assertActive();
        host.bus.emit(channel, data);
      },
      on: (channel, handler) => {
        generation.assertActive();
        const listener = (data) => within({ path: member.path }, () => handler(data));
        const failed = (error) => {
          if (host.features.modern) host.reportError(member.path, `events:${channel}`, error);
          else console.error(`pi.events: a listener of ${channel} failed:`, error);
        };
        return generation.onStale(host.bus.on(channel, listener, failed));
      },
      clear: () => host.bus.clear(),
    },
  };
  for (const name of RENDERERS) api[name] = () => generation.assertActive();
  return api;
}

function registrationApi(host, generation, member) {
  const { features } = host;
  return {
    on: (event, handler) => {
      generation.assertActive();
      const off = member.on(event, handler);
      generation.changed();
      return () => {
        off();
        generation.changed();
      };
    },
    registerTool: (tool) => {
      generation.assertActive();
      if (features.modern && (typeof tool.parameters !== "object" || tool.parameters === null || Array.isArray(tool.parameters))) {
        throw new Error(`tool ${tool.name}: parameters: expected an object, got ${typeName(tool.parameters)}`);
      }
      member.tools.set(tool.name, tool);
      generation.changed();
    },
    registerCommand: (name, options) => {
      generation.assertActive();
      if (features.modern && (typeof name !== "string" || name === "")) {
        throw new Error(`registerCommand: name: expected a string that is not empty, got ${JSON.stringify(name)}`);
      }
      if (features.modern && typeof options?.handler !== "function") {
        throw new Error(`command /${name}: handler: expected a function, got ${typeName(options?.handler)}`);
      }
      member.commands.set(name, options);
      generation.changed();
    },
    registerShortcut: (shortcut, options) => {
      generation.assertActive();
      member.shortcuts.set(shortcut, options);
      generation.changed();
    },
    registerFlag: (name, options) => {
      generation.assertActive();
      member.flags.set(name, options);
      if (options?.default !== undefined && !generation.flagValues.has(name)) {
        generation.flagValues.set(name, options.default);
      }
      generation.changed();
    },
    getFlag: (name) => {
      generation.assertActive();
      return member.flags.has(name) ? generation.flagValues.get(name) : undefined;
    },
  };
}

function actionApi(host, generation) {
  const started = (act) => (...args) => {
    generation.assertStarted();
    return act(...args);
  };
  // pi returns nothing here, so a failure is reported as an error of the runtime.
  const requestUnawaited = (event, frame) => {
    host.request(frame).catch((error) => host.reportError("<runtime>", event, error));
  };
  return {
    sendMessage: started((message, options) => requestUnawaited("send_message", messageFrame(message, options))),
    sendUserMessage: started((content, options) => requestUnawaited("send_user_message", userFrame(content, options))),
    appendEntry: started((customType, data) => host.act({ type: "append_entry", customType, data })),
    setSessionName: started((name) => host.act({ type: "set_session_name", name })),
    setLabel: started((entryId, label) => {
      if (!host.session.getEntry(entryId)) throw new Error(`Entry ${entryId} not found`);
      host.act({ type: "set_label", entryId, label: label || undefined });
    }),
    setActiveTools: started((names) => host.act({ type: "set_active_tools", names: [...names] })),
    setThinkingLevel: started((level) => host.act({ type: "set_thinking_level", level })),
    setModel: async (model) => {
      generation.assertStarted();
      if (!host.models.hasConfiguredAuth(model)) return false;
      await host.request({ type: "set_model", provider: model.provider, modelId: model.id });
      return true;
    },
  };
}

/**
 * @param {any} message
 * @param {any} [options]
 */
export function messageFrame({ customType, content, display, details }, options) {
  return {
    type: "send_message",
    message: { customType, content, display, details },
    deliverAs: options?.deliverAs,
    triggerTurn: options?.triggerTurn,
  };
}

/**
 * @param {string | any[]} content
 * @param {any} [options]
 */
export function userFrame(content, options) {
  return { type: "send_user_message", content, deliverAs: options?.deliverAs };
}

function queryApi(host, generation) {
  const started = (read) => () => {
    generation.assertStarted();
    return read();
  };
  return {
    getSessionName: started(() => host.state().sessionName),
    getActiveTools: started(() => host.state().activeTools),
    getAllTools: started(() => host.serving.toolsAsPi(host, generation)),
    getCommands: started(() => host.query("commands").commands),
    getThinkingLevel: started(() => host.state().thinkingLevel ?? "off"),
    getSettings: started(() => host.query("settings")),
  };
}

function providerApi(host, generation, member) {
  const { providers, virtualModels, servers } = host;
  return {
    registerProvider: (provider, config) => {
      generation.assertActive();
      generation.runWhenStarted(member, () => providers.register(provider, config, member.path));
    },
    unregisterProvider: (name) => {
      generation.assertActive();
      generation.runWhenStarted(member, () => providers.unregister(name));
    },
    registerMcpServer: (name, config) => {
      generation.assertActive();
      if (typeof name !== "string" || !/^[A-Za-z0-9_-]+$/.test(name)) {
        throw new Error(`invalid server name ${JSON.stringify(name)} (use letters, digits, "_" and "-")`);
      }
      if (typeof config !== "object" || config === null) throw new Error(`server "${name}" must be an object`);
      const other = servers.get(name);
      if (other !== undefined && other.extensionPath !== member.path) {
        throw new Error(`MCP server "${name}" is already registered by ${other.extensionPath}`);
      }
      const namespace = (server) => server.replaceAll("-", "_");
      const same = [...servers.keys()].find((it) => it !== name && namespace(it) === namespace(name));
      if (same !== undefined) throw new Error(`MCP server "${name}": the tools of "${same}" have the same names`);
      servers.set(name, { name, config: structuredClone(config), extensionPath: member.path });
      generation.changed();
      if (generation.active) host.reportUnconnectedServers();
    },
    unregisterMcpServer: (name) => {
      generation.assertActive();
      if (servers.get(name)?.extensionPath !== member.path) return;
      servers.delete(name);
      generation.changed();
    },
    getMcpServers: () => {
      generation.assertActive();
      return structuredClone([...servers.values()]);
    },
    registerVirtualModel: (model) => {
      generation.assertActive();
      generation.runWhenStarted(member, () => virtualModels.register(model, generation, member));
    },
    unregisterVirtualModel: (provider, id) => {
      generation.assertActive();
      generation.runWhenStarted(member, () => virtualModels.unregister(provider, id));
    },
  };
}
