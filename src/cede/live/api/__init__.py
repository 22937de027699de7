"""The HTTP API: who may ask for what, and every answer or refusal as JSON."""
