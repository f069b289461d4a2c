"""Forecasts held against published measurements: error tables, folds, bands, baselines."""
