"""How the generated models are used. mypy judges it: each `type: ignore` is a use that it must refuse."""

from pydantic import TypeAdapter

from models import Inbound, Outbound, PromptCommand, SetModelCommand, TextContent, UserMessage

reader: TypeAdapter[Outbound] = TypeAdapter(Outbound)
writer: TypeAdapter[Inbound] = TypeAdapter(Inbound)


def write(command: Inbound) -> bytes:
    return writer.dump_json(command, by_alias=True, exclude_unset=True) + b"\n"


def read(line: bytes) -> Outbound:
    return reader.validate_json(line, strict=True)


def tell(frame: Outbound) -> str:
    if frame.type == "response":
        if not frame.success:
            return f"{frame.command} failed: {frame.error}"
        if frame.command == "get_state":
            return f"streaming: {frame.data.isStreaming}, level: {frame.data.thinkingLevel}"
        if frame.command == "bash":
            return frame.data.output
        if frame.command == "abort":
            print(frame.data)  # type: ignore[attr-defined]
        return frame.command
    if frame.type == "message_update" and frame.assistantMessageEvent.type == "text_delta":
        return frame.assistantMessageEvent.delta
    if frame.type == "message_end" and isinstance(frame.message, UserMessage):
        content = frame.message.content
        if isinstance(content, str):
            return content
        return "".join(block.text for block in content if isinstance(block, TextContent))
    if frame.type == "extension_ui_request" and frame.method == "select":
        return ", ".join(frame.options)
    if frame.type == "turn_begin":  # type: ignore[comparison-overlap]
        return "no such event"
    print(frame.message)  # type: ignore[union-attr]
    return frame.type


prompt = PromptCommand(type="prompt", message="hello", streamingBehavior="steer")
write(prompt)
write(PromptCommand(type="prompt", message="hello", streamingBehavior="later"))  # type: ignore[arg-type]
write(PromptCommand(type="prompt"))  # type: ignore[call-arg]
write(PromptCommand(type="steer", message="hello"))  # type: ignore[arg-type]
write(SetModelCommand(type="set_model", provider="a", modelId=5))  # type: ignore[arg-type]
write(read(b"{}"))  # type: ignore[arg-type]
