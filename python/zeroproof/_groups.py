"""Process groups of gloo for engines, which are used again."""

from __future__ import annotations

import datetime

import torch.distributed as dist

from ._engine import EngineError

_free_groups = list[dist.ProcessGroup]()  # of engines that are closed


def acquire(group: dist.ProcessGroup | None, timeout_s: float) -> dist.ProcessGroup:
    """A gloo group of an engine's own. One that is free is taken again: a group that is destroyed
    leaves its addresses in the store under a name that PyTorch 2.13 may give to the next one."""
    ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
    timeout = datetime.timedelta(seconds=timeout_s)
    known = dist.distributed_c10d._world.pg_map  # not those of an init_process_group before
    for free in _free_groups:
        if free in known and dist.get_process_group_ranks(free) == ranks:
            _free_groups.remove(free)
            dist.distributed_c10d._set_pg_timeout(timeout, free)
            return free
    try:  # with use_local_synchronization groups of others do not count
        made: dist.ProcessGroup = dist.new_group(
            ranks, backend="gloo", timeout=timeout, use_local_synchronization=True
        )
    except RuntimeError as error:
        raise EngineError(
            f"rank {dist.get_rank(group)}: not all of ranks {ranks} have called Engine() within "
            f"{timeout_s:g} s"
        ) from error
    return made


def release(group: dist.ProcessGroup) -> None:
    """All ranks have ended what they began in it."""
    _free_groups.append(group)
