"""What a user can mend."""


class InputError(ValueError):
    """An option, a file or the data cannot be used; the message says what and why."""
