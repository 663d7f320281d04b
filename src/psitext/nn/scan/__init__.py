"""The recurrence of recurrent arithmetic circuits (RAC), for many models at once, with its own way back.

    h_t = (W_H h_{t-1} + b_H) * u_t,    u_t = W_I x_t + b_I,    * element by element

(Explainable natural language processing with matrix product states, New J. Phys. 24, 053032, 2022; eq. 8 and
section 3.1.) A matrix product state of the same size would make a D x D matrix of every word; here a word costs one
product of W_H with a vector.

Letters: E models, T steps, B sequences, H hidden width, d width of words.
"""
