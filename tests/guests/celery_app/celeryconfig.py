"""How the shop has set up Celery, long before it used DLQ Console."""

import os

broker_url = os.environ["SHOP_BROKER"]
result_backend = os.environ["SHOP_BROKER"]
imports = ("tasks",)
task_default_queue = "shop"
task_serializer = "yaml"
accept_content = ["json", "yaml"]
task_soft_time_limit = 1
task_default_rate_limit = "50/s"
