"""A test double of Odoo. It is not Odoo and stores nothing: it answers the few models that Talaria's tools use.

It speaks XML-RPC and, as release 19, JSON-2, with the faults, the traps and the rights that were recorded on Odoo
17.0, 18.0 and 19.0; `cases.yml` holds those records, and a test compares. Standard library only, so that it runs
anywhere: `python3 -m tests.stand_ins.odoo --release 19 --port 8069`, or from a copy of this folder by its own name.
"""
