"""Talks to a fake vendor by OpenAI's own client for Azure, and prints what the client made of it: azure.py ADDRESS."""

import json
import sys

from openai import APIStatusError, AzureOpenAI

CLIENT = AzureOpenAI(api_key="key", max_retries=0, api_version="v1", base_url=f"{sys.argv[1]}/openai/v1")
DATED = AzureOpenAI(api_key="key", max_retries=0, api_version="2025-04-01-preview", azure_endpoint=sys.argv[1])
REQUEST = {
    "model": "deployment",
    "instructions": "Be brief.",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}],
}


def user(content):
    return {"role": "user", "content": content}


def streamed(messages):
    """The whole answer of a stream, the texts of its deltas, and its error."""
    text, error, response = "", None, None
    for event in CLIENT.responses.create(**REQUEST, input=messages, stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "error":
            error = event.message
        if event.type == "response.completed":
            response = event.response
    return text, error, response


def refused(call):
    """The error of a call."""
    try:
        call()
    except APIStatusError as error:
        return {"status": error.status_code, "message": error.message}


text, _, response = streamed([user("work")])
output = [item.model_dump(exclude_none=True) for item in response.output]
call = next(item for item in output if item["type"] == "function_call")
result = {"type": "function_call_output", "call_id": call["call_id"], "output": "one two three"}
second = DATED.responses.create(**REQUEST, input=[user("work"), *output, result])
usage = response.usage
print(
    json.dumps(
        {
            "first": {
                "text": text,
                "status": response.status,
                "kinds": [item["type"] for item in output],
                "call": [call["name"], call["arguments"]],
                "tokens": [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens],
            },
            "second": second.output_text,
            "busy": refused(lambda: streamed([user("busy")])),
            "half": streamed([user("half")])[1],
            "orphan": refused(lambda: CLIENT.responses.create(**REQUEST, input=[user("work"), call])),
            "listed": [found.id for found in CLIENT.models.list()],
        }
    )
)
