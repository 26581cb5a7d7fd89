"""What the papers published, and which run would reproduce each cell. Plain data."""
