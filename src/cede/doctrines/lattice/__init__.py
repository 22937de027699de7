"""Lattice: classes, checkpoint cost, lending between vClusters."""

from __future__ import annotations
