"""3-shared (Mohebbi and Rajaee, "Final Report"): adapters that layers share, on GLUE."""
