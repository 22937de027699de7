"""The gRPC protocol of the checkpoint broker: messages and method names, for the application and for the server.

`checkpoint_pb2` is made from `checkpoint.proto` by `python -m cede.checkpoint.wire.generate`. What a message means to
either side does not belong here.
"""
