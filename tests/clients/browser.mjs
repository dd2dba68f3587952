// Drives a real Chromium by its own protocol, for what --dump-dom and --screenshot cannot do.
//
//     browser.mjs CHROMIUM PROFILE       a folder for its profile
//
// Reads commands as lines of JSON and prints an answer to each, as a line of JSON:
//
//     {"open": URL, "width": 360, "height": 800, "dark": true}   loads a page; answers once it is loaded
//     {"run": SCRIPT}                                            evaluates an expression in the page; answers its value
//     {"follow": SELECTOR}                                       clicks on an element; answers once the next page is loaded
//     {"press": "Tab"}                                           presses a key; answers null
//     {"type": "text"}                                           types a text; answers null
//     {"picture": FILE}                                          takes a picture of the whole page; answers null
//
// Ends with its standard input.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";

const [chromium, profile] = process.argv.slice(2);
const flags = ["headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"];
flags.push("disable-background-networking", "hide-scrollbars", "remote-debugging-pipe");
flags.push(`user-data-dir=${profile}`);
// Its protocol is spoken over descriptors 3 and 4. It ends with them, so also when this program is killed.
const options = { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] };
const child = spawn(chromium, [...flags.map((flag) => `--${flag}`), "about:blank"], options);
let told = "";
child.stderr.on("data", (part) => (told += part));
child.on("exit", () => {
  console.error(`the browser ended: ${told}`);
  process.exit(1);
});
const [, , , commands, events] = child.stdio;

const waiting = new Map();
let loaded = () => {};
let last = 0;
let sessionId;
let partial = "";
events.setEncoding("utf8").on("data", (part) => {
  const messages = (partial + part).split("\0");
  partial = messages.pop();
  messages.forEach(hear);
});

function hear(message) {
  const { id, result, error, method } = JSON.parse(message);
  if (method === "Page.loadEventFired") loaded();
  const { resolve, reject } = waiting.get(id) ?? {};
  waiting.delete(id);
  if (error) reject?.(new Error(error.message));
  else resolve?.(result);
}

function ask(method, params = {}) {
  last += 1;
  commands.write(`${JSON.stringify({ id: last, sessionId, method, params })}\0`);
  return new Promise((resolve, reject) => waiting.set(last, { resolve, reject }));
}

const { targetInfos } = await ask("Target.getTargets");
const { targetId } = targetInfos.find(({ type }) => type === "page");
({ sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true }));
await ask("Page.enable");

const keys = { Tab: 9, Enter: 13 };

async function evaluated(script) {
  const asked = { expression: script, returnByValue: true, awaitPromise: true };
  const { result, exceptionDetails } = await ask("Runtime.evaluate", asked);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? "thrown");
  return result.value ?? null;
}

async function done({ open, width, height, dark, follow, run, press, type, picture }) {
  if (open !== undefined) {
    const size = { width, height, deviceScaleFactor: 1, mobile: false };
    await ask("Emulation.setDeviceMetricsOverride", size);
    const scheme = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
    const still = { name: "prefers-reduced-motion", value: "reduce" };
    await ask("Emulation.setEmulatedMedia", { features: [scheme, still] });
    const complete = new Promise((resolve) => (loaded = resolve));
    await ask("Page.navigate", { url: open });
    await complete;
  } else if (run !== undefined) {
    return await evaluated(run);
  } else if (follow !== undefined) {
    const complete = new Promise((resolve) => (loaded = resolve));
    await evaluated(`document.querySelector(${JSON.stringify(follow)}).click()`);
    await complete;
  } else if (press !== undefined) {
    const pressed = { key: press, code: press, windowsVirtualKeyCode: keys[press] };
    await ask("Input.dispatchKeyEvent", { type: "rawKeyDown", ...pressed });
    await ask("Input.dispatchKeyEvent", { type: "keyUp", ...pressed });
  } else if (type !== undefined) {
    await ask("Input.insertText", { text: type });
  } else if (picture !== undefined) {
    const taken = await ask("Page.captureScreenshot", { captureBeyondViewport: true });
    writeFileSync(picture, Buffer.from(taken.data, "base64"));
  }
  return null;
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify({ value: await done(JSON.parse(line)) }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
process.exit(0);
