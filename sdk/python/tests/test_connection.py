"""Bytes, frames and states, without any server."""

from __future__ import annotations

import base64
import json
import unittest
from typing import Any
from unittest.mock import patch

from pi_rpc_client import CallError, ProtocolError, RefusedError, UnknownEvent
from pi_rpc_client.connection import Connection
from pi_rpc_client.omp.tables import DIALECT as OMP
from pi_rpc_client.pi import AgentStartEvent, Model, TextContent
from pi_rpc_client.pi.tables import DIALECT
from pi_rpc_client.pi_1.tables import DIALECT as PI_1

AWKWARD = "line\u2028line\u2029line\u0085line\x0b\x0c\x1c and \U0001f600"


def frames(connection: Connection, data: bytes) -> list[Any]:
    return [received.frame for received in connection.receive(data)]


def line(frame: Any) -> bytes:
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


LARGE = {"type": "notice", "message": "\u00e9\U0001f600\u2028" * 150_000}


def chunks(frame: Any, size: int = 262_144) -> list[dict[str, Any]]:
    """The chunks of a frame."""
    data = line(frame)[:-1]
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    head = {"type": "rpc_chunk", "chunkId": "rpc-1", "count": len(pieces), "byteLength": len(data)}
    return [{**head, "index": at, "data": base64.b64encode(piece).decode()} for at, piece in enumerate(pieces)]


class Series(unittest.TestCase):
    def test_frame_is_put_together_from_its_chunks(self) -> None:
        said = b"".join(map(line, [*chunks(LARGE), {"type": "agent_start"}]))
        self.assertEqual(frames(Connection(OMP), said), [LARGE, {"type": "agent_start"}])

    def test_broken_series_is_refused(self) -> None:
        first, second, third, *_ = chunks(LARGE)
        for said, error in (
            ([second], "expected chunk 0 of rpc-1, got chunk 1 of rpc-1"),
            ([first, third], "expected chunk 1 of rpc-1, got chunk 2 of rpc-1"),
            ([first, {"type": "agent_start"}], "expected chunk 1 of rpc-1, got another frame"),
            ([first, {**second, "data": "?"}], "expected chunk 1 of rpc-1, got data that is no base64"),
            ([{**first, "byteLength": 10}], "byteLength: expected 1048576 to 67108864 bytes, got 10"),
            ([{**first, "count": 257}], "count: expected 2 to 256 chunks, got 257"),
        ):
            with self.subTest(error), self.assertRaises(ProtocolError) as broken:
                frames(Connection(OMP), b"".join(map(line, said)))
            self.assertEqual(str(broken.exception), error)


class Framing(unittest.TestCase):
    def test_line_ends_only_with_line_feed(self) -> None:
        said = [{"type": "note", "text": AWKWARD}, {"type": "note", "text": ""}]
        self.assertEqual(frames(Connection(DIALECT), b"".join(map(line, said))), said)

    def test_line_may_come_byte_by_byte(self) -> None:
        connection, said = Connection(DIALECT), {"type": "note", "text": AWKWARD}
        found = [frame for byte in line(said) for frame in frames(connection, bytes([byte]))]
        self.assertEqual(found, [said])

    def test_carriage_returns_and_blank_lines_are_ignored(self) -> None:
        self.assertEqual(frames(Connection(DIALECT), b'\n{"type":"a"}\r\n  \n\r\n'), [{"type": "a"}])

    def test_invalid_json_is_passed_as_text(self) -> None:
        connection = Connection(DIALECT)
        found = frames(connection, b'Warning: \xff\n{"a":1\n' + b"[" * 100_000 + b"\n7\n")
        self.assertEqual([found[0], found[1], found[3]], ["Warning: \ufffd", '{"a":1', 7])
        self.assertEqual(connection.event(found[0]), UnknownEvent("Warning: \ufffd", "the line is no frame"))

    def test_lone_surrogate_does_not_hide_frame(self) -> None:
        self.assertEqual(
            frames(Connection(DIALECT), b'{"a":"\\ud83d!","b":"\\ud83d\\ude00"}\n'),
            [{"a": "\ufffd!", "b": "\U0001f600"}],
        )

    def test_command_is_one_line_for_any_text(self) -> None:
        id, sent = Connection(DIALECT).request("prompt", {"message": AWKWARD + "\n\ud83d", "images": None}, False)
        self.assertEqual((sent.count(b"\n"), sent[-1:]), (1, b"\n"))
        self.assertEqual(json.loads(sent), {"id": id, "type": "prompt", "message": AWKWARD + "\n\ud83d"})

    def test_models_use_their_wire_names(self) -> None:
        _, sent = Connection(DIALECT).request("x", {"content": [TextContent(type="text", text="a")]}, False)
        self.assertEqual(json.loads(sent)["content"], [{"type": "text", "text": "a"}])


class Depth(unittest.TestCase):
    def test_tree_of_long_session_is_read(self) -> None:
        count = 10_000
        entry = '{"entry":{"type":"session_info","id":"%d","parentId":null,"timestamp":"","name":"n"},"children":['
        rows = "".join(entry % at for at in range(count)) + "]}" * count
        head = '{"type":"response","command":"get_tree","success":true,"data":{"leafId":null,"tree":['
        connection = Connection(PI_1)
        [response] = frames(connection, (head + rows + "]}}\n").encode())
        nodes, found = connection.result("get_tree", response).tree, []
        while nodes:
            found += [node.entry.id for node in nodes]
            nodes = [child for node in nodes for child in node.children]
        self.assertEqual(found, [str(at) for at in range(count)])

    def test_broken_deep_text_stays_text(self) -> None:
        for broken in ("[" * 5000 + "1" + "]" * 4999, '{"a":' * 5000 + "1 2" + "}" * 5000, "[" * 5000 + "," + "]" * 5000):
            self.assertEqual(frames(Connection(PI_1), broken.encode() + b"\n"), [broken])


class States(unittest.TestCase):
    def follow(self, connection: Connection, *said: Any) -> str:
        connection.receive(b"".join(map(line, said)))
        return connection.flow.state

    def test_the_chart_is_followed(self) -> None:
        connection, assistant = Connection(DIALECT), {"role": "assistant", "stopReason": "stop"}
        self.assertEqual(
            self.follow(connection, {"type": "response", "command": "prompt", "success": True}), "starting"
        )
        self.assertEqual(self.follow(connection, {"type": "agent_start"}, {"type": "turn_start"}), "streaming.turn")
        self.assertEqual(self.follow(connection, {"type": "message_start", "message": assistant}), "streaming.message")
        self.assertEqual(self.follow(connection, {"type": "message_end", "message": assistant}), "streaming.tools")
        self.assertEqual(self.follow(connection, {"type": "turn_end"}, {"type": "agent_end"}), "idle")
        self.assertEqual(self.follow(connection, {"type": "auto_retry_start"}), "retrying")
        self.assertEqual(self.follow(connection, {"type": "auto_retry_end", "success": False}), "idle")

    def test_an_event_out_of_place_is_believed(self) -> None:
        connection = Connection(DIALECT)
        self.assertEqual(self.follow(connection, {"type": "agent_start"}), "streaming.between")
        self.assertEqual(
            self.follow(connection, {"type": "message_start", "message": {"role": "assistant"}}), "streaming.message"
        )
        self.assertEqual(self.follow(connection, {"type": "agent_end"}), "idle")

    def test_illegal_prompt_is_not_sent(self) -> None:
        connection = Connection(DIALECT)
        self.follow(connection, {"type": "agent_start"}, {"type": "turn_start"})
        with self.assertRaises(RefusedError) as refused:
            connection.request("prompt", {"message": "a"}, False)
        self.assertEqual((refused.exception.command, refused.exception.state), ("prompt", "streaming.turn"))
        self.assertIn("streamingBehavior", refused.exception.error)
        connection.request("prompt", {"message": "a"}, True)
        connection.request("prompt", {"message": "a", "streamingBehavior": "steer"}, False)
        connection.request("steer", {"message": "a"}, False)

    def test_announced_run_is_expected(self) -> None:
        connection = Connection(DIALECT)

        def expected(*said: Any) -> float:
            with patch("time.monotonic", return_value=100.0):
                self.follow(connection, *said)
            return max(0, connection.expects_until - 100)

        ends = {"type": "auto_compaction_end"}
        self.assertEqual(expected({"type": "response", "command": "prompt", "success": True}), 10)
        self.assertEqual(expected({"type": "agent_start"}, {"type": "agent_end"}), 0)
        self.assertEqual(expected({"type": "auto_compaction_start"}, {**ends, "willRetry": True}), 2)
        self.assertEqual(expected({"type": "auto_compaction_start"}, {**ends, "willRetry": False}), 0.25)
        self.assertEqual(expected({"type": "auto_compaction_start"}, ends), 0)


class Decoding(unittest.TestCase):
    MODEL = {
        "id": "m", "name": "M", "api": "a", "provider": "p", "baseUrl": "b", "reasoning": False, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 1, "maxTokens": 1,
    }  # fmt: skip

    def response(self, **members: Any) -> Any:
        return {"type": "response", "command": "set_model", "success": True, **members}

    def test_a_response_becomes_what_the_schema_says(self) -> None:
        model = Connection(DIALECT).result("set_model", self.response(data=self.MODEL))
        self.assertEqual(model, Model.model_validate(self.MODEL))
        self.assertEqual(model.model_dump(mode="json", by_alias=True, exclude_unset=True), self.MODEL)

    def test_error_response_is_exception_with_text(self) -> None:
        with self.assertRaises(CallError) as failed:
            Connection(DIALECT).result("set_model", self.response(success=False, error="Model not found: a/b"))
        self.assertEqual((failed.exception.command, failed.exception.error), ("set_model", "Model not found: a/b"))

    def test_unreadable_response_is_an_exception(self) -> None:
        with self.assertRaisesRegex(ProtocolError, "set_model"):
            Connection(DIALECT).result("set_model", self.response(data={"id": 7}))

    def test_events_are_typed_unknown_ones_passed(self) -> None:
        connection = Connection(DIALECT)
        self.assertEqual(connection.event({"type": "agent_start"}), AgentStartEvent(type="agent_start"))
        further = connection.event({"type": "agent_start", "newMember": 1})
        self.assertEqual(further.model_extra, {"newMember": 1})
        new = {"type": "agent_rested", "minutes": 5}
        self.assertEqual(connection.event(new), UnknownEvent(new, "there is no event of that type"))
        spoiled = connection.event({"type": "agent_end", "messages": 7})
        self.assertEqual(spoiled.type, "unknown")
        self.assertIn("messages", spoiled.reason)


if __name__ == "__main__":
    unittest.main()
