"""One loop that trains a group of runs on one frozen backbone."""
