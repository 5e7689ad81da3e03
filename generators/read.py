"""Reads the frames of a folder into the models that were generated there, and writes them again; a verdict a line."""

import importlib.util
import json
import sys
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

folder = Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("models", folder / "models.py")
assert spec and spec.loader
models = importlib.util.module_from_spec(spec)
sys.modules["models"] = models
spec.loader.exec_module(models)
adapters = {root: TypeAdapter(getattr(models, root)) for root in ("Inbound", "Outbound")}

with (folder / "frames.jsonl").open(encoding="utf-8") as lines:
    for line in lines:
        sample = json.loads(line)
        adapter = adapters[sample["root"]]
        try:
            # Strict: otherwise pydantic takes "5" for a number.
            frame = adapter.validate_json(json.dumps(sample["frame"]), strict=True)
        except ValidationError as error:
            print(json.dumps({"errors": [f"{it['loc']}: {it['msg']}" for it in error.errors()]}))
        else:
            written = adapter.dump_python(frame, mode="json", by_alias=True, exclude_unset=True)
            print(json.dumps({"errors": [], "written": written}))
