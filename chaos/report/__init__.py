"""Reports: a `SweepResult` as text, JSON, JUnit XML, and as files that can be run again."""
