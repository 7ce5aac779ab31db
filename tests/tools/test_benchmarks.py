"""The benchmarks' statistics, table and plot; nothing is timed here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks.__main__ import CASES, PAGE, PLOT, main
from tests.benchmarks.figures import Case, Measured, Target, percentile
from tests.benchmarks.plot import svg
from tests.benchmarks.rounds import in_turn
from tests.benchmarks.table import BEGIN, END, machine, table, with_table

RATIO = Case("reading", "ms", Target("ratio", at_most=2), "a plain read")
DIFFERENCE = Case("memory", "MiB", Target("difference", at_most=25), "nothing")
VALUE = Case("lost", "", Target("value", at_most=0))


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (95, 95), (99, 99), (100, 100), (0.5, 1)])
def test_a_percentile_is_the_smallest_value_that_so_many_percent_do_not_exceed(percent: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), percent) == expected


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], 0), ([1.0], 101)])
def test_a_percentile_of_nothing_or_beyond_all_is_refused(values: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, percent)


def test_each_round_is_compared_within_itself() -> None:
    """Both are ten times slower in the second round, and the ratio is the same."""
    assert Measured(RATIO, [3, 30, 3], [2, 20, 2]).compared == 1.5
    assert Measured(DIFFERENCE, [50, 90, 50], [30, 70, 30]).compared == 20
    assert Measured(VALUE, [0, 5, 1]).compared == 1


@pytest.mark.parametrize(
    ("target", "value", "reached"),
    [
        (Target("ratio", at_most=2), 2.0, True),
        (Target("ratio", at_most=2), 2.01, False),
        (Target("ratio", at_least=3), 3.0, True),
        (Target("ratio", at_least=3), 2.99, False),
    ],
)
def test_a_target_is_reached_up_to_its_bound(target: Target, value: float, reached: bool) -> None:
    assert target.reached_by(value) is reached


@pytest.mark.parametrize(("ours", "yardstick"), [([], []), ([1.0], []), ([1.0, 2.0], [1.0])])
def test_a_round_without_its_yardstick_is_refused(ours: list[float], yardstick: list[float]) -> None:
    with pytest.raises(ValueError, match="reading"):
        Measured(RATIO, ours, yardstick)


def test_all_take_turns_in_each_round_and_another_one_begins_the_next() -> None:
    order: list[str] = []

    def measure(name: str, figure: float) -> float:
        order.append(name)
        return figure

    figures = in_turn(2, lambda: measure("a", 1), lambda: measure("b", 2))
    assert (order, figures) == (["a", "b", "b", "a"], [[1, 1], [2, 2]])


def test_a_row_has_median_and_spread_its_yardstick_and_the_ratio_last() -> None:
    rows = [
        Measured(RATIO, [4.0, 5.0, 12345.6], [2.0, 2.5, 4.0]),
        Measured(DIFFERENCE, [67.25], [39.5]),
        Measured(VALUE, [0, 0]),
        Measured(replace(RATIO, target=Target("ratio")), [1.0], [2.0]),
    ]
    assert table(rows).splitlines()[2:] == [
        "| reading | 5 (4 to 12,346) ms | 2.5 (2 to 4) ms | a plain read | at most 2.00 times | yes | 2.00 times |",
        "| memory | 67.2 MiB | 39.5 MiB | nothing | at most +25.0 MiB | **no** | +27.8 MiB |",
        "| lost | 0 (0 to 0) |  |  | at most 0 | yes |  |",
        "| reading | 1 ms | 2 ms | a plain read |  |  | 0.50 times |",
    ]


def test_a_page_keeps_all_but_its_table() -> None:
    page = with_table(f"before\n{BEGIN}old\n{END}after\n", "A machine.", [Measured(VALUE, [0])])
    assert page.startswith(f"before\n{BEGIN}A machine.\n\n| what |")
    assert page.endswith(f"| lost | 0 |  |  | at most 0 | yes |  |\n{END}after\n")


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        with_table("nothing\n", "A machine.", [])


def test_a_machine_is_named_without_a_host_or_a_path() -> None:
    import platform

    assert platform.python_version() in machine()
    assert platform.node() not in machine()
    assert str(Path.home()) not in machine()


def test_the_page_has_a_row_for_each_case() -> None:
    latest = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in latest.splitlines() if line.startswith("| ")]
    assert rows[1:] == [case.name for case in CASES]


def test_a_plot_is_sound_xml_in_which_every_line_is_named() -> None:
    lines = {"search <all>": [1.0, 10.0, 100.0], "append": [0.5, 0.5, 0.5]}
    texts = [one.text for one in ElementTree.fromstring(svg("Growth", ["1x", "10x", "100x"], lines)).iter() if one.text]
    assert {"Growth", "1x", "10x", "100x", "search <all>", "append", "0.1 ms", "100 ms"} <= set(texts)


def test_the_page_shows_the_plot() -> None:
    assert f"]({PLOT.name})" in PAGE.read_text(encoding="utf-8")
    ElementTree.parse(PLOT)


def test_a_benchmark_that_is_not_there_is_told_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "documentz"]) == 2
    told = capsys.readouterr()
    assert (told.out, "documentz" in told.err, "buffer_append" in told.err) == ("", True, True)
