"""The models that come with psitext, from their recipes to their folders: trained, packed, judged, described.

Read ``plan`` first (what ships), then ``packing`` and ``card``; ``judging`` holds the ways that their queues have and
others have not. ``python -m psitext.experiments.shipping`` does all of it that is missing (``make models``).
"""
