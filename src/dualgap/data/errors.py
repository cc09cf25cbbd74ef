"""What is wrong with a file, and where."""


class InputError(ValueError):
    """A file that can not be read as what it should be; the message begins with its name and, where there are lines, line and column.

    Examples
    --------
    >>> print(InputError("a.svm", "an index must be a whole number", line=3, column=7))
    a.svm:3:7: an index must be a whole number
    """

    def __init__(self, file: str, message: str, *, line: int | None = None, column: int | None = None) -> None:
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        super().__init__(f"{file}{place}: {message}")
        self.file, self.line, self.column = file, line, column


def shown(field: bytes) -> str:
    """A field of a file as it is quoted in a message, not all of a long one."""
    text = field[:40].decode("utf-8", "backslashreplace")
    return repr(text + "..." if len(field) > 40 else text)
