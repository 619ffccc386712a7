"""The gateway's side of approvals: a person is asked first, and what was approved is run once."""
