"""What every table is compared with: predictions that need no encoder. Examples in, labels out."""
