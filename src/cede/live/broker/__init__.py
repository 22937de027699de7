"""How applications are asked for checkpoints over gRPC, and whether processes can be dumped without their help."""
