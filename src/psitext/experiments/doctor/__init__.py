"""What is installed, what of it works here, and what is slow.

Read in this order: ``finding`` (one thing that was looked at), ``installed`` (packages and shipped models), ``usable``
(a tiny trial of each), ``machine`` (threads, precisions, memory, disk).
"""

from psitext.experiments.doctor import installed, machine, usable
from psitext.experiments.doctor.finding import Finding


def findings() -> list[Finding]:
    """Look at everything, a few seconds in all."""
    return [*installed.packages(), *installed.models(), *usable.trials(), *machine.machine(), *machine.places()]


__all__ = ["Finding", "findings"]
