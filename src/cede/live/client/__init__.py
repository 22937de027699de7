"""The Python side of the API: a client for a running server.

What speaks HTTP to a server belongs here. It knows the model, and where a server leaves word of itself
(`cede.live.data_directory`), and nothing else of ours, so that it can be used alone.
"""

from cede.live.client.client import Client
from cede.live.client.errors import ClientError

__all__ = ["Client", "ClientError"]
