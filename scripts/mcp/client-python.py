"""What a client of the Python SDK sees of notes.ts through a gateway: `client-python.py URL KEY|- VERSION`.

One line of JSON for each thing that was tried: {"kind", "step", "why"}, why null where it went well. A connection for
each request, so that every worker gets some. Works with SDK 1 and 2, whose classes have other names.
"""

import asyncio
import importlib.metadata
import json
import os
import sys

import anyio

URL, KEY, VERSION = sys.argv[1:4]
HEADERS = {"connection": "close", **({} if KEY == "-" else {"authorization": f"Bearer {KEY}"})}
IS_SECOND = int(importlib.metadata.version("mcp").split(".")[0]) >= 2
WAIT_S = 60
TIMES = 8

if IS_SECOND:
    import mcp_types as types
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client
else:
    import mcp.types as types
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

heard: list[tuple[str, str]] = []


async def elicited(_context, _params):
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(_context, _params):
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work")])


async def hear(message):
    message = getattr(message, "root", message)
    heard.append((type(message).__name__, str(getattr(getattr(message, "params", None), "uri", ""))))


async def until(found):
    with anyio.fail_after(WAIT_S):
        while not found():
            await anyio.sleep(0.02)


def said(result):
    return result.content[0].text


async def remembers(client, kind):
    async def add(text):
        return said(await client.call_tool(f"{kind}_add", {"text": text}))

    one_by_one = [await add(f"a{i}") for i in range(TIMES)]
    assert one_by_one == [f"note {i + 1}" for i in range(TIMES)], one_by_one
    assert len(set(await asyncio.gather(*[add(f"b{i}") for i in range(TIMES)]))) == TIMES
    listed = said(await client.call_tool(f"{kind}_list", {})).split("\n")
    assert len(listed) == 2 * TIMES, listed
    read = await client.read_resource(f"{kind}+note://all")
    assert len(read.contents[0].text.split("\n")) == 2 * TIMES, read


async def asked(client, kind, tool, expected):
    for _ in range(TIMES):
        answer = said(await client.call_tool(f"{kind}_{tool}", {}))
        assert expected in answer, answer


async def progresses(client, kind):
    seen = []

    async def progress(done, _total, _message):
        seen.append(done)

    await client.call_tool(f"{kind}_count", {}, progress_callback=progress)
    assert seen == [1, 2, 3], seen


async def cancels(client, kind):
    session = client.session if IS_SECOND else client
    task = asyncio.create_task(client.call_tool(f"{kind}_wait", {}))
    await anyio.sleep(1)
    if not IS_SECOND:
        # SDK 1 does not tell the server that nobody waits any more: its users do.
        params = types.CancelledNotificationParams(requestId=session._request_id - 1)
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    with anyio.fail_after(WAIT_S):
        while said(await client.call_tool(f"{kind}_cancelled", {})) != "1":
            await anyio.sleep(0.1)


async def changes(client, kind):
    uri = f"{kind}+note://all"
    heard.clear()

    async def change():
        await client.call_tool(f"{kind}_change", {})
        await client.call_tool(f"{kind}_add", {"text": "new"})

    if IS_SECOND and client.protocol_version >= "2026":
        async with client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as events:
            await change()
            kinds = set()
            with anyio.fail_after(WAIT_S):
                async for event in events:
                    kinds.add(type(event).__name__)
                    if {"ToolsListChanged", "ResourceUpdated"} <= kinds:
                        break
        return
    await client.session.subscribe_resource(uri) if IS_SECOND else await client.subscribe_resource(uri)
    await change()
    await until(lambda: any(name.startswith("ToolListChanged") for name, _ in heard))
    await until(lambda: ("ResourceUpdatedNotification", uri) in heard)


STEPS = {
    "notes": remembers,
    "elicitation": lambda client, kind: asked(client, kind, "elicit", "accept Ada"),
    "sampling": lambda client, kind: asked(client, kind, "sample", "sampled"),
    "roots": lambda client, kind: asked(client, kind, "roots", "file:///work"),
    "progress": progresses,
    "cancellation": cancels,
    "list_changed and subscriptions": changes,
}


async def tried(client, kind, step, run):
    why = None
    try:
        with anyio.fail_after(4 * WAIT_S):
            await run(client, kind)
    except Exception as error:  # Whatever it is, it is told.
        why = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps({"kind": kind, "step": step, "why": why}), flush=True)


async def all_of(client, version):
    why = None if version.startswith(VERSION) else f"speaks {version}"
    print(json.dumps({"kind": "all", "step": "revision", "why": why}), flush=True)
    for kind in ("stdio", "http", "sse"):
        for step, run in STEPS.items():
            await tried(client, kind, step, run)
    # How the SDK takes its leave is not what is tried here.
    sys.stdout.flush()
    os._exit(0)


async def main():
    callbacks = {"elicitation_callback": elicited, "sampling_callback": sampled, "list_roots_callback": roots}
    async with create_mcp_http_client(headers=HEADERS) as http:
        transport = streamable_http_client(URL, http_client=http)
        if IS_SECOND:
            async with Client(transport, message_handler=hear, **callbacks) as client:
                await all_of(client, client.protocol_version)
            return
        async with transport as (read, write, _):
            async with ClientSession(read, write, message_handler=hear, **callbacks) as session:
                begun = await session.initialize()
                await all_of(session, begun.protocolVersion)


asyncio.run(main())
