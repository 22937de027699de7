import pytest

from cede.model.resources import lookalike

MEANT = {
    "one too many": ("gpus", ["cpu", "memory", "gpu"], "gpu"),
    "capital letters": ("GPU", ["cpu", "gpu"], "gpu"),
    "a short form": ("mem", ["cpu", "memory"], "memory"),
    "the vendor's name, where it is called gpu": ("nvidia.com/gpu", ["cpu", "gpu"], "gpu"),
    "gpu, where it has the vendor's name": ("gpu", ["cpu", "nvidia.com/gpu"], "nvidia.com/gpu"),
    "both": ("gpus", ["cpu", "nvidia.com/gpu"], "nvidia.com/gpu"),
    "a usual name that nobody offers either": ("gpus", ["cpu"], "gpu"),
    "a name of the cluster's own": ("licenses", ["cpu", "license"], "license"),
    "with a flavor": ("gpus@a100", ["gpu@a100"], "gpu"),
    "what is offered": ("gpu@a100", ["gpu"], None),
    "gpu is not cpu": ("gpu", ["cpu"], None),
    "nor is cpu gpu": ("cpu", ["gpu"], None),
    "nothing like it": ("fpga", ["cpu", "memory", "gpu"], None),
}


@pytest.mark.parametrize(("asked", "offered", "meant"), MEANT.values(), ids=MEANT.keys())
def test_a_name_is_taken_for(asked: str, offered: list[str], meant: str | None) -> None:
    assert lookalike(asked, offered) == meant
    assert lookalike(asked, reversed(offered)) == meant
