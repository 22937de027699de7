import pytest

from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO
from cede.model.resources import is_gpu, parse_resources, split_flavor

NO_NAMES = {
    "empty": "",
    "a space": "cpu x",
    "an end that is no letter": "cpu-",
    "two flavors": "cpu@a@b",
    "no flavor after the sign": "cpu@",
    "a slash in the flavor": "cpu@a/b",
    "a line end": "cpu\n",
    "other letters": "çpu",
    "far too long": "c" * 5000,
}

GPUS = {
    "gpu": True,
    "nvidia.com/gpu": True,
    "nvidia.com/gpu@a100": True,
    "vgpu": True,
    "cpu": False,
    "gpu-memory": False,
    "cpu@gpu": False,
    "gpus": False,
}


def test_amounts_are_read_by_name() -> None:
    raw = {"cpu": 2, "memory": "1Ki", "nvidia.com/gpu@a100": 1, "cpu@spot": "500m"}

    assert parse_resources(raw) == {
        "cpu": 2 * NANO,
        "memory": 1024 * NANO,
        "nvidia.com/gpu@a100": NANO,
        "cpu@spot": NANO // 2,
    }


def test_every_wrong_key_is_named() -> None:
    with pytest.raises(InputError) as error:
        parse_resources({"cpu": -1, "memory": 1, "nvidia.com/gpu": "x", 5: 1})

    assert [problem.path for problem in error.value.problems] == ["cpu", '["nvidia.com/gpu"]', "5"]
    assert error.value.problems[0] == Problem("cpu", "-1 is negative; a quantity is 0 or more")


@pytest.mark.parametrize("name", NO_NAMES.values(), ids=NO_NAMES.keys())
def test_what_is_no_resource_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is no resource name"):
        parse_resources({name: 1})


@pytest.mark.parametrize("raw", [None, [], "cpu", 5, True])
def test_what_is_no_object_is_refused(raw: object) -> None:
    with pytest.raises(InputError, match="is no object of resource names"):
        parse_resources(raw)


def test_a_flavor_is_split_from_its_resource() -> None:
    assert split_flavor("nvidia.com/gpu@a100") == ("nvidia.com/gpu", "a100")
    assert split_flavor("cpu") == ("cpu", None)


@pytest.mark.parametrize(("name", "answer"), GPUS.items())
def test_a_gpu_is_told_by_the_end_of_its_name(name: str, answer: bool) -> None:
    assert is_gpu(name) is answer
