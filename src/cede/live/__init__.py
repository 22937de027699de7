"""The running scheduler: controller, store, executors, checkpoint broker and API around the engine's driver.

Whatever asks the clock, writes a file, starts a process or opens a socket belongs here. Rules and decisions do not.
"""
