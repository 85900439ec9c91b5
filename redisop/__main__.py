"""`python -m redisop`."""

from redisop.cli import main

main()
