// Keeps the live part of a page as the server has it, and leaves the rest of the page alone. Elements stay where they
// are, so what has the focus, is open or is scrolled stays so. Without this script a page is as the server wrote it.
"use strict";

const region = document.getElementById("live");
const state = document.getElementById("live-state");
const RETRY_MS = 30000;
const SILENCE_MS = 20000;
let source = null;
let timer = 0;

function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

function later(wait, what) {
  clearTimeout(timer);
  timer = setTimeout(what, wait);
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function open() {
  close();
  // A page that nobody sees takes no stream from one that somebody does.
  if (document.hidden) return;
  source = new EventSource(region.dataset.from);
  const silent = () => say("not live: no answer");
  later(SILENCE_MS, silent);
  source.onmessage = (event) => {
    const next = document.createElement("template");
    next.innerHTML = event.data;
    children(region, next.content);
    say("live");
    later(SILENCE_MS, silent);
  };
  source.addEventListener("alive", () => {
    say("live");
    later(SILENCE_MS, silent);
  });
  source.onerror = () => {
    // It connects again by itself, unless the server refused it.
    if (source.readyState !== EventSource.CLOSED) return;
    say("not live: reload the page");
    later(RETRY_MS, open);
  };
}

const key = (node) => node.dataset?.key;

// Makes the children of an element those of another.
function children(own, next) {
  const wanted = new Set([...next.children].map(key));
  const kept = new Map();
  for (const child of [...own.children]) {
    if (key(child) === undefined) continue;
    if (wanted.has(key(child))) kept.set(key(child), child);
    else child.remove();
  }
  let at = own.firstChild;
  for (const child of [...next.childNodes]) {
    const name = key(child);
    const isAlike = at && at.nodeName === child.nodeName && key(at) === undefined;
    const found = name === undefined ? (isAlike ? at : undefined) : kept.get(name);
    if (!found) {
      own.insertBefore(child, at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else own.insertBefore(found, at);
    update(found, child);
  }
  while (at) {
    const over = at;
    at = at.nextSibling;
    over.remove();
  }
}

function update(own, next) {
  if (own.nodeType !== Node.ELEMENT_NODE) {
    if (own.data !== next.data) own.data = next.data;
    return;
  }
  for (const { name } of [...own.attributes]) {
    if (!next.hasAttribute(name) && name !== "open") own.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (own.getAttribute(name) !== value) own.setAttribute(name, value);
  }
  children(own, next);
}

document.addEventListener("visibilitychange", open);
open();
