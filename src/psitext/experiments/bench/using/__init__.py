"""Using psitext: how long a start takes (``startup``), and how fast sentences become vectors (``encoding``)."""
