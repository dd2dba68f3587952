// An agent's client, by the official TypeScript SDK: lists the tools, calls hello and grep_codebase.
//
//     ts_client.mjs URL (legacy|modern) PATTERN         the key is in ARCHWAY_TEST_KEY
//
// `legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
// Prints one JSON line with what it saw; exits non-zero, with a stack, on any failure.
// The SDK stands outside the clone, in the folder ARCHWAY_TEST_NODE_CLIENT.

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.ARCHWAY_TEST_NODE_CLIENT, "index.js"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const [url, era, pattern] = process.argv.slice(2);
// `auto` asks server/discover first and takes what the server offers.
const modes = { legacy: "legacy", modern: "auto" };

function seen(result) {
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
const hello = await client.callTool({ name: "hello", arguments: {} });
const grep = await client.callTool({ name: "grep_codebase", arguments: { pattern } });
const refusal = await client.callTool({ name: "grep_codebase", arguments: { pattern: "(" } });
console.log(
  JSON.stringify({
    era,
    protocol_version: client.getNegotiatedProtocolVersion(),
    tools: tools.map((tool) => tool.name),
    hello: seen(hello),
    grep: seen(grep),
    refusal: seen(refusal),
  }),
);
await client.close();
