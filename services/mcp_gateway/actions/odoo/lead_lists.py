"""The stages of the pipeline, and the leads that stand in it."""

from collections.abc import Mapping

from pydantic import Field

from mcp_gateway.actions.odoo import checks, folding
from mcp_gateway.actions.odoo.candidates import candidates
from mcp_gateway.actions.odoo.desk import Desk, target
from mcp_gateway.actions.odoo.projects import LIMIT
from mcp_gateway.actions.odoo.rows import label, listed, said
from mcp_gateway.ports.odoo.port import Row
from mcp_gateway.tools import Arguments, Call, Tool

LEAD, STAGE = "crm.lead", "crm.stage"
SHOWN = ("id", "name", "stage_id", "partner_id", "contact_name", "partner_name", "expected_revenue", "probability")
SEARCHED = ("name", "contact_name", "partner_name")
STAGE_ID = "Id from crm_list_stages"


class NoArguments(Arguments):
    """Arguments of crm_list_stages."""


class ListLeads(Arguments):
    """Arguments of crm_list_leads."""

    stage_id: int | None = Field(None, description=STAGE_ID)
    query: str | None = Field(None, description="Part of the title, contact or company; case and accents do not matter")
    limit: int | None = Field(None, description=LIMIT)


def list_tools(desk: Desk) -> list[Tool]:
    """The two tools that only read."""

    async def list_stages(call: Call, given: NoArguments) -> Mapping[str, object]:
        fields = ["name", "sequence", "is_won"]
        rows = await desk.port.search_read(call, STAGE, [], fields, limit=checks.MAX_LIMIT, order="sequence, id")
        return listed("stages", rows, _stage, len(rows))

    async def list_leads(call: Call, given: ListLeads) -> Mapping[str, object]:
        return await _list(desk, call, given)

    return [
        Tool("crm_list_stages", "crm", "List the stages of the sales pipeline.", NoArguments, list_stages),
        Tool(
            "crm_list_leads",
            "crm",
            "List leads and opportunities, newest first. Lost ones are left out.",
            ListLeads,
            list_leads,
        ),
    ]


async def _list(desk: Desk, call: Call, given: ListLeads) -> Mapping[str, object]:
    limit, note = checks.limit(given.limit)
    domain: list[object] = []
    if given.stage_id is not None:
        domain.append(("stage_id", "=", checks.record_id(given.stage_id, "CRM stage")))
    if given.query is not None:
        wanted = folding.query(given.query, "query")
        ids, whole = await candidates(desk.port, call, LEAD, wanted, SEARCHED, domain)
        rows = await desk.port.read(call, LEAD, ids[:limit], SHOWN, "these leads") if ids else []
        total, more = len(ids), "" if whole else "There may be more: the search is broad. Give more of the name."
    else:
        rows = await desk.port.search_read(call, LEAD, domain, SHOWN, limit=limit, order="id desc")
        total = len(rows) if len(rows) < limit else await desk.port.count(call, LEAD, domain)
        more = ""
    if not rows and given.stage_id is not None:
        await desk.one(call, target(STAGE, given.stage_id, "CRM stage"), ["name"])
    return listed("leads", rows, _lead, total, [note, more])


def _stage(row: Row) -> dict[str, object]:
    return {"id": row["id"], "name": row["name"], "sequence": row["sequence"], "is_won": bool(row["is_won"])}


def _lead(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "name": row["name"] or "",
        "stage": label(row["stage_id"]),
        "contact": label(row["partner_id"]) or said(row["contact_name"]) or said(row["partner_name"]),
        "expected_revenue": row["expected_revenue"],
        "probability": row["probability"],
    }
