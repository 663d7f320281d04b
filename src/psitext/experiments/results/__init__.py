"""What comes of runs: result lines, and the figures, reports, pages and submission files made from them."""
