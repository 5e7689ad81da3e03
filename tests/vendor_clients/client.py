"""Talks to a fake vendor by the vendor's own client, and prints what the client made of it: client.py ADDRESS [vertex].

vertex: by an account, at Vertex AI.
"""

import json
import sys
import urllib.request

from google import genai
from google.genai import errors, types
from google.oauth2 import service_account

ADDRESS, IS_VERTEX = sys.argv[1], sys.argv[2:] == ["vertex"]


def access():
    """A key, or the vendor's service account."""
    if not IS_VERTEX:
        return {"api_key": "key"}
    with urllib.request.urlopen(ADDRESS + "/google/service_account.json") as answer:
        info = json.load(answer)
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    credentials = service_account.Credentials.from_service_account_info(info, scopes=scopes)
    return {"vertexai": True, "project": "p", "location": "global", "credentials": credentials}


CLIENT = genai.Client(**access(), http_options=types.HttpOptions(base_url=ADDRESS))
MODEL = "gemini-3.5-flash"
CONFIG = types.GenerateContentConfig(
    system_instruction="Be brief.",
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
    tools=[
        types.Tool(
            function_declarations=[types.FunctionDeclaration(name="read", parameters_json_schema={"type": "object"})]
        )
    ],
)


def user(text):
    return types.Content(role="user", parts=[types.Part(text=text)])


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def whole(response):
    """The parts of a whole answer, and how it ended."""
    candidate = response.candidates[0]
    parts = [plain(part) for part in candidate.content.parts if part.text != "" or part.thought_signature]
    return {"parts": parts, "finishReason": candidate.finish_reason.value, "tokens": plain(response.usage_metadata)}


def streamed(contents):
    """The same of a stream, with texts of one kind in a row as one."""
    parts = []
    for last in CLIENT.models.generate_content_stream(model=MODEL, contents=contents, config=CONFIG):
        for part in last.candidates[0].content.parts or []:
            before = parts[-1] if parts else None
            if part.text is not None and before and before.text is not None and before.thought == part.thought:
                before.text += part.text
                before.thought_signature = before.thought_signature or part.thought_signature
            else:
                parts.append(part.model_copy())
    last.candidates[0].content.parts = parts
    return whole(last), types.Content(role="model", parts=parts)


def refused(call):
    """The error of a call."""
    try:
        call()
    except errors.APIError as error:
        return {"status": error.code, "message": error.message}


first, answer = streamed([user("work")])
called = next(part.function_call for part in answer.parts if part.function_call)
response = types.FunctionResponse(id=called.id, name=called.name, response={"output": "one two three"})
contents = [user("work"), answer, types.Content(role="user", parts=[types.Part(function_response=response)])]
second = whole(CLIENT.models.generate_content(model=MODEL, contents=contents, config=CONFIG))
print(
    json.dumps(
        {
            "first": first,
            "second": second,
            "busy": refused(lambda: streamed([user("busy")])),
            "half": refused(lambda: streamed([user("half")])),
            "orphan": refused(lambda: CLIENT.models.generate_content(model=MODEL, contents=contents[:2])),
            "listed": [] if IS_VERTEX else [found.name for found in CLIENT.models.list()],
        }
    )
)
