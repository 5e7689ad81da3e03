"""Talks to a fake vendor by Mistral's own client, and prints what the client made of it: client.py ADDRESS."""

import json
import sys

from mistralai.client import Mistral
from mistralai.client.errors import MistralError

CLIENT = Mistral(api_key="key", server_url=sys.argv[1] + "/mistral")
REQUEST = {
    "model": "magistral-medium-latest",
    "prompt_mode": "reasoning",
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
}


def user(content):
    return {"role": "user", "content": content}


def texts(content):
    """The text and the thinking of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content, ""
    parts = content or []
    text = [part.text for part in parts if part.type == "text"]
    thought = [piece.text for part in parts if part.type == "thinking" for piece in part.thinking]
    return "".join(text), "".join(thought)


def calls(found):
    return [{"id": call.id, "name": call.function.name, "arguments": call.function.arguments} for call in found or []]


def tokens(usage):
    return [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]


def streamed(messages):
    told = {"text": "", "thinking": "", "calls": []}
    for event in CLIENT.chat.stream(messages=messages, **REQUEST):
        choice = event.data.choices[0]
        text, thinking = texts(choice.delta.content)
        told["text"] += text
        told["thinking"] += thinking
        told["calls"] += calls(choice.delta.tool_calls)
        if choice.finish_reason:
            told["finishReason"] = choice.finish_reason
            told["tokens"] = tokens(event.data.usage)
    return told


def whole(messages):
    answer = CLIENT.chat.complete(messages=messages, **REQUEST)
    choice = answer.choices[0]
    text, thinking = texts(choice.message.content)
    return {
        "text": text,
        "thinking": thinking,
        "calls": calls(choice.message.tool_calls),
        "finishReason": choice.finish_reason,
        "tokens": tokens(answer.usage),
    }


def refused(call):
    """The error of a call."""
    try:
        return {"answered": call()}
    except MistralError as error:
        return {"status": error.status_code, "message": error.body}


first = streamed([user("work")])
called = first["calls"][0]
answer = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": first["thinking"]}]},
        {"type": "text", "text": first["text"]},
    ],
    "tool_calls": [{"id": called["id"], "function": {"name": called["name"], "arguments": called["arguments"]}}],
}
result = {"role": "tool", "tool_call_id": called["id"], "name": called["name"], "content": "one two three"}
image = {"type": "image_url", "image_url": "no address"}
print(
    json.dumps(
        {
            "first": first,
            "second": whole([user("work"), answer, result]),
            "busy": refused(lambda: streamed([user("busy")])),
            "orphan": refused(lambda: whole([user("work"), answer])),
            "shape": refused(lambda: whole([user([image])])),
            "listed": [found.id for found in CLIENT.models.list().data],
        }
    )
)
