"""The calls of calls.ts by OpenAI's client of PyPI: prints JSON of what each answered. Arguments: base address, JSON of keys."""

import json
import sys

import openai

BASE = sys.argv[1]
KEYS = json.loads(sys.argv[2])
HI = [{"role": "user", "content": "Hi"}]


def client(key):
    return openai.OpenAI(base_url=f"{BASE}/v1", api_key=key, max_retries=0)


def chat(key, model="small"):
    answer = client(key).chat.completions.create(model=model, messages=HI)
    return f"200 {answer.choices[0].message.content}"


def stream(key):
    pieces = client(key).chat.completions.create(model="small", messages=HI, stream=True)
    return "200 " + "".join(one.choices[0].delta.content or "" for one in pieces if one.choices)


def twice(key):
    chat(key)
    return chat(key)


CALLS = {
    "a chat": lambda: chat(KEYS["alice"]),
    "a stream": lambda: stream(KEYS["alice"]),
    "a key that is not known": lambda: chat("sk-wrong"),
    "a model that the key may not use": lambda: chat(KEYS["alice"], "large"),
    "a model that is not there": lambda: chat(KEYS["all"], "none"),
    "the models of a key": lambda: "200 " + ",".join(m.id for m in client(KEYS["alice"]).models.list().data),
    "a budget that is spent": lambda: twice(KEYS["spent"]),
    "more than the limit": lambda: twice(KEYS["slow"]),
    "a model that fails, with a fallback": lambda: chat(KEYS["all"], "broken"),
}


def outcome(call):
    try:
        return call()
    except openai.APIStatusError as error:
        body = error.body if isinstance(error.body, dict) else {}
        return f"{type(error).__name__} {error.status_code} {body.get('type')} {body.get('code')}"


print(json.dumps({name: outcome(call) for name, call in CALLS.items()}))
