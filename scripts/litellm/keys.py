"""Keys for LiteLLM without its database: its own virtual keys need PostgreSQL and an engine that is downloaded."""

import hashlib

import litellm
from litellm.proxy._types import ProxyException, UserAPIKeyAuth

KEYS = {
    "sk-alice-0000000000": {"key_alias": "alice", "models": ["small"], "rpm_limit": 100, "tpm_limit": 100000},
    "sk-slow-00000000000": {"key_alias": "slow", "rpm_limit": 1},
    "sk-all-000000000000": {"key_alias": "all"},
}


async def user_api_key_auth(request, api_key: str) -> UserAPIKeyAuth:
    if api_key == "sk-spent-0000000000":
        # What it raises itself when the database says so.
        raise litellm.BudgetExceededError(current_cost=2.0, max_budget=1.0)
    if api_key not in KEYS:
        raise ProxyException(message="Invalid proxy server token passed", type="auth_error", param="key", code=401)
    token = hashlib.sha256(api_key.encode()).hexdigest()
    return UserAPIKeyAuth(api_key=api_key, token=token, **KEYS[api_key])
