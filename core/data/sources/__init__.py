"""Where labelled tables come from: the built-in corpus, files, the hub."""
