"""The console: pages, fragments and the JSON API, over rows that workers and people write."""
