"""The supervisor: launches, kills, relaunches, and hands the evidence to the judge."""
