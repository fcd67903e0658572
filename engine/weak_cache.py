"""A cache whose results live as long as the value that they were worked out from."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")
A = TypeVar("A", bound=Hashable)
T = TypeVar("T")


def weak_cache(work: Callable[[V, A], T]) -> Callable[[V, A], T]:
    """Cache a function of a value and of one more argument for as long as the value is in use.

    An `lru_cache` would keep values that nothing else needs any more, or lose results that are needed again.
    The value must be hashable and allow weak references.
    """
    cache: WeakKeyDictionary[V, dict[A, T]] = WeakKeyDictionary()

    @wraps(work)
    def cached(value: V, more: A) -> T:
        results = cache.setdefault(value, {})
        if more not in results:
            results[more] = work(value, more)
        return results[more]

    return cached
