"""Five layers around a call to another service, in one order: breaker, bulkhead, budget, retry, idempotent call.

For code outside the hub as well: it imports nothing of it. The names are loaded at first use. `RedisState` lives in
`redis_state`, which is the one module that needs a client of Redis.
"""
