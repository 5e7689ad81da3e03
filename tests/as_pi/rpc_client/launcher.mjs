// Stands where the client expects pi's own program: it runs ours in its place.
import { spawn } from "node:child_process";

const server = spawn(process.env.PI_RPC_BIN, process.argv.slice(2), { stdio: "inherit" });
process.on("SIGTERM", () => server.kill("SIGTERM"));
server.on("exit", (code) => process.exit(code ?? 1));
