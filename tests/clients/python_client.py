"""An agent's client, by the official Python SDK.

    python_client.py URL (legacy|modern) [limited]      the key is in ARCHWAY_TEST_KEY

`legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
Prints all observations as one JSON line, waits for a line, calls once more with the same client and
prints a second line. `limited` exceeds its limits instead, and prints in one line what a caller sees of
that. tests/it/clients.rs states what it calls and checks the lines.
"""

import json
import os
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

# `auto` sends server/discover first and uses what the server offers.
MODES = {"legacy": "legacy", "modern": "auto"}
ADR = "architecture://adr/0001-use-postgres"


async def told(call) -> dict:
    """What a caller sees: a result, or the exception in its place."""
    try:
        result = await call
    except Exception as error:
        return {"raised": type(error).__name__, "text": str(error)}
    return {
        "is_error": bool(result.is_error),
        "structured": result.structured_content,
        "text": result.content[0].text if result.content else None,
        "meta": result.meta,
    }


async def look_around(url: str, era: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['ARCHWAY_TEST_KEY']}"}
    steps = []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append([progress, total])

    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=MODES[era], read_timeout_seconds=30) as client:
            call = client.call_tool
            tools = await client.list_tools()
            everywhere = {"pattern": "ses.me", "project": "*"}
            saw = {
                "protocol_version": client.protocol_version,
                "tools": [tool.name for tool in tools.tools],
                "hello": await told(call("hello", {})),
                "grep": await told(call("grep_codebase", {"pattern": "ses.me"})),
                "everywhere": await told(call("grep_codebase", everywhere, progress_callback=step)),
                "failure": await told(call("grep_codebase", {"pattern": "("})),
                "invalid": await told(call("grep_codebase", {"pattern": 7})),
                "unknown": await told(call("no_such_tool", {})),
            }
            saw |= {"progress": steps, "reads": await read_around(client)}
            print(json.dumps(saw), flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)
            print(json.dumps({"hello": await told(call("hello", {}))}), flush=True)


async def read_around(client: Client) -> dict:
    resources = await client.list_resources()
    templates = await client.list_resource_templates()
    read = await client.read_resource(ADR)
    prompts = await client.list_prompts()
    prompt = await client.get_prompt("greet", {"who": "Ada"})
    return {
        "resources": [resource.uri for resource in resources.resources],
        "templates": [template.uri_template for template in templates.resource_templates],
        "read": read.contents[0].text,
        "prompts": [prompt.name for prompt in prompts.prompts],
        "prompt": prompt.messages[0].content.text,
        "no_resource": await told_of(client.read_resource(ADR + "x")),
        "no_prompt": await told_of(client.get_prompt("greet", {})),
    }


async def go_over_limits(url: str, era: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['ARCHWAY_TEST_KEY']}"}
    saw = {}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=MODES[era], read_timeout_seconds=30) as client:
            await client.call_tool("hello", {})
            saw["call"] = await told(client.call_tool("hello", {}))
            # A call of an unknown tool costs a unit, and the client caches no answer to it.
            for _ in range(100):
                told_then = await told(client.call_tool("no_such_tool", {}))
                if "unknown tool" not in told_then["text"]:
                    saw["spent"] = told_then
                    break
            saw["list"] = await told_of(client.list_tools(cache_mode="bypass"))

        async def connect() -> None:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=MODES[era], read_timeout_seconds=30):
                pass

        saw["connect"] = await told_of(connect())
    print(json.dumps(saw), flush=True)


async def told_of(request) -> dict:
    """What a caller sees of a request that returns no tool result."""
    try:
        await request
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return {"raised": type(error).__name__, "text": str(error)}
    return {"raised": None}


if __name__ == "__main__":
    anyio.run(go_over_limits if sys.argv[3:] else look_around, *sys.argv[1:3])
