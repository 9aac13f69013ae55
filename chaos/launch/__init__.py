"""Start a target and stop it dead at exact system calls (design section 2). Public face: `model`,
`tracer.trace`, `warm.WarmLauncher`, `doctor.probe`."""
