"""What the models of each library were to minimize: one module for each.

`READERS` has a function for each class of models by its name, from a fitted model and the data to a `Statement`; `REFUSED` says why others
have none.
"""
