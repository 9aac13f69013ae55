"""The crash graph: which images there are, and which kills lead to them."""

from __future__ import annotations

from chaos.report.page.images import START, graph_of
from chaos.results import ScheduleResult, Verdict

A, B, C = "log:a#1/after", "log:b#1/after", "log:c#1/after"


def result(ident: str, schedule: str, merged: str | None = None) -> ScheduleResult:
    return ScheduleResult(ident, schedule, Verdict.PASS, (), "", 1, 1, 0.1, merged)


def test_one_kill_each_makes_no_graph() -> None:
    assert graph_of([]) is None
    assert graph_of([result("0", "run: none"), result("1", f"run: none; run: {A}")]) is None


def test_an_edge_leads_from_image_to_image() -> None:
    results = [
        result("baseline", "run: none"),
        result("a", f"run: {A}"),
        result("b", f"run: {B}", merged="a"),
        result("ab", f"run: {A}; resume: {B}"),
        result("ba", f"run: {B}; resume: {C}", merged="ab"),
    ]
    assert graph_of(results) == {
        "nodes": [[1, 1], [3, 2]],
        # b's image is a's, so what was killed in b's recovery began at a's image too.
        "edges": [[START, 1, 1], [START, 1, 2], [1, 3, 3], [1, 3, 4]],
    }


def test_an_image_is_as_deep_as_the_shortest_way_to_it() -> None:
    results = [
        result("a", f"run: {A}"),
        result("ab", f"run: {A}; resume: {B}"),
        result("b", f"run: {B}", merged="ab"),
    ]
    graph = graph_of(results)
    assert graph is not None
    assert graph["nodes"] == [[0, 1], [1, 1]]


def test_a_launch_without_a_kill_between_two_is_part_of_the_way() -> None:
    results = [
        result("a", f"run: none; run: {A}"),
        result("ab", f"run: none; run: {A}; resume: none; run: {B}"),
        result("end", f"run: none; run: {A}; resume: {B}; resume: none"),
    ]
    graph = graph_of(results)
    assert graph is not None
    assert [edge[0] for edge in graph["edges"]] == [START, 0, 0]


def test_what_is_left_out_by_a_selection_leads_from_the_start() -> None:
    graph = graph_of([result("ab", f"run: {A}; resume: {B}")])
    assert graph == {"nodes": [[0, 2]], "edges": [[START, 0, 0]]}


def test_schedules_that_merge_into_each_other_do_not_go_round() -> None:
    one = result("a", f"run: {A}; resume: {B}", merged="b")
    other = result("b", f"run: {B}; resume: {A}", merged="a")
    assert graph_of([one, other]) is not None


def test_other_families_make_no_edges() -> None:
    results = [
        result("ab", f"run: {A}; resume: {B}"),
        result("loss", f"run: {A}; power-loss: data=0 names=0; resume: none"),
    ]
    graph = graph_of(results)
    assert graph is not None
    assert len(graph["edges"]) == 1
