"""Talks to a fake Amazon Bedrock by the vendor's own client, and prints what the client made of it.

client.py ADDRESS KEY_ID SECRET
"""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ADDRESS, KEY_ID, SECRET = sys.argv[1:]
MODEL = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"


def client(secret):
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=ADDRESS,
        region_name="eu-west-1",
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


KNOWN = client(SECRET)


def request(messages):
    return {
        "modelId": MODEL,
        "messages": messages,
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "inferenceConfig": {"maxTokens": 4096},
        "toolConfig": {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    }


def user(*content):
    return {"role": "user", "content": list(content)}


def streamed(messages, by=KNOWN):
    """The blocks of a streamed answer as an answer that is not streamed has them."""
    content = []
    told = {}
    for event in by.converse_stream(**request(messages))["stream"]:
        if "contentBlockStart" in event:
            content.append({"toolUse": {**event["contentBlockStart"]["start"]["toolUse"], "input": ""}})
        elif "contentBlockDelta" in event:
            place, delta = event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"]
            if "toolUse" in delta:
                content[place]["toolUse"]["input"] += delta["toolUse"]["input"]
                continue
            if place == len(content):
                content.append({"text": ""} if "text" in delta else {"reasoningContent": {"reasoningText": {"text": ""}}})
            if "text" in delta:
                content[place]["text"] += delta["text"]
            else:
                thought = content[place]["reasoningContent"]["reasoningText"]
                thought["text"] += delta["reasoningContent"].get("text", "")
                thought.update(
                    {name: value for name, value in delta["reasoningContent"].items() if name == "signature"}
                )
        elif "messageStop" in event:
            told["stopReason"] = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            told["tokens"] = event["metadata"]["usage"]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return {"content": content, **told}


def refused(call):
    """The error of a call."""
    try:
        return {"answered": call()}
    except ClientError as error:
        told = error.response
        status = told.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return {"name": told["Error"]["Code"], "status": status, "message": told["Error"]["Message"]}


messages = [user({"text": "work"})]
first = streamed(messages)
called = next(block["toolUse"] for block in first["content"] if "toolUse" in block)
messages.append({"role": "assistant", "content": first["content"]})
result = {"toolUseId": called["toolUseId"], "content": [{"text": "one two three"}]}
messages.append(user({"toolResult": result}))
whole = KNOWN.converse(**request(messages))
print(
    json.dumps(
        {
            "first": first,
            "second": {"content": whole["output"]["message"]["content"], "stopReason": whole["stopReason"]},
            "busy": refused(lambda: streamed([user({"text": "busy"})])),
            "half": refused(lambda: streamed([user({"text": "half"})])),
            "orphan": refused(lambda: streamed([*messages[:2], user({"text": "work"})])),
            "forged": refused(lambda: streamed([user({"text": "work"})], client("another"))),
        }
    )
)
