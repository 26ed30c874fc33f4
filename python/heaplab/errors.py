"""The errors a user can cause or meet, each with the exit status it ends the command with."""


class HeaplabError(Exception):
    """Something a user must be told in one line. `exit_status` is 1: what was asked for could not be done."""

    exit_status = 1


class UsageError(HeaplabError):
    """What was asked for makes no sense: an unknown name, a bad value, a broken file. Exit status 2."""

    exit_status = 2
