"""From tables to runs: the plan, the jobs, their execution."""
