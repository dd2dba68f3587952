"""Receives the log messages of a running tool, with the official Python SDK.

    python_logs.py URL (legacy|modern) LEVEL            the key is in ARCHWAY_TEST_KEY

Requests LEVEL in the way of its era (logging/setLevel, or with each request), calls the fixture's
test_tool_with_logging, and prints one JSON line: [level, data] of all messages.
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


async def listen(url: str, era: str, level: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['ARCHWAY_TEST_KEY']}"}
    heard = []

    async def note(line) -> None:
        heard.append([line.level, line.data])

    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        mode = MODES[era]
        async with Client(transport, mode=mode, logging_callback=note, log_level=level) as client:
            if era == "legacy":
                await client.set_logging_level(level)
            await client.call_tool("test_tool_with_logging", {})
    print(json.dumps(heard))


if __name__ == "__main__":
    anyio.run(listen, *sys.argv[1:4])
