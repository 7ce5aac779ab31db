"""Where coding agents keep their sessions on this machine, and whether one of them is open: one module an agent."""
