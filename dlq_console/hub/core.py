"""Everything a hub can do, with its settings, store and publisher given. `runtime.Hub` puts those together.

What it holds is made in `methods/base.py`; its methods stand there by subject.
"""

from dlq_console.hub.methods.acts import ActMethods
from dlq_console.hub.methods.desk import DeskMethods
from dlq_console.hub.methods.doors import DoorMethods
from dlq_console.hub.methods.enqueueing import EnqueueMethods
from dlq_console.hub.methods.handlers import HandlerMethods
from dlq_console.hub.methods.running import RunMethods


class HubCore(HandlerMethods, EnqueueMethods, RunMethods, ActMethods, DeskMethods, DoorMethods):
    """Where events go in, are run, and are acted upon."""
