"""ResAdapters (Hsu and Wu): a cell, three wirings, five table rows."""
