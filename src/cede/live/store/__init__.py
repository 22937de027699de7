"""What survives: every workload, transition, decision and fact, in one database."""
