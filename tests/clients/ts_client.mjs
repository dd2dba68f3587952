// An agent's client, by the official TypeScript SDK.
//
//     ts_client.mjs URL (legacy|modern)                 the key is in ARCHWAY_TEST_KEY
//
// `legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
// Prints one JSON line with all it saw, waits for a line, calls once more over the same client and
// prints a second one. What it calls, and what is made of the lines: tests/it/clients.rs.
// The SDK stands outside the clone, in the folder ARCHWAY_TEST_NODE_CLIENT.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";

const require = createRequire(join(process.env.ARCHWAY_TEST_NODE_CLIENT, "index.js"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const [url, era] = process.argv.slice(2);
// `auto` asks server/discover first and takes what the server offers.
const modes = { legacy: "legacy", modern: "auto" };

// What a caller is told: a result, or what was thrown in its place.
async function told(name, args, options) {
  let result;
  try {
    result = await client.callTool({ name, arguments: args }, options);
  } catch (error) {
    return { raised: error.constructor.name, text: error.message };
  }
  return {
    is_error: result.isError ?? false,
    structured: result.structuredContent ?? null,
    text: result.content[0]?.text ?? null,
    meta: result._meta ?? null,
  };
}

const client = new Client(
  { name: "archway-tests", version: "1.0.0" },
  { versionNegotiation: { mode: modes[era] } },
);
const headers = { Authorization: `Bearer ${process.env.ARCHWAY_TEST_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools();
const progress = [];
const onprogress = (step) => progress.push([step.progress, step.total ?? null]);
console.log(
  JSON.stringify({
    protocol_version: client.getNegotiatedProtocolVersion(),
    tools: tools.map((tool) => tool.name),
    hello: await told("hello", {}),
    grep: await told("grep_codebase", { pattern: "ses.me" }),
    everywhere: await told("grep_codebase", { pattern: "ses.me", project: "*" }, { onprogress }),
    failure: await told("grep_codebase", { pattern: "(" }),
    invalid: await told("grep_codebase", { pattern: 7 }),
    unknown: await told("no_such_tool", {}),
    progress,
  }),
);
const lines = createInterface({ input: process.stdin });
await lines[Symbol.asyncIterator]().next();
lines.close();
console.log(JSON.stringify({ hello: await told("hello", {}) }));
await client.close();
