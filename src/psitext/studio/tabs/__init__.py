"""The tabs, a file each: what is computed, as frozen values; how it is told; and the layout, which imports gradio."""
