"""Everything on a table of one's own: all families and the classical baselines, trained and judged alike."""
