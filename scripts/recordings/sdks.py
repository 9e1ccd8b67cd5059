"""Clients of PyPI: for each line {"sdk", "base", "stream", "calls"} one line, {"whole"} with an answer, or {"error"}."""

import json
import re
import sys
import warnings
from typing import Any, Optional

warnings.filterwarnings("ignore")

import instructor  # noqa: E402
import litellm  # noqa: E402
from anthropic import Anthropic  # noqa: E402
from google import genai  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from openai import OpenAI  # noqa: E402
from pydantic import create_model  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
HI = [{"role": "user", "content": "Hi"}]
USAGE = {"stream_options": {"include_usage": True}}


def dumped(value):
    return value.model_dump(mode="json", exclude_none=True, warnings=False)


def openai_chat(base, stream):
    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    if not stream:
        return dumped(client.chat.completions.create(model="m", messages=HI))
    with client.chat.completions.stream(model="m", messages=HI, **USAGE) as events:
        return dumped(events.get_final_completion())


def openai_responses(base, stream):
    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    if not stream:
        return dumped(client.responses.create(model="m", input="Hi"))
    with client.responses.stream(model="m", input="Hi") as events:
        return dumped(events.get_final_response())


def anthropic(base, stream):
    client = Anthropic(base_url=base, api_key="k", max_retries=0)
    body = {"model": "m", "max_tokens": 9, "messages": HI}
    if not stream:
        return dumped(client.messages.create(**body))
    with client.messages.stream(**body) as events:
        return dumped(events.get_final_message())


def google(base, stream):
    client = genai.Client(api_key="k", http_options={"base_url": base})
    body = {"model": "m", "contents": "Hi"}
    answers = client.models.generate_content_stream(**body) if stream else [client.models.generate_content(**body)]
    return {"chunks": [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in answers]}


def lite(base, stream):
    body = {"model": "openai/m", "messages": HI, "api_base": f"{base}/v1", "api_key": "k", "max_retries": 0}
    if not stream:
        return dumped(litellm.completion(**body))
    chunks = list(litellm.completion(**body, stream=True, **USAGE))
    return dumped(litellm.stream_chunk_builder(chunks, messages=HI))


def langchain(base, stream):
    model = ChatOpenAI(model="m", base_url=f"{base}/v1", api_key="k", max_retries=0, stream_usage=True)
    if stream:
        answer = None
        for chunk in model.stream("Hi"):
            answer = chunk if answer is None else answer + chunk
    else:
        answer = model.invoke("Hi")
    calls = [{"function": {"name": one["name"], "arguments": json.dumps(one["args"])}} for one in answer.tool_calls]
    usage = answer.usage_metadata or {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
    counts = {name: usage[its] for name, its in names.items() if its in usage}
    message = {"content": answer.text() if callable(answer.text) else answer.text, "tool_calls": calls}
    message["refusal"] = answer.additional_kwargs.get("refusal")
    stop = answer.response_metadata.get("finish_reason")
    return {"choices": [{"message": message, "finish_reason": stop}], "usage": counts}


def model_of(calls):
    """The answer that a caller of instructor would declare for one call, "name({...})"; None where it is no object."""
    if len(calls) != 1:
        return None
    name, args = calls[0][:-1].split("(", 1)
    fields = json.loads(args)
    if not isinstance(fields, dict) or not all(re.fullmatch("[a-z][a-z0-9_]*", one) for one in fields):
        return None
    return create_model(name, **{one: (Optional[Any], None) for one in fields})


def instructed(client, body, stream, calls):
    """Through instructor as it comes, and, of an answer that is one call, the typed object that it makes."""
    create = client.chat.completions
    model = model_of(calls)
    if stream:
        chunks = [dumped(one) for one in create.create(response_model=None, stream=True, **body)]
        if model is not None:
            *_, last = create.create_partial(response_model=model, **body)
            checked(last, calls)
        return {"chunks": chunks}
    if model is None:
        return dumped(create.create(response_model=None, **body))
    made, raw = create.create_with_completion(response_model=model, **body)
    checked(made, calls)
    return dumped(raw)


def instructor_openai(base, stream, calls):
    client = instructor.from_openai(OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0))
    return instructed(client, {"model": "m", "messages": HI, "max_retries": 1, **(USAGE if stream else {})}, stream, calls)


def instructor_anthropic(base, stream, calls):
    client = instructor.from_anthropic(Anthropic(base_url=base, api_key="k", max_retries=0))
    return instructed(client, {"model": "m", "max_tokens": 9, "messages": HI, "max_retries": 1}, stream, calls)


def checked(made, calls):
    """Raises when a typed answer says otherwise than the call that it was made of."""
    said = made.model_dump(mode="json", exclude_unset=True)
    sent = json.loads(calls[0][:-1].split("(", 1)[1])
    if said != sent:
        raise AssertionError(f"typed answer: {json.dumps(said)[:120]}, sent: {json.dumps(sent)[:120]}")


SDKS = {
    "openai (PyPI), chat": openai_chat,
    "openai (PyPI), responses": openai_responses,
    "anthropic (PyPI)": anthropic,
    "google-genai": google,
    "litellm": lite,
    "langchain": langchain,
    "instructor, OpenAI": instructor_openai,
    "instructor, Anthropic": instructor_anthropic,
}

for line in sys.stdin:
    order = json.loads(line)
    try:
        more = [order["calls"]] if order["sdk"].startswith("instructor") else []
        said = {"whole": SDKS[order["sdk"]](order["base"], order["stream"], *more)}
    except Exception as error:  # noqa: BLE001: what the client raises is the answer
        said = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    print(json.dumps(said), flush=True)
