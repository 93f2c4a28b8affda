from cstorch.utils import data as data
from cstorch.utils.misc import CallOnce as CallOnce
from cstorch.utils.misc import RateTracker as RateTracker
from cstorch.utils.misc import call_once as call_once

__all__: list[str]
