"""Run the test double until it is stopped."""

import argparse

from .wire import serve


def main() -> None:
    """Read the options, say what this is, and answer."""
    parser = argparse.ArgumentParser(description="A test double of Odoo for Talaria's tools. It is not Odoo.")
    parser.add_argument("--release", type=int, choices=(17, 18, 19), default=19, help="which Odoo to answer like (19)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8069, help="port to listen on, 0 for any free one (8069)")
    parser.add_argument("--database", default="test", help="name of its one database (test)")
    parser.add_argument("--demo", action="store_true", help="begin with projects, contacts, leads and hours")
    options = parser.parse_args()
    serve(options.release, options.host, options.port, options.database, options.demo)


main()
