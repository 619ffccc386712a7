"""Odoo writes a lead's e-mail and phone through to the contact it is linked to. That must be somebody's intention."""

from collections.abc import Mapping

from mcp_gateway.actions.odoo.desk import Desk, Target, same
from mcp_gateway.actions.odoo.rows import linked
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Call

FIELDS = {"email_from": "email", "phone": "phone"}


async def refuse_rewriting(desk: Desk, call: Call, one: Target, row: Row, values: Mapping[str, object]) -> None:
    """Raise Refusal when these values would change the lead's contact; before 18 clearing goes through as well."""
    partner = linked(row.get("partner_id"))
    touched = {field: value for field, value in values.items() if field in FIELDS}
    if partner is None or not touched:
        return
    contact = await desk.one(call, Target("res.partner", partner, f"contact {partner}"), list(FIELDS.values()))
    rewritten = [FIELDS[field] for field, value in touched.items() if not same(contact[FIELDS[field]], value)]
    if rewritten:
        raise Refusal(
            Code.CONFLICT,
            f"Nothing was changed: {one.about} is linked to contact {partner}, and Odoo would give the contact the "
            f"same {' and '.join(rewritten)}. If that is meant, change the contact with odoo_update_contact: its leads "
            f"follow. Otherwise leave {' and '.join(rewritten)} out.",
            {"contact_id": partner},
        )
