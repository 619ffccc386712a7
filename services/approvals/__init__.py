"""Asks a person before a sensitive call runs: requests, decisions and their outcomes, kept durably."""
