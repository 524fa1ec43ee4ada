"""A shop, as its own people would have written it: a guest in the tests of DLQ Console."""
