"""What is kept of a record that is deleted, so that it can be made again."""

# Fields that 17, 18 and 19 have, and that a lead loses when it goes. Messages, activities and files cannot be kept.
LEAD_FIELDS = (
    "id",
    "name",
    "type",
    "active",
    "partner_id",
    "partner_name",
    "contact_name",
    "email_from",
    "phone",
    "function",
    "website",
    "street",
    "zip",
    "city",
    "country_id",
    "description",
    "expected_revenue",
    "probability",
    "priority",
    "date_deadline",
    "stage_id",
    "team_id",
    "user_id",
    "tag_ids",
)
LINE_FIELDS = ("id", "name", "date", "unit_amount", "project_id", "task_id", "employee_id", "user_id")
