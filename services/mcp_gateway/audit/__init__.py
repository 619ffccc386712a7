"""The audit log: every call is one or two rows of a hash chain and one line of the journal.

Nothing is ever deleted in this release: a chain can only be trusted whole, so an operator who must shrink it stops the
service, moves `audit.db` away and keeps it beside the journal of its time.
"""

from mcp_gateway.audit.entry import AuditUnavailable, Entry
from mcp_gateway.audit.log import AuditLog
from mcp_gateway.audit.receipts import new_receipt

__all__ = ["AuditLog", "AuditUnavailable", "Entry", "new_receipt"]
