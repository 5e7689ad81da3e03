// The extension of `pi-rpc front --host-tools`: registers the tools of the host in pi, and passes their calls on to it. A call is a
// dialog whose title is NAME, which the front answers in place of a person; what the front wants comes as a slash command.
const NAME = "pi-rpc-host-tools";

export default function hostTools(pi) {
  /** Names of the tools of the host. */
  let named = [];
  /** The progress of each open call. */
  const updates = new Map();

  function register(tool) {
    pi.registerTool({
      name: tool.name,
      label: tool.label ?? tool.name,
      description: tool.description,
      parameters: tool.parameters,
      // Older versions have other orders of what follows the arguments.
      async execute(toolCallId, parameters, ...rest) {
        const signal = rest.find((it) => it instanceof AbortSignal);
        const context = rest.find((it) => it?.ui);
        updates.set(toolCallId, rest.find((it) => typeof it === "function"));
        try {
          const call = { toolCallId, toolName: tool.name, arguments: parameters };
          const answer = await context.ui.input(NAME, JSON.stringify(call), { signal });
          if (answer === undefined) throw new Error("The host has not answered");
          const { result, isError } = JSON.parse(answer);
          if (!isError) return { details: {}, ...result };
          throw new Error(result.content.map((block) => block.text ?? "").join("\n"));
        } finally {
          updates.delete(toolCallId);
        }
      },
    });
  }

  function replace(tools) {
    const others = pi.getAllTools().filter(({ name }) => !named.includes(name));
    const taken = tools.find((tool) => others.some(({ name }) => name === tool.name));
    if (taken) throw new Error(`Tool "${taken.name}" conflicts with existing`);
    const active = pi.getActiveTools().filter((name) => !named.includes(name));
    tools.forEach(register);
    named = tools.map(({ name }) => name);
    pi.setActiveTools([...active, ...named]);
  }

  pi.registerCommand(NAME, {
    description: "Of pi-rpc front",
    async handler(text, context) {
      const { tools, update, order } = JSON.parse(text);
      if (update) return updates.get(update.toolCallId)?.(update.partialResult);
      let told = {};
      try {
        replace(tools);
        told = { order, toolNames: named };
      } catch (error) {
        told = { order, error: error.message };
      }
      context.ui.notify(`${NAME} ${JSON.stringify(told)}`);
    },
  });
}
