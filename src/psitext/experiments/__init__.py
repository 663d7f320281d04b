"""Recipes to result lines, result lines to tables, figures and reports."""
