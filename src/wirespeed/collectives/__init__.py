"""Collective operations: schedules, what they cost on a cluster, what the library chooses."""
