"""test_hostile.py PROGRAM: configs that attack, names that lead elsewhere and sizes beyond the
machine. Whatever the text is, the program says one line, ends with 2 within two seconds of the
processor's time and 256 MiB, and has written nothing. The last line counts the checks."""

import glob
import os
import re

from program import (WORK, Count, commands_a_terminal, lines, side_by_side, start, write_bytes)

SECONDS, MEMORY = 2, 256
COUNT = Count()
TINY = ("{ task = { 'copy', alphabet = 8 }, model = { layers = 1, width = 16, heads = 2 }, "
        "train = { steps = 2, length = 16, tokens = 32 } }")
BODY = "task = 'copy', train = { steps = 10, length = 16 }"
MEMORY_OF_MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def path_of(name):
    return os.path.join(WORK, name)


def write(name, text):
    path = path_of(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_bytes(path, text if isinstance(text, bytes) else text.encode())
    return path


def refused(what, ended, count=1):
    good = (ended.code == 2 and len(lines(ended.err)) == count and ended.cpu < SECONDS and
            ended.memory < MEMORY and not commands_a_terminal(ended.err) and
            all(len(line) < 1100 for line in lines(ended.err)))
    return COUNT.holds(f"{what} is refused, lines: {count}, {SECONDS} s, {MEMORY} MiB", good,
                       ended)


# ---- configs -------------------------------------------------------------------------------------


def test_config_files():
    """What tests/test_config.c reads, by the program itself."""
    paths = sorted(glob.glob("tests/bad_configs/hostile_*.lua"))

    def read(path):
        return start("check", path)

    for path, ended in zip(paths, side_by_side(read, paths)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        expected = re.findall("^-- expect: (.*)$", text, re.M)
        slow = re.findall("^-- on a slow machine: (.*)$", text, re.M)
        refused(path, ended, len(expected))
        said = lines(ended.err)
        COUNT.holds(f"{path} says what is expected",
                    all(line in said or "<" in line for line in expected) or said[0] in slow, ended)
    COUNT.holds("there are many", len(paths) > 40)


# Text, and a part of what has to be said of it.
TEXTS = {
    "parentheses in parentheses": ("return " + "(" * 100000, "nested too deeply"),
    "functions in functions": ("return " + "function() return " * 300, "nested too deeply"),
    "blocks in blocks": ("do " * 300, "nested too deeply"),
    "a chain of else": ("if a then " + "else if a then " * 300, "nested too deeply"),
    "a chain of texts": ("return " + "'a' .. " * 100000 + "'a'", "nested too deeply"),
    "a chain of signs": ("return " + "- " * 100000 + "1", "nested too deeply"),
    "a chain of not": ("return " + "not " * 100000 + "1", "nested too deeply"),
    "too many variables": ("local a" + ",a" * 300, "too many local variables"),
    "a number of 900000 digits": (f"return {{ {BODY}, seed = {'9' * 900000} }}", "seed: got inf"),
    "a hexadecimal one": (f"return {{ {BODY}, seed = 0x{'f' * 900000} }}", "seed: got -1;"),
    "a text as a number": (f"return {{ {BODY}, seed = tonumber(('9'):rep(1e6)) }}",
                           "seed: got inf"),
    "one in base 36": (f"return {{ {BODY}, seed = tonumber(('z'):rep(1e6), 36) }}",
                       "seed: got -1;"),
    "900000 semicolons": (";" * 900000, "returns nothing"),
    "a text without end": ("return '" + "x" * 900000, "unfinished string"),
    "a long text without end": ("return [==[" + "x" * 900000, "unfinished long string"),
    "an error of a mebibyte": ("error(('x'):rep(1 << 20))", ".lua:1: xxxx"),
    "an error with escapes": ("error('a\\27[2J\\xc2\\x9b2Jb')", "a?[2J?2Jb"),
    "sorting long texts that are equal for long": (
        "local long, t = {}, {} for i = 1, 30 do long[i] = ('x'):rep(1 << 20) .. i end\n"
        "for i = 1, 60000 do t[i] = long[i * 7 % 30 + 1] end table.sort(t)\n"
        "while true do table.sort(t) end", ""),
    "bytecode": (b"\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08xV", "is not a text file"),
    "bytecode without zeros": (b"\x1bLua\x54\x01", "attempt to load a binary chunk"),
    "a binary file": (b"return\x00 {}", "is not a text file"),
    "a folder": ("return include '..'", "is a folder"),
    "a device": ("return include '/dev/zero'", "lies outside of the project folder"),
    "a file of the kernel": ("return include '/proc/self/environ'", "lies outside of the project"),
    "a name of 4 KiB": (f"return include '{'n' * 4096}'", "File name too long"),
    "a name with escapes": ("return include 'a\\27[2J'", "a?[2J"),
    "a link that leads out": ("return include 'link.lua'", "lies outside of the project folder"),
    "a link to itself": ("return include 'loop.lua'", "Too many levels of symbolic links"),
    "a pipe": ("return include 'pipe.lua'", "is not a regular file"),
    "weights from outside": (
        "return { task = 'copy', train = { steps = 1, length = 16, init_from = '/etc/passwd' } }",
        "lies outside of the project folder"),
    "weights behind a link": (
        "return { task = 'copy', train = { steps = 1, length = 16, init_from = 'link.lua' } }",
        "lies outside of the project folder"),
    "a corpus from outside": (
        "return { task = { 'text', file = '/etc/passwd' }, train = { steps = 1, length = 16 } }",
        "lies outside of the project folder"),
    "a million lengths": (
        "local t = {} for i = 1, 1e6 do t[i] = i end\n"
        f"return {{ {BODY}, evaluate = {{ lengths = t }} }}",
        "evaluate.lengths"),
    "a million stages": (
        "local t = {} for i = 1, 1e6 do t[i] = { steps = 1, length = 16 } end\n"
        "return { task = 'copy', train = { stages = t } }", ""),
    "a grid of 10^12 runs": (
        f"local t = {{}} for i = 1, 1000 do t[i] = i end\nreturn study {{ base = {{ {BODY} }}, "
        "grid = { seed = t, ['model.width'] = t, ['model.layers'] = t, ['train.steps'] = t } }",
        "a study has at most"),
    "an axis of a million": (
        f"local t = {{}} for i = 1, 1e6 do t[i] = i end\n"
        f"return study {{ base = {{ {BODY} }}, grid = {{ seed = t }} }}", "grid"),
    "a study with a name of folders": (
        f"return study {{ name = '../../x', base = {{ {BODY} }}, "
        "grid = { seed = { 1, 2 } } }", "../../x"),
}
TEXTS.update({f"no {name}": (f"local x = {name}", f"unknown name {name}") for name in (
    "dofile", "loadfile", "loadstring", "collectgarbage", "rawset", "rawget", "rawequal", "rawlen",
    "getmetatable", "next", "xpcall", "warn", "package", "utf8", "_G", "bit32", "_VERSION",
    "newproxy", "setfenv", "coroutine", "os", "io", "debug", "require", "load", "pcall")})
TEXTS.update({f"no string.{name}": (f"local x = string.{name}", f"unknown function string.{name}")
              for name in ("find", "match", "gmatch", "gsub", "dump", "pack", "unpack")})


def test_texts():
    os.makedirs(path_of("project/configs"))
    write("project/harness", "")
    write("outside.lua", "return {}")
    os.symlink("../../outside.lua", path_of("project/configs/link.lua"))
    os.symlink("../outside.lua", path_of("project/link.lua"))
    os.symlink("loop.lua", path_of("project/configs/loop.lua"))
    os.mkfifo(path_of("project/configs/pipe.lua"))
    names = list(TEXTS)

    def read(name):
        return start("check", write(f"project/configs/{names.index(name)}.lua", TEXTS[name][0]))

    for name, ended in zip(names, side_by_side(read, names)):
        count = len(lines(ended.err)) if name.startswith("a million") else 1
        refused(name, ended, count)
        COUNT.holds(f"of {name}: {TEXTS[name][1]}", TEXTS[name][1] in ended.err, ended)


def test_config_paths():
    os.symlink(path_of("circle.lua"), path_of("circle.lua"))
    os.mkfifo(path_of("pipe.lua"))
    os.mkdir(path_of("folder.lua"))
    for path, says in ((path_of("circle.lua"), "Too many levels"), (path_of("pipe.lua"), "regular"),
                       (path_of("folder.lua"), "is a folder"), ("x" * 5000 + ".lua", "too long"),
                       (path_of("a\33[2J.lua"), "a?[2J.lua: No such file"),
                       (".lua/../x.lua", "No such file")):
        ended = start("check", path)
        refused(f"a config at {path[:80]!r}", ended)
        COUNT.holds(f"of {path[:80]!r}: {says}", says in ended.err, ended)


# ---- names ---------------------------------------------------------------------------------------

NAMES = ["../../x", "/tmp/x", ".", "..", ".hidden", "", "a/b", "a b", "a\nb", "a\33[31m",
         "a\u009bb", "\u00fc", "n" * 65, "n" * 4096, "a:b", "a\\b", "$HOME", "~", "x\r", "*"]


def test_names():
    config = write("named.lua", f"return {{ {BODY} }}")
    output = path_of("never")
    for name in NAMES:
        ended = start(config, f"name={name}", "--output", output)
        refused(f"the name {name[:70]!r}", ended)
        COUNT.holds(f"of {name[:70]!r} it says what names are made of",
                    any(says in ended.err for says in ("1 to 64 of A-Z", "at most 255 bytes")),
                    ended)
    for override in ("../../x=1", "=", "=x", "model..width=1", "a\33[2J=1", "k" * 4096 + "=1",
                     "model.width=" + "9" * 4096, "seed=1..1e18", "seed=1..", "model.width=1,",
                     "train.length=" + ",".join("9" for _ in range(10000))):
        refused(f"the override {override[:70]!r}", start(config, override, "--output", output))
    COUNT.holds("nothing is made", not os.path.exists(output))


def test_planted_links():
    """A folder of results that came from someone else, with links in the place of its files."""
    config = write("tiny.lua", f"return {TINY}")
    plan = start(config, "--plan", "--output", path_of("planted"))
    folder = re.search('"path":"([^"]*)/run.h5"', plan.out).group(1)
    for name, code in (("events.jsonl", 74), ("run.lock", 74), ("run.h5.tmp", 0), ("run.h5", 1)):
        os.makedirs(folder)
        precious = write("precious", "a night's work")
        os.symlink(precious, os.path.join(folder, name))
        ended = start(config, "--quiet", "--output", path_of("planted"))
        with open(precious, encoding="utf-8") as file:
            COUNT.holds(f"what {name} leads to is left alone", file.read() == "a night's work")
        COUNT.holds(f"with {name} as a link it ends with {code}", ended.code == code, ended)
        COUNT.holds("in one line", code == 0 or len(lines(ended.err)) == 1, ended)
        for left in os.listdir(folder):
            os.unlink(os.path.join(folder, left))
        os.rmdir(folder)


def test_study_of_another():
    """study.json is compared with the study that starts: cut anywhere, or none at all."""
    config = write("pair.lua", f"return study {{ name = 'pair', base = {TINY}, "
                   "grid = { seed = { 1, 2 } } }")
    output = path_of("study")
    place = os.path.join(output, "pair", "study.json")
    first = start(config, "--quiet", "--output", output)
    COUNT.holds("a study runs", first.code == 0, first)
    with open(place, "rb") as file:
        whole = file.read()
    others = [whole[:cut] for cut in range(0, len(whole), 29)]
    others += [b'{"id":"x","cell":"\33[2J"', b'"cell":' * 9000, b"\0" * 100, b"{\n" * 5000]
    for number, text in enumerate(others):
        write("study/pair/study.json", text)
        ended = start(config, "--quiet", "--output", output)
        COUNT.holds(f"study.json, variant {number}",
                    ended.code == 0 and not commands_a_terminal(ended.err), ended)
    os.unlink(place)
    os.mkfifo(place)
    ended = start(config, "--quiet", "--output", output)
    COUNT.holds("a pipe in its place", ended.code in (0, 74), ended)


# ---- sizes ---------------------------------------------------------------------------------------

# Overrides, and either a part of the sentence or the least bytes that must be asked for.
SIZES = [
    (["train.learning_rate=1e6"], "expected a number from 0 to 10"),
    (["train.length=2147483648"], "expected an integer from 1 to 16777216"),
    (["evaluate.lengths=2147483648"], "expected an integer from 1 to 16777216"),
    (["model.width=2147483648"], "expected an integer from 1 to 1048576"),
    (["model.layers=1000000"], "expected an integer from 1 to"),
    (["train.batch=1048576", "train.length=16777216"], "tokens a step; at most 2147483647"),
    (["train.steps=1e18"], "expected an integer from 1 to"),
    (["task.alphabet=1e12"], "expected an integer from"),
    # values, gradients and two moments of 2 layers of 12 width^2 weights
    (["model.width=1000000"], 4 * 4 * 2 * 12 * 1000000**2),
    # tokens of one batch, of one row of floats each
    (["train.batch=1048576", "train.length=2047"], 1048576 * 2047 * 128 * 4),
    (["train.length=16777216", "train.batch=16"], 16 * 16777216 * 128 * 4),
    (["train.length=4..16777216", "model.width=1024"], 16777216 * 1024 * 4),
    (["evaluate.lengths=16777216", "model.width=1024"], 16777216 * 1024 * 4),
    (["model.encoding=learned", "model.encoding.positions=16777216", "model.width=1024"],
     4 * 4 * 16777216 * 1024),
    # rows of what is logged
    (["train.steps=1e9", "train.log_every=1"], 8 * 8 * 10**9),
    (["train.steps=1e9", "evaluate.every=1"], 7 * 8 * 10**9),
    # a table of 2048 x 128 doubles a snapshot
    (["train.steps=1e6", "train.snapshot_every=1", "model.encoding=learned",
      "model.encoding.positions=2048"], 10**6 * 2048 * 128 * 8),
    (["train.steps=1e6", "train.snapshot_every=1", "model.encoding=t5", "model.heads=64",
      "model.layers=32"], 10**6 * 64 * 32 * 8),
]


def test_sizes():
    config = write("sizes.lua", f"return {{ {BODY} }}")
    output = path_of("large")

    def both(size):
        words = [config, *size[0]]
        return start("check", *words), start(*words, "--output", output)

    sizes = [size for size in SIZES if isinstance(size[1], str) or size[1] > MEMORY_OF_MACHINE]
    for (overrides, says), ends in zip(sizes, side_by_side(both, sizes)):
        for ended in ends:
            what = " ".join(overrides)
            refused(what, ended)
            if isinstance(says, str):
                COUNT.holds(f"of {what}: {says}", says in ended.err, ended)
            else:
                needs = re.search(r"needs .* \((\d+) bytes\) of memory", ended.err)
                COUNT.holds(f"{what} needs {says} bytes and more", needs and int(needs[1]) >= says,
                            ended)
    study = start("check", config, "seed=1..3", "train.steps=1e9", "train.log_every=1")
    refused("a study of large runs", study)
    COUNT.holds("nothing is made", not os.path.exists(output))
    long = start("check", config, "train.steps=1e9", "train.length=8..64")
    COUNT.holds("a run of 10^9 steps is looked at in seconds",
                long.code == 0 and long.cpu < SECONDS, long)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
COUNT.end()
