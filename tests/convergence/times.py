"""Times for an election that tests need not wait for long."""

from redisop.live.lease import Times

TIMES = Times(lease_duration=3.0, renew_deadline=2.0, renew_period=0.4)
