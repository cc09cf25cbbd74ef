"""What every test process needs."""

import signal


def pytest_configure():
    """Let Ctrl-C interrupt: a shell that starts the tests in the background has told them, and whatever they start, to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
