"""The class that each client of PyPI raises for each refusal. Arguments: address, part of a client's name, and JSON:
the key and the model of each refusal, and the length of its question. One case of conformance.ts on each line.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")

BASE, ONLY, REFUSALS = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


def openai_chat(key, model, hi):
    from openai import OpenAI

    body = {"model": model, "messages": [{"role": "user", "content": hi}]}
    OpenAI(base_url=f"{BASE}/v1", api_key=key, max_retries=0).chat.completions.create(**body)


def anthropic(key, model, hi):
    from anthropic import Anthropic

    body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": hi}]}
    Anthropic(base_url=BASE, api_key=key, max_retries=0).messages.create(**body)


def google(key, model, hi):
    from google import genai

    # It closes its connections when nobody holds it.
    client = genai.Client(api_key=key, http_options={"base_url": BASE})
    client.models.generate_content(model=model, contents=hi)


def lite(key, model, hi):
    import litellm

    litellm.suppress_debug_info = True
    body = {"model": f"openai/{model}", "messages": [{"role": "user", "content": hi}], "max_retries": 0}
    litellm.completion(**body, api_base=f"{BASE}/v1", api_key=key)


def langchain(key, model, hi):
    from langchain_openai import ChatOpenAI

    ChatOpenAI(model=model, base_url=f"{BASE}/v1", api_key=key, max_retries=0).invoke(hi)


def instruct(key, model, hi):
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class City(BaseModel):
        name: str

    client = instructor.from_openai(OpenAI(base_url=f"{BASE}/v1", api_key=key, max_retries=0))
    body = {"model": model, "messages": [{"role": "user", "content": hi}]}
    client.chat.completions.create(**body, response_model=City, max_retries=0)


OPENAI = {
    "401": "AuthenticationError",
    "403": "PermissionDeniedError",
    "404": "NotFoundError",
    "413": "APIStatusError",
    "429": "RateLimitError",
    "502": "InternalServerError",
}
GOOGLE = {status: "ServerError" if status == "502" else "ClientError" for status in OPENAI}
# Of its own words for the same statuses; it has none for 403 and 413 of a provider in OpenAI's format.
LITELLM = OPENAI | {"403": "APIError", "413": "APIError", "502": "BadGatewayError"}
LANGCHAIN = {
    "401": "OpenAIAuthenticationError",
    "403": "OpenAIPermissionDeniedError",
    "404": "OpenAIModelNotFoundError",
    "413": "APIStatusError",
    "429": "OpenAIRateLimitError",
    "502": "OpenAIAPIError",
}
CLIENTS = {
    "openai-py refusals": (openai_chat, OPENAI),
    "anthropic-py refusals": (anthropic, OPENAI | {"413": "ContentTooLargeError"}),
    "genai-py refusals": (google, GOOGLE),
    "litellm refusals": (lite, LITELLM),
    "langchain refusals": (langchain, LANGCHAIN),
    "instructor refusals": (instruct, OPENAI),
}


def cause(error):
    """Instructor puts what was raised behind an exception of its own."""
    while type(error).__name__ == "InstructorRetryException" and (error.__cause__ or error.__context__):
        error = error.__cause__ or error.__context__
        error = getattr(error, "last_attempt", None) and error.last_attempt.exception() or error
    return error


for client, (ask, classes) in CLIENTS.items():
    if ONLY not in client:
        continue
    for name, refusal in REFUSALS.items():
        want = classes[refusal["status"]]
        try:
            ask(refusal["key"], refusal["model"], "x" * refusal["length"])
            why = "it was answered"
        except Exception as raising:  # noqa: BLE001: the class is what is looked at
            error = cause(raising)
            raised = type(error).__name__
            status = getattr(error, "status_code", None) or getattr(error, "code", None)
            same = raised == want and str(status) == refusal["status"]
            why = None if same else f"{raised} {status} for {want}: {str(error)[:200]}"
        print(json.dumps({"client": client, "provider": "refusals", "case": name, "why": why}), flush=True)
