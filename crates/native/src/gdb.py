"""A recorded execution in gdb: stops at its steps, hides the runtime's frames, tells what each thread is about to do.

The story (threads, steps, errors) is a file that the command writes; the program runs by itself, and this only watches it.
"""

import itertools
import json
import os

import gdb

with open(os.environ["REWEAVE_STORY"], encoding="utf-8") as file:
    STORY = json.load(file)
STEPS = STORY["steps"]
AT_STEP, AT_ERROR, AT_END = 1, 2, 3
PLACES = {}
SYSTEM = ("/lib", "/usr/lib", "/usr/include")
# Frames in which the user's own are looked for.
FAR = 100


def address(name):
    """Where a variable of the runtime's is."""
    return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))


def read(name, size=8, index=0):
    """A number in the runtime's memory."""
    memory = gdb.selected_inferior().read_memory(PLACES[name] + index * size, size)
    return int.from_bytes(bytes(memory), "little")


def write(name, value, size=8):
    gdb.selected_inferior().write_memory(PLACES[name], value.to_bytes(size, "little"))


def ours(frame):
    """Whether a frame is the runtime's, or leads to it, and not the program's. Where a thread began there is none."""
    aside = frame.pc() == 0 or frame.type() == gdb.SIGTRAMP_FRAME
    return aside or "libreweave_runtime" in (gdb.solib_name(frame.pc()) or "")


def outwards(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


def users(frame):
    """Whether a frame is somebody's own code, with lines, and not the system's."""
    where = frame.find_sal().symtab
    library = gdb.solib_name(frame.pc()) or ""
    return where is not None and not library.startswith(SYSTEM) and not where.fullname().startswith(SYSTEM)


def in_program(frame):
    """The innermost frame that a user wrote; else the innermost that is not the runtime's; else the innermost."""
    program = [it for it in itertools.islice(outwards(frame), FAR) if not ours(it)]
    return next(filter(users, program), program[0] if program else frame)


class WithoutRuntime:
    """Backtraces begin where the program is, and end where it began."""

    name, priority, enabled = "reweave", 100, True

    def filter(self, frames):
        frames = iter(frames)
        kept = (it for it in frames if not ours(it.inferior_frame()))
        first = next(kept, None)
        return kept if first is None else itertools.chain([first], kept)


def running():
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("the execution is over")


def told(step):
    """A step in words."""
    it = STEPS[step - 1]
    return f"step {step} of {len(STEPS)}: {STORY['threads'][it['thread']]['name']}: {it['what']}"


class Stop(gdb.Breakpoint):
    """Where the runtime says that something happens."""

    def __init__(self):
        super().__init__("*reweave_stop", internal=True)
        self.silent = True
        self.why, self.what = None, "nothing has happened yet"

    def stop(self):
        frame = gdb.newest_frame()
        self.why, which = (int(frame.read_register(name)) for name in ("rdi", "rsi"))
        if self.why == AT_STEP:
            self.what = f"about to do {told(which)}" if which <= len(STEPS) else "beyond the recorded steps"
        elif self.why == AT_ERROR:
            steps = read("reweave_done")
            self.what = f"{f'after step {steps}' if steps else 'before step 1'}: {error(which)}"
        else:
            self.what = f"the execution is at its end: {STORY['end']}"
        return True


def error(index):
    errors = STORY["errors"]
    return errors[index] if index < len(errors) else "an error that was not recorded"


def show(_=None):
    """Where the execution is, with the program's own frame selected."""
    frame = in_program(gdb.newest_frame())
    frame.select()
    gdb.execute("frame")


def stopped(event):
    if isinstance(event, gdb.BreakpointEvent) and STOP in event.breakpoints:
        print(f"reweave: {STOP.what}")
        show()
    elif ours(gdb.newest_frame()):
        show()


def wish(index):
    """What a thread does next."""
    for step in range(read("reweave_done") + 1, len(STEPS) + 1):
        if STEPS[step - 1]["thread"] == index:
            return f"step {step}: {STEPS[step - 1]['what']}"
    return STORY["threads"][index]["pending"] or "nothing more"


def place(frame):
    if ours(frame):
        return "not in the program"
    where = frame.find_sal()
    name = frame.name() or "??"
    return f"{name} at {where.symtab.filename}:{where.line}" if where.symtab else name


class Threads(gdb.Command):
    """reweave-threads: all threads of the program, where each of them is, and what it does next."""

    def __init__(self):
        super().__init__("reweave-threads", gdb.COMMAND_STATUS)

    def invoke(self, _, from_tty):
        running()
        chosen, frame = gdb.selected_thread(), gdb.selected_frame()
        numbers = {read("reweave_numbers", 4, index): index for index in range(len(STORY["threads"]))}
        found = [(numbers[it.ptid[1]], it) for it in gdb.selected_inferior().threads() if it.ptid[1] in numbers]
        for index, thread in sorted(found, key=lambda it: it[0]):
            thread.switch()
            mark = "*" if thread.num == chosen.num else " "
            name = STORY["threads"][index]["name"]
            print(f"{mark} {thread.num}  {name}  {place(in_program(gdb.newest_frame()))}  next: {wish(index)}")
        chosen.switch()
        frame.select()


class Where(gdb.Command):
    """reweave-where: how far the execution is."""

    def __init__(self):
        super().__init__("reweave-where", gdb.COMMAND_STATUS)

    def invoke(self, _, from_tty):
        running()
        print(f"reweave: {STOP.what}")
        show()


class Step(gdb.Command):
    """reweave-step [N]: goes on to the next step, or the Nth from here, in whichever thread it is."""

    def __init__(self):
        super().__init__("reweave-step", gdb.COMMAND_RUNNING)

    def invoke(self, count, from_tty):
        running()
        go_to(read("reweave_begun") + (int(gdb.parse_and_eval(count)) if count else 1))


class Until(gdb.Command):
    """reweave-until STEP: goes on to this step."""

    def __init__(self):
        super().__init__("reweave-until", gdb.COMMAND_RUNNING)

    def invoke(self, step, from_tty):
        running()
        step = int(gdb.parse_and_eval(step)) if step else 0
        if not read("reweave_begun") < step <= len(STEPS):
            raise gdb.GdbError(f"a step from {read('reweave_begun') + 1} to {len(STEPS)} is expected")
        go_to(step)


def go_to(step):
    write("reweave_stop_at", step)
    gdb.execute("continue")


class Return(gdb.Command):
    """reweave-return: goes on until the runtime returns to the program, in this thread. `next` and `step` begin with it."""

    def __init__(self):
        super().__init__("reweave-return", gdb.COMMAND_RUNNING)

    def invoke(self, _, from_tty):
        running()
        thread = gdb.selected_thread()
        inside = list(itertools.takewhile(ours, outwards(gdb.newest_frame())))
        if not inside:
            return
        caller = inside[-1].older()
        if caller is None or STOP.why == AT_END:
            raise gdb.GdbError("this thread does not go on")
        line = caller.find_sal().line
        inside[-1].select()
        gdb.execute("finish", to_string=True)
        if gdb.selected_thread() is None or gdb.selected_thread().num != thread.num or ours(gdb.newest_frame()):
            raise gdb.GdbError("this thread does not come that far")
        here = gdb.selected_frame()
        if here.find_sal().line != line and here.pc() == here.find_sal().pc:
            raise gdb.GdbError("the next line begins here")


def silently(command):
    """For what gdb prints although nobody asked."""
    gdb.flush()
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        gdb.execute(command, to_string=True)
    finally:
        gdb.flush()
        os.dup2(out, 1)
        os.close(out)
        os.close(nowhere)


def attach():
    gdb.execute("set print thread-events off")
    gdb.execute("set breakpoint pending off")
    # The runtime catches these, and tells what they mean.
    gdb.execute("handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGXCPU nostop noprint pass", to_string=True)
    silently(f"attach {STORY['process']}")
    gdb.execute("set scheduler-locking off")
    # In the runtime's own frames expressions would be Rust's.
    gdb.execute("set language c", to_string=True)
    for name in ("reweave_attached", "reweave_stop_at", "reweave_begun", "reweave_done", "reweave_numbers"):
        PLACES[name] = address(name)
    gdb.execute("set language auto")
    gdb.execute("skip -gfi */runtime/src/*", to_string=True)
    for command in ("next", "step"):
        gdb.execute(f"define hook-{command}\nreweave-return\nend")
    gdb.frame_filters[WithoutRuntime.name] = WithoutRuntime()
    for command in (Threads, Where, Step, Until, Return):
        command()


try:
    attach()
except gdb.error as why:
    gdb.write(f"{why}\n", gdb.STDERR)
    gdb.execute("quit 97")
STOP = Stop()
gdb.events.stop.connect(stopped)
write("reweave_stop_at", STORY["until"])
write("reweave_attached", 1, 4)
print("reweave: reweave-step [N], reweave-until STEP, reweave-threads, reweave-where; continue goes on to the next error")
gdb.execute("continue")
