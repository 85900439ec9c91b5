"""Says what a controller does, three times in the same words: a log line, Events, metrics. It may fail no pass."""

from __future__ import annotations

import logging
import time

from redisop.failures import Failure
from redisop.live import log
from redisop.live.events import Recorder
from redisop.live.metrics import Metrics
from redisop.live.store import Name
from redisop.live.told import Told, events_of, events_of_failure, events_of_violations
from redisop.live.visit import Visit

_log = logging.getLogger("redisop")


class Speaker:
    """The port Voice of the controller."""

    def __init__(self, recorder: Recorder, metrics: Metrics) -> None:
        self._recorder, self._metrics = recorder, metrics
        # The uid of each Redis; a pass that fails before it has read the object is about the one read last.
        self._uids: dict[Name, str] = {}

    def waited(self, seconds: float) -> None:
        """Tell for how long a `Redis` was due before a worker took it."""
        self._metrics.waited(seconds)

    def visited(self, of: Name, visit: Visit, seconds: float) -> None:
        """Tell of a pass that ended."""
        if visit.redis is None:
            self._forget(of)
            return
        uid = self._uids[of] = visit.redis["metadata"]["uid"]
        told: list[Told]
        if visit.outcome is None:
            told = events_of_violations(visit.redis, visit.violations)
            self._metrics.rejected(of, time.time(), seconds)
            log.write(log.of_violations(of, visit.violations, told, seconds))
        else:
            told = events_of(visit.outcome)
            self._metrics.passed(of, visit.outcome, time.time(), seconds)
            log.write(log.of_outcome(of, visit.outcome, told, seconds))
        self._tell(of, uid, told)

    def failed(self, of: Name, error: Exception, seconds: float) -> None:
        """Tell of a pass that could not be made."""
        fault = not isinstance(error, Failure)
        self._metrics.failed(seconds, panic=fault)
        if not isinstance(error, Failure):
            log.write(log.of_fault(of, error, seconds), error)
            return
        log.write(log.of_failure(of, error, seconds))
        if uid := self._uids.get(of):
            self._tell(of, uid, events_of_failure(error))

    def standing(self, trouble: str) -> None:
        """Tell of what keeps all passes from being made."""
        if trouble:
            _log.error(f"not everything can be seen, so nothing is done: {trouble}")
        else:
            _log.info("everything can be seen again")

    def leads(self) -> None:
        """Tell that passes are made from now on."""
        _log.info("leads from now on")

    def stands_by(self, leader: str) -> None:
        """Tell that another process makes them, and which."""
        _log.info("stands by: %s leads", leader)

    def _tell(self, of: Name, uid: str, told: list[Told]) -> None:
        if told:
            self._metrics.told(told)
            self._recorder.record(of, uid, told)

    def _forget(self, of: Name) -> None:
        self._metrics.forget(of)
        if self._uids.pop(of, None):
            self._recorder.forget(of)
