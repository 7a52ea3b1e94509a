"""Run directories and the processes that write them."""
