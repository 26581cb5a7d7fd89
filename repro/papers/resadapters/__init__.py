"""ResAdapters (Hsu and Wu): SQuAD 2.0 with pipelined, residual adapters."""
