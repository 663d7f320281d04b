from psitext.errors import near


def test_the_likeliest_names_come_first_and_equals_in_alphabetical_order():
    assert near("sts2", ["stsb", "sst2", "mrpc"]) == "; did you mean 'sst2' or 'stsb'?"
    assert near("lr_", ["lr", "layers"]) == "; did you mean 'lr'?"
    assert near("abcx", ["abca", "abcb", "abcc", "abcd"]) == "; did you mean 'abca', 'abcb' or 'abcc'?"


def test_a_name_like_none_gets_no_suggestion():
    assert near("quantum", ["sst2", "stsb"]) == ""
    assert near("quantum", []) == ""
