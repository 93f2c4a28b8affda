"""Helpers of training programs."""

from cstorch.utils import data
from cstorch.utils.misc import CallOnce, RateTracker, call_once

__all__ = ["CallOnce", "RateTracker", "call_once", "data"]
