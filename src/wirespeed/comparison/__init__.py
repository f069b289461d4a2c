"""Measured rows beside a forecast: one place for check, validate, the doctor and diff."""
