/**
 * Stand-in for pi-agent-core: agents of an extension's own are not there, as their loop is the server's business. What is imported of it
 * says so when it is used.
 */
export {};
