"""The library of Sentiscope. Importing it costs nothing: heavy packages load only in the rooms that need them."""

__version__ = "0.1.0"
