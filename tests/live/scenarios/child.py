"""A server as a process of its own: the configuration is the file named; its address and token are printed."""

import sys
from pathlib import Path

from cede.live.config import ServerConfig
from cede.live.server import LiveServer

if __name__ == "__main__":
    config = ServerConfig.model_validate_json(Path(sys.argv[1]).read_text())
    LiveServer(config, None).run(lambda ready: print(ready.url, ready.local_token, flush=True))
