"""Headrace: a distributed work queue with no central broker to outgrow."""

from __future__ import annotations

__version__ = "0.1.0"
