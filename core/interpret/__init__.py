"""What a trace shows for one typed sentence."""
