"""A server as a process of its own: configuration and cluster are files; its address and token are printed."""

import json
import sys
from pathlib import Path

from cede.doctrines.document import parse_document
from cede.live.config import ServerConfig
from cede.live.server import LiveServer

if __name__ == "__main__":
    config = ServerConfig.model_validate_json(Path(sys.argv[1]).read_text())
    given = [parse_document(json.loads(Path(name).read_text())) for name in sys.argv[2:]]
    LiveServer(config, given[0] if given else None).run(lambda ready: print(ready.url, ready.local_token, flush=True))
