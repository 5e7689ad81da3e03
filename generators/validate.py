"""Judges the frames of a folder with jsonschema; prints a verdict a line."""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

folder = Path(sys.argv[1])
schema = json.loads((folder / "schema.json").read_text("utf-8"))
Draft202012Validator.check_schema(schema)
whole = Draft202012Validator(schema)
validators = {root: whole.evolve(schema={"$ref": f"#/$defs/{root}", "$defs": schema["$defs"]}) for root in ("Inbound", "Outbound")}

with (folder / "frames.jsonl").open(encoding="utf-8") as lines:
    for line in lines:
        sample = json.loads(line)
        errors = [error.message for error in validators[sample["root"]].iter_errors(sample["frame"])]
        print(json.dumps({"errors": errors}))
