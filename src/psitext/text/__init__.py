"""Text on its way to a batch: rows, examples of tasks, sentences of a corpus, tokens, and batches of them."""
