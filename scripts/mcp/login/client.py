"""A login by the official Python SDK, of both generations: finds the issuer, registers, logs in, calls, renews, calls.

usage: client.py URL NODE SIGN_IN CALLBACK   (NODE SIGN_IN: what plays the browser)
"""
import asyncio
import subprocess
import sys
import time
from importlib.metadata import version
from urllib.parse import parse_qs

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

URL, NODE, SIGN_IN, CALLBACK = sys.argv[1:5]
IS_SECOND = int(version("mcp").split(".")[0]) >= 2
if IS_SECOND:
    import httpx2 as httpx
    from mcp.shared.auth import AuthorizationCodeResult
else:
    import httpx


class Storage:
    """Keeps what the SDK tells it."""

    client = None
    tokens = None
    saved = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.saved += 1

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main():
    storage = Storage()
    seen = {}

    async def redirect(url):
        command = [NODE, "--disable-warning=ExperimentalWarning", SIGN_IN, url, CALLBACK]
        said = await asyncio.to_thread(subprocess.check_output, command, text=True)
        seen.update({key: values[0] for key, values in parse_qs(said.strip()).items()})

    async def callback():
        if IS_SECOND:
            return AuthorizationCodeResult(code=seen["code"], state=seen.get("state"), iss=seen.get("iss"))
        return seen["code"], seen.get("state")

    metadata = OAuthClientMetadata(
        client_name="python", redirect_uris=[CALLBACK], grant_types=["authorization_code", "refresh_token"],
        response_types=["code"], token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(URL, metadata, storage, redirect, callback)
    async with httpx.AsyncClient(auth=provider, timeout=60) as client:
        async with streamable_http_client(URL, http_client=client) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                first = await session.call_tool("add", {})
                assert first.content[0].text == "added", first
                before = storage.saved
                # The token is one of a few seconds.
                time.sleep(float(storage.tokens.expires_in) + 1)
                second = await session.call_tool("add", {})
                assert second.content[0].text == "added", second
                assert storage.saved > before, "nothing was renewed"
    print("ok")


asyncio.run(main())
