"""Further text tasks: the 17 sets of Houlsby et al. (section 3.3), and SICK."""
