"""One page for each question; a page reads the selection, calls one cached function, draws, and offers the export."""
