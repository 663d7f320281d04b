"""Numbers as HTML and SVG: tables, figures in the colour of the text around them, circuits, points in a plane."""
