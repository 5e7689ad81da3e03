// Runs the bundled page: `connect.mjs URL TOKEN`.
import { converse } from "./page.js";

console.log(await converse(process.argv[2], process.argv[3]));
