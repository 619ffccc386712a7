"""`make bench`: every measurement, one table. Exit status 1 when a bound is missed."""

import sys

from bench import deploy, gateway_calls, odoo, vault
from bench.table import table

if __name__ == "__main__":
    ratios = [*gateway_calls.measure(), *vault.measure(), *odoo.measure(), *deploy.measure()]
    print(table(ratios))
    sys.exit(0 if all(one.kept for one in ratios) else 1)
