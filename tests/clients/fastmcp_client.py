"""An agent's client, by fastmcp.

    fastmcp_client.py URL (legacy|modern)               the key is in ARCHWAY_TEST_KEY

`legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
Prints one JSON line with all it saw, waits for a line, calls once more over the same client and
prints a second one. What it calls, and what is made of the lines: tests/it/clients.rs.
"""

import json
import os
import sys

import anyio
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

# `auto` asks server/discover first and takes what the server offers.
MODES = {"legacy": "legacy", "modern": "auto"}


async def told(call) -> dict:
    """What a caller is told: a result, or what was raised in its place."""
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
    steps = []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append([progress, total])

    transport = StreamableHttpTransport(url, auth=os.environ["ARCHWAY_TEST_KEY"])
    async with Client(transport, mode=MODES[era], timeout=30) as client:
        call = client.call_tool
        everywhere = {"pattern": "ses.me", "project": "*"}
        saw = {
            "protocol_version": client.protocol_version,
            "tools": [tool.name for tool in await client.list_tools()],
            "hello": await told(call("hello", {})),
            "grep": await told(call("grep_codebase", {"pattern": "ses.me"})),
            "everywhere": await told(call("grep_codebase", everywhere, progress_handler=step)),
            "failure": await told(call("grep_codebase", {"pattern": "("})),
            "invalid": await told(call("grep_codebase", {"pattern": 7})),
            "unknown": await told(call("no_such_tool", {})),
        }
        print(json.dumps(saw | {"progress": steps}), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        print(json.dumps({"hello": await told(call("hello", {}))}), flush=True)


if __name__ == "__main__":
    anyio.run(look_around, *sys.argv[1:3])
