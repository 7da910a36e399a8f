"""No signal and no news is missed, whichever thread the kernel picks."""

import subprocess
import sys
import textwrap

CODE = textwrap.dedent(
    """
    import os, signal, threading, time
    from launcher.run.inbox import Inbox

    inbox = Inbox()
    inbox.listen()

    def send():
        for number in range(500):
            inbox.put(number)
            os.kill(os.getpid(), signal.SIGTERM)

    # Idle threads that the kernel may hand a signal to.
    for _ in range(8):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    threading.Thread(target=send, daemon=True).start()
    news, stops = [], 0
    while len(news) < 500 or not stops:
        heard, more = inbox.get(3600.0)
        stops += len(heard)
        news += more
    assert news == list(range(500)), news
    for number, name in ((signal.SIGINT, "INT"), (signal.SIGHUP, "HUP"), (signal.SIGTERM, "TERM")):
        while inbox.get(0.0)[0]:
            pass
        os.kill(os.getpid(), number)
        assert inbox.get(3600.0)[0] == [number], name
    os._exit(0)
    """
)


def test_nothing_is_missed() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)


def test_urged_by_a_second_request_that_is_no_echo() -> None:
    code = textwrap.dedent(
        """
        import os, signal, time
        from launcher.run.inbox import Inbox

        inbox = Inbox()
        inbox.listen()
        assert not inbox.urged
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            inbox.get(3600.0)
            assert not inbox.urged
        time.sleep(0.6)
        os.kill(os.getpid(), signal.SIGCHLD)
        inbox.get(3600.0)
        assert not inbox.urged
        os.kill(os.getpid(), signal.SIGTERM)
        inbox.get(3600.0)
        assert inbox.urged
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
