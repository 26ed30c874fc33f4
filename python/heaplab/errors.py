"""The errors a user can cause or meet, each with the exit status it ends the command with."""


class HeaplabError(Exception):
    """An error that is reported in one line. Exit status 1: the request could not be carried out."""

    exit_status = 1


class UsageError(HeaplabError):
    """A request that makes no sense: an unknown name, a bad value, a broken file. Exit status 2."""

    exit_status = 2
