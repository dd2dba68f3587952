"""An agent's client, by the official Python SDK: lists the tools, calls hello and grep_codebase.

    python_client.py URL (legacy|modern) PATTERN        the key is in ARCHWAY_TEST_KEY

`legacy` makes the initialize handshake; `modern` speaks 2026-07-28, found by server/discover.
Prints one JSON line with what it saw; exits non-zero, with a traceback, on any failure.
"""

import json
import os
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

# `auto` asks server/discover first and takes what the server offers.
MODES = {"legacy": "legacy", "modern": "auto"}


def seen(result):
    return {
        "is_error": bool(result.is_error),
        "structured": result.structured_content,
        "text": result.content[0].text if result.content else None,
        "meta": result.meta,
    }


async def look_around(url: str, era: str, pattern: str) -> dict:
    headers = {"Authorization": f"Bearer {os.environ['ARCHWAY_TEST_KEY']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=MODES[era], read_timeout_seconds=30) as client:
            tools = await client.list_tools()
            hello = await client.call_tool("hello", {})
            grep = await client.call_tool("grep_codebase", {"pattern": pattern})
            refusal = await client.call_tool("grep_codebase", {"pattern": "("})
            return {
                "era": era,
                "protocol_version": client.protocol_version,
                "tools": [tool.name for tool in tools.tools],
                "hello": seen(hello),
                "grep": seen(grep),
                "refusal": seen(refusal),
            }


if __name__ == "__main__":
    print(json.dumps(anyio.run(look_around, *sys.argv[1:4])))
