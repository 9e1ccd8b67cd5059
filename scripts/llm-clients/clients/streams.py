"""What Python's clients put together of one stream, and of one that breaks off: lines and arguments as of loops.py.

The double answers with a text, a call in pieces and a call without arguments, and counts 30 tokens.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")
SENT = ("I look.", [("get_weather", {"city": "Paris"}), ("get_time", {})])
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
NAMES = ("get_weather", "get_time")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]


def args(text):
    return json.loads(text or "{}")


def openai_chat(base, text):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": text}], "tools": TOOLS}
    with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
        whole = stream.get_final_completion()
    message = whole.choices[0].message
    calls = [(call.function.name, args(call.function.arguments)) for call in message.tool_calls]
    return message.content, calls, whole.usage.completion_tokens


def openai_responses(base, text):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    tools = [{"type": "function", "name": name, "parameters": PARAMETERS, "strict": False} for name in NAMES]
    with client.responses.stream(model="gpt-5", input=text, tools=tools) as stream:
        whole = stream.get_final_response()
    calls = [(item.name, args(item.arguments)) for item in whole.output if item.type == "function_call"]
    return whole.output_text, calls, whole.usage.output_tokens


def anthropic_messages(base, text):
    from anthropic import Anthropic

    client = Anthropic(base_url=base, api_key="k", max_retries=0)
    tools = [{"name": name, "input_schema": PARAMETERS} for name in NAMES]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": [{"role": "user", "content": text}]}
    with client.messages.stream(**body, tools=tools) as stream:
        whole = stream.get_final_message()
    calls = [(block.name, block.input) for block in whole.content if block.type == "tool_use"]
    return "".join(block.text for block in whole.content if block.type == "text"), calls, whole.usage.output_tokens


def google_genai(base, text):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options={"base_url": base})
    tools = [types.Tool(function_declarations=[{"name": name, "parameters_json_schema": PARAMETERS} for name in NAMES])]
    config = types.GenerateContentConfig(tools=tools, automatic_function_calling={"disable": True})
    parts, usage = [], None
    for chunk in client.models.generate_content_stream(model="gemini-3-pro", contents=text, config=config):
        content = chunk.candidates[0].content if chunk.candidates else None
        parts += (content.parts if content else None) or []
        usage = chunk.usage_metadata or usage
    calls = [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
    told = "".join(part.text or "" for part in parts if not part.thought)
    return told, calls, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)


def litellm_openai(base, text):
    import litellm

    litellm.suppress_debug_info = True
    messages = [{"role": "user", "content": text}]
    body = {"model": "openai/gpt-4.1", "api_base": f"{base}/v1", "api_key": "k", "num_retries": 0}
    chunks = litellm.completion(
        **body, messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    whole = litellm.stream_chunk_builder(list(chunks), messages=messages)
    message = whole.choices[0].message
    calls = [(call.function.name, args(call.function.arguments)) for call in message.tool_calls]
    return message.content, calls, whole.usage.completion_tokens


def langchain(make):
    def run(base, text):
        whole = None
        for chunk in make(base).bind_tools(TOOLS).stream(text):
            whole = chunk if whole is None else whole + chunk
        told = whole.text if isinstance(whole.text, str) else whole.text()
        return told, [(call["name"], call["args"]) for call in whole.tool_calls], whole.usage_metadata["output_tokens"]

    return run


def langchain_openai(base):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-5", base_url=f"{base}/v1", api_key="k", max_retries=0, stream_usage=True)


def langchain_anthropic(base):
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="claude-sonnet-4-5", base_url=base, api_key="k", max_retries=0, max_tokens=99)


def langchain_google(base):
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-2.5-flash", google_api_key="k", base_url=base, max_retries=0)


CLIENTS = {
    "openai-python chat": openai_chat,
    "openai-python responses": openai_responses,
    "anthropic-python": anthropic_messages,
    "google-genai": google_genai,
    "litellm openai/": litellm_openai,
    "langchain-openai chat": langchain(langchain_openai),
    "langchain-anthropic": langchain(langchain_anthropic),
    "langchain-google-genai": langchain(langchain_google),
}


def assembled(client, base):
    text, calls, tokens = client(base, "[rich]")
    if (text, calls) != SENT or tokens != 30:
        raise AssertionError(f"put together: {text!r}, {calls!r}, {tokens!r} tokens")


def broken(client, base):
    try:
        answer = client(base, "[rich][breaks]")
    except Exception:
        return
    raise AssertionError(f"a stream that broke off was taken for an answer: {answer!r}")


def main():
    base, providers = sys.argv[1], sys.argv[2].split(",")
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    for name, client in CLIENTS.items():
        if only not in name:
            continue
        for provider in providers:
            for kind, check in (("put together", assembled), ("broken off", broken)):
                try:
                    check(client, f"{base}/{provider}")
                    why = None
                except Exception as error:  # Whatever a client throws is what is to be told.
                    why = f"{type(error).__name__}: {error}"[:600]
                print(json.dumps({"client": name, "provider": provider, "case": kind, "why": why}), flush=True)


main()
