"""The library of Sentiscope: labelled text in, trained and inspectable sentiment classifiers out.

Importing this package costs nothing; torch, pandas and scikit-learn load only in the rooms that need them.
"""

__version__ = "0.1.0"
