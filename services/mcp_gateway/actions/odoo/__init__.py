"""What the four Odoo toolsets share: checks of values, texts, searches, and writes that can be repeated and undone."""
