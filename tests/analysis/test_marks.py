from analysis.marks import mark, task_codes


def test_each_row_counts_for_one_thing_only(frame_of, row):
    rows = [
        row(trajectory_id="judged"),
        row(trajectory_id="unknown", outcome=None),
        row(trajectory_id="failed", error="timeout"),
        row(trajectory_id="skipped", error="unusable_input"),
        row(trajectory_id="silent", success=None),
    ]
    marks = mark(frame_of(rows))
    assert marks[["n", "failed", "skipped", "compared"]].astype(int).to_numpy().tolist() == [
        [1, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
    ]
    assert marks["reward_mean"].notna().to_list() == marks["rewarded"].to_list()


def test_the_cells_are_those_of_verdict_and_outcome(frame_of, row):
    said = [(True, 1), (True, 0.5), (False, 1), (False, 0)]
    rows = [
        row(trajectory_id=str(number), success=yes, outcome=was) for number, (yes, was) in enumerate(said)
    ]
    assert mark(frame_of(rows))[["tp", "fp", "fn", "tn"]].to_numpy().argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_a_row_without_task_stands_with_its_trajectory_or_for_itself(frame_of, row):
    rows = [
        row(task_id="007"),
        row(trajectory_id="b", task_id="007"),
        row(trajectory_id="b", task_id="7"),
        row(trajectory_id="c", task_id=None),
        row(trajectory_id="c", task_id=None, repeat=1),
        row(trajectory_id=None, task_id=None),
        row(trajectory_id=None, task_id=None),
    ]
    # The second and third would be one run judged twice.
    rows[2]["repeat"] = 1
    codes = task_codes(frame_of(rows)).tolist()
    assert codes[0] == codes[1] != codes[2]
    assert codes[3] == codes[4]
    assert len(set(codes)) == 5
