"""What starts and ends the processes of workloads; one package a place where they run."""
