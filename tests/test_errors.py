import pickle
from pathlib import Path

import pytest

from psitext.errors import Unfit, Unknown, UserError, near
from psitext.experiments.runs.folder import Taken
from psitext.files import Unwritten


def test_the_likeliest_names_come_first_and_equals_in_alphabetical_order():
    assert near("sts2", ["stsb", "sst2", "mrpc"]) == "; did you mean 'sst2' or 'stsb'?"
    assert near("lr_", ["lr", "layers"]) == "; did you mean 'lr'?"
    assert near("abcx", ["abca", "abcb", "abcc", "abcd"]) == "; did you mean 'abca', 'abcb' or 'abcc'?"


def test_a_name_like_none_gets_no_suggestion():
    assert near("quantum", ["sst2", "stsb"]) == ""
    assert near("quantum", []) == ""


def test_a_name_is_looked_for_among_those_that_a_caller_adds():
    error = Unknown("there is no model at vectosr", "vectosr", ["bert-tiny"], "; a list has the names")
    assert str(error) == "there is no model at vectosr; a list has the names"
    assert error.among(["vectors"]) == "there is no model at vectosr; did you mean 'vectors'?"


@pytest.mark.parametrize(
    "error",
    [
        Unknown("no x", "x", ["xy"], "; or so"),
        Unfit("a.toml", " lacks 'b'"),
        Taken("a is taken", "go"),
        Unwritten(Path("a"), "the disk is full", "b is kept"),
        UserError("so"),
    ],
)
def test_errors_travel_between_processes(error: UserError):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
