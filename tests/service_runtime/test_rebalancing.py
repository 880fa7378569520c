"""What moves are proposed: by what tenants keep and by what they write."""

from __future__ import annotations

from service_runtime.databases.rebalancing import Load, proposed

GB = 10**9


def load(gigabytes: float, writes: int) -> Load:
    return Load(bytes=int(gigabytes * GB), writes=writes)


def test_databases_that_are_alike_are_let_be():
    alike = {"": load(10, 1000), "east": load(10.5, 1050)}
    assert proposed(alike, {"": {"a": load(5, 500)}, "east": {"b": load(5, 500)}}) == []
    assert proposed({"": load(0, 0), "east": load(0, 0)}, {"": {}, "east": {}}) == []


def test_the_move_that_makes_them_most_alike_comes_first():
    databases = {"": load(10, 0), "east": load(2, 0)}
    (first,) = proposed(databases, {"": {"a": load(1, 0), "b": load(4, 0), "c": load(5, 0)}, "east": {"d": load(2, 0)}})
    assert (first.tenant, first.source, first.target, first.bytes) == ("b", "home", "east", 4 * GB)


def test_of_databases_of_one_size_the_one_that_is_written_to_gives_a_tenant():
    databases = {"": load(10, 9000), "east": load(10, 1000)}
    tenants = {"": {"busy": load(1, 4000), "idle": load(9, 5000)}, "east": {"quiet": load(10, 1000)}}
    first, *_ = proposed(databases, tenants)
    assert (first.tenant, first.source, first.target, first.writes) == ("busy", "home", "east", 4000)


def test_one_that_weighs_more_than_the_difference_stays():
    databases = {"": load(10, 100), "east": load(1, 0)}
    assert proposed(databases, {"": {"alone": load(10, 100)}, "east": {}}) == []
