"""Python's clients, unmodified, at the gateway: one JSON line per case (client, provider, case, why: null if it passed).

Arguments: the gateway's address, and the names of the providers, with commas.
"""

import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

warnings.filterwarnings("ignore")
SYSTEM = "You are an agent. MARK-SYSTEM"
USER = "What is the weather in Paris, and what time is it? MARK-USER"
ANSWER = "MARK-ANSWER: it is 21 degrees."
TURNS_MAX = 4
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [{"name": name, "description": f"Runs {name}."} for name in ("get_weather", "get_time")]
CHAT_TOOLS = [{"type": "function", "function": {**tool, "parameters": PARAMETERS}} for tool in TOOLS]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def results():
    for i in range(1, 9):
        yield f"MARK-RESULT-{i}: 21 degrees, noon"


def conclude(text):
    if ANSWER not in (text or ""):
        raise AssertionError(f"the answer is {text!r}")


def endless():
    raise AssertionError(f"no answer after {TURNS_MAX} turns")


# --- the vendors' own ---


def openai_chat(base, streamed):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    messages = [{"role": "developer", "content": SYSTEM}, {"role": "user", "content": USER}]
    result = results()
    for _ in range(TURNS_MAX):
        body = {"model": "gpt-5", "messages": messages, "tools": CHAT_TOOLS}
        if streamed:
            with client.chat.completions.stream(**body) as stream:
                answer = stream.get_final_completion()
        else:
            answer = client.chat.completions.create(**body)
        message = answer.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return conclude(message.content)
        for call in message.tool_calls:
            json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": next(result)})
    endless()


def openai_responses(base, streamed):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    items = [{"role": "user", "content": USER}]
    tools = [{"type": "function", **tool, "parameters": PARAMETERS, "strict": True} for tool in TOOLS]
    result = results()
    for _ in range(TURNS_MAX):
        body = {"model": "gpt-5", "instructions": SYSTEM, "input": items, "tools": tools, "store": False}
        body |= {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}
        if streamed:
            with client.responses.stream(**body) as stream:
                answer = stream.get_final_response()
        else:
            answer = client.responses.create(**body)
        items += answer.output
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return conclude(answer.output_text)
        items += [{"type": "function_call_output", "call_id": call.call_id, "output": next(result)} for call in calls]
    endless()


def anthropic_messages(thinks):
    def run(base, streamed):
        from anthropic import Anthropic

        client = Anthropic(base_url=base, api_key="k", max_retries=0)
        mark = {"cache_control": {"type": "ephemeral"}}
        messages = [{"role": "user", "content": [{"type": "text", "text": USER, **mark}]}]
        tools = [{**tool, "input_schema": PARAMETERS} for tool in TOOLS]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 4096, "tools": tools}
        body["system"] = [{"type": "text", "text": SYSTEM, **mark}]
        if thinks:
            body["thinking"] = {"type": "enabled", "budget_tokens": 2048}
        result = results()
        for _ in range(TURNS_MAX):
            if streamed:
                with client.messages.stream(**body, messages=messages) as stream:
                    answer = stream.get_final_message()
            else:
                answer = client.messages.create(**body, messages=messages)
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return conclude("".join(block.text for block in answer.content if block.type == "text"))
            content = [{"type": "tool_result", "tool_use_id": call.id, "content": next(result)} for call in calls]
            messages.append({"role": "user", "content": content})
        endless()

    return run


def google_genai(base, streamed):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options={"base_url": base})
    declarations = [types.FunctionDeclaration(**tool, parameters_json_schema=PARAMETERS) for tool in TOOLS]
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM,
        tools=[types.Tool(function_declarations=declarations)],
        automatic_function_calling={"disable": True},
        thinking_config={"include_thoughts": True},
        safety_settings=[],
        response_modalities=["TEXT"],
    )
    contents = [types.Content(role="user", parts=[types.Part(text=USER)])]
    result = results()
    for _ in range(TURNS_MAX):
        body = {"model": "gemini-3-pro", "contents": contents, "config": config}
        if streamed:
            parts = []
            for chunk in client.models.generate_content_stream(**body):
                content = chunk.candidates[0].content if chunk.candidates else None
                parts += (content.parts if content else None) or []
        else:
            parts = client.models.generate_content(**body).candidates[0].content.parts
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return conclude("".join(part.text or "" for part in parts if not part.thought))
        answers = [
            types.FunctionResponse(id=call.id, name=call.name, response={"result": next(result)}) for call in calls
        ]
        contents.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in answers]))
    endless()


# --- litellm ---


def litellm_as(model, suffix):
    def run(base, streamed):
        import litellm

        litellm.suppress_debug_info = True
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
        result = results()
        for _ in range(TURNS_MAX):
            body = {"model": model, "api_base": base + suffix, "api_key": "k", "num_retries": 0}
            body |= {"messages": messages, "tools": CHAT_TOOLS, "tool_choice": "auto", "user": "someone"}
            answer = litellm.completion(**body, stream=streamed)
            if streamed:
                answer = litellm.stream_chunk_builder(list(answer), messages=messages)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return conclude(message.content)
            for call in message.tool_calls:
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": next(result)}
                )
        endless()

    return run


# --- langchain ---


def langchain(make):
    def run(base, streamed):
        from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

        model = make(base).bind_tools(CHAT_TOOLS)
        messages = [SystemMessage(SYSTEM), HumanMessage(USER)]
        result = results()
        for _ in range(TURNS_MAX):
            if streamed:
                answer = None
                for chunk in model.stream(messages):
                    answer = chunk if answer is None else answer + chunk
            else:
                answer = model.invoke(messages)
            messages.append(answer)
            if not answer.tool_calls:
                return conclude(answer.text if isinstance(answer.text, str) else answer.text())
            for call in answer.tool_calls:
                messages.append(ToolMessage(next(result), tool_call_id=call["id"], name=call["name"]))
        endless()

    return run


def langchain_openai(**more):
    def make(base):
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="gpt-5", base_url=f"{base}/v1", api_key="k", max_retries=0, **more)

    return langchain(make)


def langchain_anthropic(**more):
    def make(base):
        from langchain_anthropic import ChatAnthropic

        model = "claude-sonnet-4-5"
        return ChatAnthropic(model=model, base_url=base, api_key="k", max_retries=0, max_tokens=4096, **more)

    return langchain(make)


def langchain_google(base):
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-2.5-flash", google_api_key="k", base_url=base, max_retries=0)


# --- instructor ---


def instructor_as(kind, mode):
    def run(base, streamed):
        import instructor
        from pydantic import BaseModel

        class Weather(BaseModel):
            city: str
            degrees: int

        if kind == "openai":
            from openai import OpenAI

            client = instructor.from_openai(
                OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0), mode=getattr(instructor.Mode, mode)
            )
            more = {"model": "gpt-5"}
        else:
            from anthropic import Anthropic

            client = instructor.from_anthropic(
                Anthropic(base_url=base, api_key="k", max_retries=0), mode=getattr(instructor.Mode, mode)
            )
            more = {"model": "claude-sonnet-4-5", "max_tokens": 1024}
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"[json] {USER}"}]
        ask = {"response_model": Weather, "messages": messages, "max_retries": 1, **more}
        if streamed:
            answer = list(client.chat.completions.create_partial(**ask))[-1]
        else:
            answer = client.chat.completions.create(**ask)
        if (answer.city, answer.degrees) != ("Paris", 21):
            raise AssertionError(f"the answer is {answer!r}")

    return run


CLIENTS = {
    "openai-python chat": openai_chat,
    "openai-python responses": openai_responses,
    "anthropic-python": anthropic_messages(False),
    "anthropic-python thinking": anthropic_messages(True),
    "google-genai": google_genai,
    "litellm openai/": litellm_as("openai/gpt-4.1", "/v1"),
    "litellm anthropic/": litellm_as("anthropic/claude-sonnet-4-5", ""),
    "litellm gemini/": litellm_as("gemini/gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash"),
    "langchain-openai chat": langchain_openai(stream_usage=True),
    "langchain-openai responses": langchain_openai(use_responses_api=True, store=False),
    "langchain-anthropic": langchain_anthropic(),
    "langchain-anthropic thinking": langchain_anthropic(thinking={"type": "enabled", "budget_tokens": 2048}),
    "langchain-google-genai": langchain(langchain_google),
    "instructor TOOLS": instructor_as("openai", "TOOLS"),
    "instructor JSON": instructor_as("openai", "JSON"),
    "instructor JSON_SCHEMA": instructor_as("openai", "JSON_SCHEMA"),
    "instructor ANTHROPIC_TOOLS": instructor_as("anthropic", "ANTHROPIC_TOOLS"),
    "instructor ANTHROPIC_JSON": instructor_as("anthropic", "ANTHROPIC_JSON"),
}


def main():
    base, providers = sys.argv[1], sys.argv[2].split(",")
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    cases = [
        (client, provider, streamed)
        for client in CLIENTS
        if only in client
        for provider in providers
        for streamed in (False, True)
    ]

    def run(case):
        client, provider, streamed = case
        try:
            CLIENTS[client](f"{base}/{provider}", streamed)
            why = None
        except Exception as error:  # Whatever a client throws is what is to be told.
            why = f"{type(error).__name__}: {error}"[:600]
        kind = "streamed" if streamed else "whole"
        print(json.dumps({"client": client, "provider": provider, "case": kind, "why": why}), flush=True)

    # One at a time: the clients keep state of their own.
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(run, cases))


main()
