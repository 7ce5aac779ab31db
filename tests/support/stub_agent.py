"""A stub agent: speaks the Agent Client Protocol as a script says. Standard library only, so it starts in a moment.

`python stub_agent.py '{"pieces": ["a", "b"]}'`; the keys of the script:

pieces          texts, each told as a message chunk; the answer
big             so many characters as one piece, instead
thoughts        texts told as thoughts
stop            the stop reason (default end_turn); None: no answer to the prompt at all
usage           the usage that the answer to the prompt tells
early           a text told as a message before the prompt
other_session   a text told as a message of another session
ask             options of a permission request sent during the prompt; its outcome is recorded
ask_times       how often that is requested (default once)
call            methods called at the client during the prompt; what came back is recorded
tool            fields of a tool_call update sent during the prompt; then it waits for ever
models          {"config": [...]} or {"legacy": [...]}: the models offered, the first is the current one
error           {method: JSON-RPC error object}: answered instead
result          {method: result}: answered instead
auth_methods    told in the handshake
version         the protocol version (default 1)
crash           "start", "initialize", "session/new", "prompt", "middle": ends there with `code` (default 3)
close           "middle": closes its output there and lives on
hang            "start", "initialize", "session/new", "prompt", "middle": never answers there; "deaf": reads nothing
                after it has opened a session
noise           lines printed to standard output before anything else
stderr          text written to standard error at the start
stderr_bytes    so many bytes written to standard error in each phase
stderr_at_prompt  text written to standard error before the answer
last_words      raw text written to standard output after the chunks, before a crash
children        starts a child in the group and a daemon of its own session; pids go to this file
chain           so many generations of processes, each the child of the one before, in a session of its own, without an
                environment and deaf to SIGTERM; their command lines hold the record's path
lock_up         the mode that its run's folder and its working folder get at the prompt
stay            does not end when its input does
stubborn        ignores SIGTERM, and so do its children
record          a file that gets what it was given, as JSON, after each message
pause           the same phases: waits there for a line
say             a FIFO: a line is written there when it hangs or pauses
go              a FIFO: the line that it waits for when it pauses
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

STUBBORN_SLEEP = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"

CHAIN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
generations = int(sys.argv[1])
while generations and not os.fork():
    os.setsid()
    generations -= 1
if not generations:
    os.write(1, b"here")
    os.close(1)
time.sleep(60)
"""


class Stub:
    """One run of the stub."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.record: dict[str, Any] = {
            "pid": os.getpid(),
            "cwd": os.getcwd(),
            "files": sorted(os.listdir(".")),
            "environment": dict(os.environ),
            "arguments": sys.argv,
            "group": os.getpgid(0),
            "descriptors": descriptors(),
            "signals": {number: signal.getsignal(number) == signal.SIG_DFL for number in (1, 3, 15)},
            "methods": [],
        }
        self.session = f"session-{os.getpid()}"
        self.asked = 0

    def run(self) -> None:
        if self.script.get("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if "children" in self.script:
            self.start_children(Path(self.script["children"]))
        if "chain" in self.script:
            self.start_chain(self.script["chain"])
        self.save()
        for line in self.script.get("noise", []):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        self.log(self.script.get("stderr", ""))
        self.reach("start")
        for line in sys.stdin:
            self.receive(json.loads(line))
        self.record["eof"] = True
        self.save()
        if self.script.get("stay"):
            self.wait()

    def start_children(self, told: Path) -> None:
        """One in the group, and one daemon: its parent is gone, its session its own."""
        sleep = STUBBORN_SLEEP if self.script.get("stubborn") else "import time; time.sleep(300)"
        child = subprocess.Popen([sys.executable, "-S", "-c", sleep], stdin=subprocess.DEVNULL)
        daemon = (
            "import subprocess, sys; nothing = subprocess.DEVNULL; "
            "command = [sys.executable, '-S', '-c', sys.argv[1]]; "
            "print(subprocess.Popen(command, start_new_session=True, stdout=nothing, stderr=nothing).pid)"
        )
        asked = subprocess.run(
            [sys.executable, "-S", "-c", daemon, sleep], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True
        )
        new = told.with_suffix(".new")
        new.write_text(json.dumps([child.pid, int(asked.stdout)]))
        new.replace(told)

    def start_chain(self, generations: int) -> None:
        """Returns when the last of them is there."""
        command = [sys.executable, "-S", "-c", CHAIN, str(generations), self.script["record"]]
        first = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={})
        assert first.stdout is not None
        first.stdout.read(4)

    def receive(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self.record.setdefault("replies", []).append(message)
            self.save()
            return
        self.record["methods"].append(method)
        self.record[method] = message.get("params")
        self.save()
        if "id" not in message:
            return
        self.log("x" * self.script.get("stderr_bytes", 0))
        phase = "prompt" if method == "session/prompt" else method
        self.reach(phase)
        error = self.script.get("error", {}).get(method)
        if error is not None:
            send({"id": message["id"], "error": error})
        elif method in self.script.get("result", {}):
            send({"id": message["id"], "result": self.script["result"][method]})
        else:
            answer = self.answer(method)
            if answer is not None:
                send({"id": message["id"], "result": answer})
            if method == "session/new":
                self.reach("deaf")

    def answer(self, method: str) -> dict[str, Any] | None:
        match method:
            case "initialize":
                methods = self.script.get("auth_methods", [])
                return {"protocolVersion": self.script.get("version", 1), "authMethods": methods}
            case "session/new":
                return self.new_session()
            case "session/prompt":
                return self.prompt()
        return {}

    def new_session(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"sessionId": self.session}
        models = self.script.get("models", {})
        if "config" in models:
            names = models["config"]
            options = [{"value": name, "name": name.title()} for name in names]
            answer["configOptions"] = [
                {"id": "mode", "category": "mode", "type": "select", "currentValue": "ask", "options": []},
                {
                    "id": "the-model",
                    "name": "Model",
                    "category": "model",
                    "type": "select",
                    "currentValue": names[0],
                    "options": [*options[:1], {"group": "more", "name": "More", "options": options[1:]}]
                    if models.get("groups")
                    else options,
                },
            ]
        if "legacy" in models:
            names = models["legacy"]
            known = [{"modelId": name, "name": name.title()} for name in names]
            answer["models"] = {"currentModelId": names[0], "availableModels": known}
        if "early" in self.script:
            self.tell("agent_message_chunk", self.script["early"])
        return answer

    def prompt(self) -> dict[str, Any] | None:
        self.log(self.script.get("stderr_at_prompt", ""))
        if "lock_up" in self.script:
            for folder in (".", ".."):
                os.chmod(os.path.abspath(folder), self.script["lock_up"])
        for text in self.script.get("thoughts", []):
            self.tell("agent_thought_chunk", text)
        if "other_session" in self.script:
            self.tell("agent_message_chunk", self.script["other_session"], session="another")
        if "ask" in self.script:
            tool = {"toolCallId": "t"}
            for _ in range(self.script.get("ask_times", 1)):
                self.call("session/request_permission", {"toolCall": tool, "options": self.script["ask"]})
        for method in self.script.get("call", []):
            self.call(method, {"path": "/etc/hosts"})
        if "tool" in self.script:
            update = {"toolCallId": "t1", **self.script["tool"]}
            send({"method": "session/update", "params": {"sessionId": self.session, "update": update}})
            self.wait()
        pieces = self.script.get("pieces", ["a summary"])
        if "big" in self.script:
            pieces = ["x" * self.script["big"]]
        for number, text in enumerate(pieces):
            if number == (len(pieces) + 1) // 2:
                self.reach("middle")
            self.tell("agent_message_chunk", text)
        if len(pieces) < 2:
            self.reach("middle")
        reason = self.script.get("stop", "end_turn")
        if reason is None:
            return None
        return {"stopReason": reason, **({"usage": self.script["usage"]} if "usage" in self.script else {})}

    def call(self, method: str, params: dict[str, Any]) -> None:
        """Asks the client and waits for its answer."""
        self.asked += 1
        send({"id": f"stub-{self.asked}", "method": method, "params": {"sessionId": self.session, **params}})
        reply = json.loads(sys.stdin.readline() or "null")
        self.record.setdefault("replies", []).append(reply)
        self.save()

    def tell(self, kind: str, text: str, session: str | None = None) -> None:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        send({"method": "session/update", "params": {"sessionId": session or self.session, "update": update}})

    def reach(self, phase: str) -> None:
        """What the script does in that phase."""
        if self.script.get("crash") == phase:
            sys.stdout.write(self.script.get("last_words", ""))
            sys.stdout.flush()
            os._exit(self.script.get("code", 3))
        if self.script.get("close") == phase:
            os.close(1)
            self.wait()
        if self.script.get("hang") == phase:
            self.wait()
        if self.script.get("pause") == phase:
            go = os.open(self.script["go"], os.O_RDWR)
            self.say()
            os.read(go, 100)

    def say(self) -> None:
        """Opened for both ways, so that nobody need be reading yet; held until the end, so that the line stays."""
        if "say" in self.script:
            os.write(os.open(self.script["say"], os.O_RDWR), b"here\n")

    def wait(self) -> NoReturn:
        """Waits for ever, taking notice of what comes in."""
        self.say()
        if self.script.get("hang") == "deaf":
            threading.Event().wait()
        for line in sys.stdin:
            message = json.loads(line)
            self.record["methods"].append(message.get("method"))
            self.save()
        self.record["eof"] = True
        self.save()
        if self.script.get("stay") or self.script.get("stubborn"):
            threading.Event().wait()
        os._exit(0)

    def log(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def save(self) -> None:
        if "record" in self.script:
            path = Path(self.script["record"])
            new = path.with_suffix(".new")
            new.write_text(json.dumps(self.record))
            new.replace(path)


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def descriptors() -> list[int]:
    """The open descriptors, where the system tells; that of the listing itself is not among them."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return []
    return sorted(int(name) for name in names if os.path.exists(f"/proc/self/fd/{name}"))


if __name__ == "__main__":
    Stub(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}).run()
