/**
 * Stand-in for pi-agent-core. It has no agents, as the server runs the agent loop; using an import of it throws an error.
 */
export {};
