"""The count of private words sees prose, and nothing else."""

import re

from tests import plain_words


def test_comments_and_messages_are_prose_and_names_are_not():
    """A parameter may still have an old name while sentences around it are plain."""
    text = '# what is behind it\nbehind = call("nobody")\n'
    assert [part for _, part in plain_words.prose("a.py", text)] == ["# what is behind it", '"nobody"']


def test_each_word_says_what_to_write_instead():
    """A list of faults without advice is of no use to the person who mends them."""
    for pattern, instead in plain_words.WORDS.values():
        re.compile(pattern)
        assert instead
