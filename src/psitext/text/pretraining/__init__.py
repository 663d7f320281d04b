"""Pre-training data: text becomes a memory-mapped token store once; every epoch cuts keyed samples out of it.

Read in this order: ``store`` (what lies on disk), ``building`` (text into a store), ``pairs`` (an epoch's
sentence pairs), ``masking`` (which words are hidden), ``source`` (both together, as a source of batches).
"""
