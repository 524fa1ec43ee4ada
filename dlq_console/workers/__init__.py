"""The processes that run events: the table runner, the Celery worker, and the periodic steps both can host."""
