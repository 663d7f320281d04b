"""Scores: losses, metrics, statistics over seeds and examples, calibration. Pure functions of predictions; no model
enters.
"""
