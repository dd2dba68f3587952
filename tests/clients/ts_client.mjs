// An agent's client, by the official TypeScript SDK.
//
//     ts_client.mjs URL (legacy|modern) [limited]       the key is in ARCHWAY_TEST_KEY
//
// `legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
// Prints all observations as one JSON line, waits for a line, calls once more with the same client and
// prints a second line. `limited` exceeds its limits instead, and prints in one line what a caller sees of
// that. tests/it/clients.rs states what it calls and checks the lines.
// The SDK is outside the clone, in the folder ARCHWAY_TEST_NODE_CLIENT.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";

const require = createRequire(join(process.env.ARCHWAY_TEST_NODE_CLIENT, "index.js"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const [url, era, limited] = process.argv.slice(2);
// `auto` sends server/discover first and uses what the server offers.
const modes = { legacy: "legacy", modern: "auto" };
const adr = "architecture://adr/0001-use-postgres";
const nothing = () => ({ raised: null });

// What a caller sees: a result, or the error thrown in its place.
async function told(client, name, args, options) {
  let result;
  try {
    result = await client.callTool({ name, arguments: args }, options);
  } catch (error) {
    return raised(error);
  }
  return {
    is_error: result.isError ?? false,
    structured: result.structuredContent ?? null,
    text: result.content[0]?.text ?? null,
    meta: result._meta ?? null,
  };
}

function raised(error) {
  return { raised: error.constructor.name, text: error.message };
}

async function connected() {
  const client = new Client(
    { name: "archway-tests", version: "1.0.0" },
    { versionNegotiation: { mode: modes[era] } },
  );
  const headers = { Authorization: `Bearer ${process.env.ARCHWAY_TEST_KEY}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

async function lookAround() {
  const client = await connected();
  const { tools } = await client.listTools();
  const progress = [];
  const onprogress = (step) => progress.push([step.progress, step.total ?? null]);
  const everywhere = { pattern: "ses.me", project: "*" };
  console.log(
    JSON.stringify({
      protocol_version: client.getNegotiatedProtocolVersion(),
      tools: tools.map((tool) => tool.name),
      hello: await told(client, "hello", {}),
      grep: await told(client, "grep_codebase", { pattern: "ses.me" }),
      everywhere: await told(client, "grep_codebase", everywhere, { onprogress }),
      failure: await told(client, "grep_codebase", { pattern: "(" }),
      invalid: await told(client, "grep_codebase", { pattern: 7 }),
      unknown: await told(client, "no_such_tool", {}),
      progress,
      reads: await readAround(client),
    }),
  );
  const lines = createInterface({ input: process.stdin });
  await lines[Symbol.asyncIterator]().next();
  lines.close();
  console.log(JSON.stringify({ hello: await told(client, "hello", {}) }));
  await client.close();
}

async function readAround(client) {
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const { contents } = await client.readResource({ uri: adr });
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: "greet", arguments: { who: "Ada" } });
  return {
    resources: resources.map((resource) => resource.uri),
    templates: resourceTemplates.map((template) => template.uriTemplate),
    read: contents[0].text,
    prompts: prompts.map((prompt) => prompt.name),
    prompt: prompt.messages[0].content.text,
    no_resource: await client.readResource({ uri: `${adr}x` }).then(nothing, raised),
    no_prompt: await client.getPrompt({ name: "greet", arguments: {} }).then(nothing, raised),
  };
}

async function goOverLimits() {
  const client = await connected();
  await told(client, "hello", {});
  const saw = { call: await told(client, "hello", {}) };
  // A call of an unknown tool costs a unit, and the client caches no answer to it.
  for (let turn = 0; turn < 100 && !saw.spent; turn += 1) {
    const toldThen = await told(client, "no_such_tool", {});
    if (!toldThen.text.includes("unknown tool")) saw.spent = toldThen;
  }
  saw.list = await client.listTools(undefined, { cacheMode: "bypass" }).then(nothing, raised);
  saw.connect = await connected().then(nothing, raised);
  console.log(JSON.stringify(saw));
  await client.close();
}

await (limited ? goOverLimits() : lookAround());
