"""What a type checker has to understand, and what it has to refuse: it complains of a remark that is not needed, too."""

from __future__ import annotations

from pi_rpc_client import Answer, Events
from pi_rpc_client import pi, xcsh


async def right(client: pi.AsyncClient, agent: xcsh.Client) -> None:
    model: pi.Model = await client.set_model("anthropic", "claude")
    cycled: pi.ModelCycle | None = await client.cycle_model()
    answer: Answer[pi.AssistantMessage] = await client.prompt("a", streaming_behavior="steer")
    image = xcsh.ImageContent(type="image", data="", mime_type="image/png")
    agent.steer("a", images=[image], timeout=1)
    events: Events[pi.Event] = client.events()
    print(model.context_window, cycled and cycled.thinking_level, answer.text)
    async for event in events:
        told(event)
    for other in agent.events():
        if other.type == "host_tool_call":
            print(other.tool_name)


def told(event: pi.Event) -> str:
    if event.type == "message_update":
        update = event.assistant_message_event
        return update.delta if update.type == "text_delta" else ""
    if event.type == "extension_ui_request":
        return event.title if event.method == "select" else ""
    if event.type == "response":
        return event.error
    if isinstance(event, pi.MessageEndEvent) and event.message.role == "assistant":
        return event.message.stop_reason
    return event.reason if event.type == "unknown" else ""


def answered(dialog: pi.Dialog) -> str | bool | None:
    return dialog.options[0] if dialog.method == "select" else dialog.method == "confirm"


async def wrong(client: pi.AsyncClient, event: pi.Event) -> None:
    await client.set_model("anthropic")  # type: ignore[call-arg]
    await client.set_thinking_level("loud")  # type: ignore[arg-type]
    await client.prompt("a", streaming_behavior="followup")  # type: ignore[arg-type]
    await client.set_todos([])  # type: ignore[attr-defined]
    (await client.cycle_model()).model  # type: ignore[union-attr]
    (await client.abort()).data  # type: ignore[attr-defined, func-returns-value]
    pi.TextContent(text="a")  # type: ignore[call-arg]
    event.message  # type: ignore[union-attr]
    if event.type == "agent_begins":  # type: ignore[comparison-overlap]
        pass
    if event.type == "turn_end":
        event.assistant_message_event  # type: ignore[attr-defined]
