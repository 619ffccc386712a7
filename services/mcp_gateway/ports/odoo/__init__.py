"""Odoo 17 to 19 behind one door, whichever of its two languages it is spoken to in."""

from mcp_gateway.ports.odoo.port import OdooPort

__all__ = ["OdooPort"]
