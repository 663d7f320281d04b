"""Low-resource use of a sentence space (Li et al. 2020, section 4.4 and appendix B.1).

Read in this order: ``protocol`` (the settings), ``draws`` (which sentences get their labels), ``readout`` (a classifier
on states), ``fewlabels`` (curves over the number of labels, the encoder frozen or fine-tuned), ``plane`` (states as a
picture, and how well labels are told apart where they come from), ``showing`` (their tables and figures),
``injection`` (ways to put a latent into a decoder, as learning curves).
"""
