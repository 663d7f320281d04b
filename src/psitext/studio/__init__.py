"""The studio: a page on this machine that shows states, measurements, circuits, writing and neighbours.

Read in this order: ``models`` (what is on offer, and to which tab), ``bounds`` (what may be typed and uploaded),
``work`` (one at a time, and for how long), ``tabs`` (a file each: the computation, the words, the layout), ``shown``
(numbers as HTML and SVG), ``page``, ``serving``. Only layouts, ``work``, ``page`` and ``serving`` import gradio, in
their functions.
"""
