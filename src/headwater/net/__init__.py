"""Outbound HTTP. Every request that Headwater makes goes through here."""

from headwater.net.client import Client
from headwater.net.types import FetchError, FetchFailure, Response

__all__ = ["Client", "FetchError", "FetchFailure", "Response"]
