"""test_foreign.py PROGRAM [MUTATIONS [SEED]]: HDF5 files that came from someone else. Crafted ones
are refused by verify, show, compare and forward in one line, with exit code 1; of mutated ones (a
fixed seed: the same files at every start) no command may crash, hang, print control characters or
end in another way than with 0 or with 1 and a line. The last line counts the checks."""

import os
import random
import shutil
import sys
import zlib

import h5py
import numpy as np

from program import (LIMIT, WORK, Count, commands_a_terminal, lines, read_bytes, side_by_side,
                     start, write_bytes)

MUTATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
MEMORY = 512
COUNT = Count()
SECRET = os.path.join(WORK, "secret")
CRASHED = "the reader crashed"
MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")


def make_result():
    folder = os.path.join(WORK, "results")
    made = start("tests/tiny.lua", "--quiet", "--output", folder)
    assert made.code == 0, made
    for place, _, names in os.walk(folder):
        if "run.h5" in names:
            return os.path.join(place, "run.h5")
    raise AssertionError("no run.h5")


RESULT = make_result()
WHOLE = read_bytes(RESULT)
HDF5 = WHOLE[:-73]  # without the seal
write_bytes(SECRET, np.arange(64, dtype="<f8").tobytes())
with h5py.File(os.path.join(WORK, "other.h5"), "w") as other:
    other["x"] = np.zeros(3)


def edited(name, change):
    """The path of a copy that change(file) has edited."""
    path = os.path.join(WORK, f"{name}.h5")
    write_bytes(path, HDF5)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


COMMANDS = ("verify", "show", "compare", "forward")


def words_of(command, path):
    return [command, path] + (["-o", path + ".out"] if command == "forward" else [])


def run_all(path, commands=COMMANDS):
    return {command: start(*words_of(command, path)) for command in commands}


def clean(ended):
    return not commands_a_terminal(ended.err) and not commands_a_terminal(ended.out)


def refused(what, command, ended):
    COUNT.holds(f"{command} refuses {what} in one line, with 1",
                ended.code == 1 and len(lines(ended.err)) == 1 and clean(ended) and
                ended.memory < MEMORY and not ended.out, ended)


# ---- crafted files -------------------------------------------------------------------------------
# Each takes the file and the path of an array, and puts something in the array's place.

def replace(make):
    def change(file, path):
        values = file[path][...]
        del file[path]
        make(file, path, values)
    return change


def soft_link(file, path, _):
    file[path] = h5py.SoftLink("/train/loss")


def link_to_nothing(file, path, _):
    file[path] = h5py.SoftLink("/nowhere")


def external_link(file, path, _):
    file[path] = h5py.ExternalLink(os.path.join(WORK, "other.h5"), "/x")


def external_storage(file, path, values):
    file.create_dataset(path, values.shape, "<f8",
                        external=[(SECRET, 0, 8 * max(1, values.size))])


def virtual_dataset(file, path, values):
    layout = h5py.VirtualLayout(values.shape, "<f8")
    if values.ndim:
        layout[:1] = h5py.VirtualSource(os.path.join(WORK, "other.h5"), "x",
                                        (1,) + values.shape[1:])
    file.create_virtual_dataset(path, layout)


def low_level(file, path, shape, kind, build):
    """A dataset whose creation list build() fills, with no data written."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    build(creation)
    h5py.h5d.create(file.id, path.encode(), kind, h5py.h5s.create_simple(shape), creation)


def unknown_filter(file, path, values):
    def build(creation):
        creation.set_chunk(values.shape)
        creation.set_filter(300, h5py.h5z.FLAG_OPTIONAL, (1, 2, 3))
    low_level(file, path, values.shape, h5py.h5t.IEEE_F64LE, build)


def filter_of_h5py(file, path, values):
    file.create_dataset(path, data=values.astype("<f8"), chunks=values.shape, compression="lzf")


def scale_offset(file, path, values):
    file.create_dataset(path, data=np.zeros(values.shape, "<i8"), chunks=values.shape,
                        scaleoffset=True)


def four_tebibytes(file, path, values):
    file.create_dataset(path, (1 << 39,) + values.shape[1:], "<f8",
                        chunks=(1024,) + values.shape[1:])


def four_tebibytes_in_a_row(file, path, values):
    low_level(file, path, (1 << 39,) + values.shape[1:], h5py.h5t.IEEE_F64LE,
              lambda creation: creation.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE))


def more_than_can_be_counted(file, path, _):
    low_level(file, path, (1 << 31, 1 << 31, 1 << 31), h5py.h5t.IEEE_F64LE,
              lambda creation: creation.set_chunk((1, 1, 1)))


def packed_zeros(file, path, _):
    """More than the machine has, as chunks of zeros, which deflate packs a thousand to one."""
    size = 1 << 27
    count = MACHINE // size + 2
    data = file.create_dataset(path, (count * size // 8,), "<f8", chunks=(size // 8,),
                               compression="gzip")
    packed = zlib.compress(bytes(size), 9)
    for i in range(count):
        data.id.write_direct_chunk((i * size // 8,), packed)


def another_rank(file, path, values):
    file[path] = values.reshape(values.shape + (1,)).astype("<f8")


def six_axes(file, path, _):
    file[path] = np.zeros((1, 1, 1, 1, 1, 2))


def one_number(file, path, _):
    file[path] = np.float64(0.5)


def no_numbers(file, path, _):
    file[path] = h5py.Empty("<f8")


def no_rows(file, path, values):
    file[path] = np.zeros((0,) + values.shape[1:])


def more_rows(file, path, values):
    file[path] = np.zeros((values.shape[0] + 7,) + values.shape[1:], "<f8")


def half_precision(file, path, values):
    file[path] = values.astype("<f2")


def big_endian(file, path, values):
    file[path] = values.astype(">f8")


def complex_numbers(file, path, values):
    file[path] = values.astype("<c16")


def texts(file, path, values):
    file.create_dataset(path, data=np.full(values.shape, "x", object), dtype=h5py.string_dtype())


def records(file, path, values):
    file[path] = np.zeros(values.shape, [("a", "<f8"), ("b", "<i4")])


def lists(file, path, values):
    file.create_dataset(path, values.shape, h5py.vlen_dtype(np.dtype("<f8")))


def blocks(file, path, values):
    file.create_dataset(path, values.shape, np.dtype(("<f8", (3,))))


def opaque_bytes(file, path, values):
    file[path] = np.zeros(values.shape, "V16")


def references(file, path, values):
    file.create_dataset(path, values.shape, h5py.ref_dtype)


def another_enumeration(file, path, values):
    file.create_dataset(path, values.shape, h5py.enum_dtype({"FALSE": 0, "TRUE": 7}, "i1"))


def a_group(file, path, _):
    file.create_group(path)


def a_type(file, path, _):
    file[path] = np.dtype("<f8")


def nothing(_file, _path, _values):
    pass


ATTACKS = [soft_link, link_to_nothing, external_link, external_storage, virtual_dataset,
           unknown_filter, filter_of_h5py, scale_offset, four_tebibytes, four_tebibytes_in_a_row,
           more_than_can_be_counted, another_rank, six_axes, one_number, no_numbers, no_rows,
           more_rows, half_precision, big_endian, complex_numbers, texts, records, lists, blocks,
           opaque_bytes, references, another_enumeration, a_group, a_type, nothing]
if MACHINE < 1 << 36:
    ATTACKS.append(packed_zeros)

# What is read by whom: every command verifies or reads the first, forward and verify the second.
PLACES = {"/evaluate/final/token_accuracy": COMMANDS,
          "/parameters/embedding": ("verify", "forward")}


def test_arrays():
    cases = [(attack, path) for attack in ATTACKS for path in PLACES]

    def work(case):
        attack, path = case
        name = f"{attack.__name__}{path.replace('/', '_')}"
        ready = edited(name, lambda file: replace(attack)(file, path))
        ends = run_all(ready, PLACES[path])
        os.unlink(ready)
        return ends

    for (attack, path), ends in zip(cases, side_by_side(work, cases)):
        for command, ended in ends.items():
            # verify does not know the model; forward does
            known = command != "verify" or attack is not another_rank or "token" in path
            check = refused if known else survived
            check(f"{attack.__name__} at {path}", command, ended)


# ---- links and names -----------------------------------------------------------------------------

def cycle(file):
    file["position/learned/again"] = file["position"]


def deep(file):
    group = file["position"]
    for _ in range(200):
        group = group.create_group("g")


def many(file):
    for i in range(2000):
        file[f"parameters/many{i}"] = file["train"]


def escapes(file):
    file["parameters/\33[2J\33]0;title\7"] = h5py.SoftLink("/x")


def escapes_of_latin_1(file):
    file["parameters/\u009b2J"] = h5py.SoftLink("/x")


def stray_bytes(file):
    file.id.links.create_soft(b"parameters/\xff\xfe\x9b2J", b"/x")


def long_name(file):
    file["parameters/" + "n" * 60000] = h5py.SoftLink("/x")


def two_lines(file):
    file["parameters/a\nharness: all is well"] = h5py.SoftLink("/x")


def another_format(file):
    file.attrs["format"] = "keras\n\33[2J"


def a_format_of_bytes(file):
    file.attrs["format"] = np.bytes_("posenc-run")


def a_format_of_numbers(file):
    file.attrs["format"] = 1


def another_version(file):
    file.attrs["format_version"] = "2.0"


def many_lengths(file):
    """As many lengths as no config can have, all of them in order."""
    for folder in ("evaluate/final", "evaluate"):
        for name, data in list(file[folder].items()):
            if not isinstance(data, h5py.Dataset) or name == "step":
                continue
            shape = (data.shape[0],) * (data.ndim - 1) + (100000,)
            kind = data.dtype
            del file[folder][name]
            file[folder].create_dataset(name, shape, kind)
        file[folder]["length"][...] = np.arange(1, 100001)


def no_config(file):
    file["config/resolved_json"][...] = "{}"


def another_json(file):
    file["config/resolved_json"][...] = "[" * 100000


def a_larger_model(file):
    """The arrays of a small model under the config of one that no memory holds."""
    text = file["config/resolved_json"].asstr()[()]
    file["config/resolved_json"][...] = text.replace('"width":16', '"width":65536') \
        .replace('"layers":1', '"layers":48')


# The commands that have to refuse; the others may as well.
FILES = {cycle: ("verify", "forward"), deep: ("verify", "forward"), many: ("verify", "forward"),
         escapes: ("verify", "forward"), escapes_of_latin_1: ("verify", "forward"),
         stray_bytes: ("verify", "forward"), long_name: ("verify", "forward"),
         two_lines: ("verify", "forward"), another_format: COMMANDS, a_format_of_bytes: COMMANDS,
         a_format_of_numbers: COMMANDS, another_version: ("verify", "forward"),
         many_lengths: ("verify", "show", "compare", "forward"), no_config: ("forward",),
         another_json: ("compare", "forward"), a_larger_model: ("forward",)}


def survived(what, command, ended):
    """Neither a crash nor silence."""
    return COUNT.holds(f"{command} survives {what}",
                       (ended.code == 0 or ended.code == 1 and len(lines(ended.err)) == 1) and
                       clean(ended) and ended.memory < MEMORY and ended.cpu < LIMIT / 2, ended)


def test_files():
    def work(change):
        return run_all(edited(change.__name__, change))

    for change, ends in zip(FILES, side_by_side(work, FILES)):
        for command, ended in ends.items():
            if command in FILES[change]:
                refused(change.__name__, command, ended)
            else:
                survived(change.__name__, command, ended)


def test_patched_names():
    """Names that no program can give: in the bytes of the file."""
    def patched(old, new):
        assert old in HDF5 and len(old) == len(new)
        path = os.path.join(WORK, f"patched{new.hex()}.h5")
        write_bytes(path, HDF5.replace(old, new))
        return path

    for new in (b"em/edding", b"../edding", b"/mbedding", b"\0mbedding", b".\0bedding",
                b"..\0edding", b"em\33[2Jing", b"em\nedding", b"\xff" * 9, b"/" * 9):
        for command, ended in run_all(patched(b"embedding", new)).items():
            survived(f"a parameter called {new!r}", command, ended)


def test_what_is_no_file():
    os.mkfifo(os.path.join(WORK, "pipe.h5"))
    os.symlink("loop.h5", os.path.join(WORK, "loop.h5"))
    write_bytes(os.path.join(WORK, "empty.h5"), b"")
    write_bytes(os.path.join(WORK, "text.h5"), b"return {}")
    write_bytes(os.path.join(WORK, "userblock.h5"), bytes(512) + HDF5)
    for name in ("pipe.h5", "loop.h5", "empty.h5", "text.h5", "userblock.h5", "none.h5"):
        for command, ended in run_all(os.path.join(WORK, name)).items():
            refused(name, command, ended)
    for command in COMMANDS:
        refused("/dev/zero", command, start(*words_of(command, "/dev/zero")[:2]))


def test_many_at_once():
    """A bad file among good ones is told by its name; the good ones are read."""
    bad = edited("bad", lambda file: replace(external_link)(file, "/evaluate/final/loss"))
    ended = start("compare", RESULT, bad)
    COUNT.holds("compare tells the bad file", ended.code == 1 and len(lines(ended.err)) == 1 and
                bad in ended.err and "learned" in ended.out, ended)
    folder = os.path.join(WORK, "folder", "a\33[2J\n")
    os.makedirs(folder)
    shutil.copy(bad, os.path.join(folder, "run.h5"))
    ended = start("compare", os.path.join(WORK, "folder"))
    refused("a file in a folder whose name has control characters", "compare", ended)


# ---- tokens and weights to start from ------------------------------------------------------------

def test_tokens():
    def tokens(number, fill):
        path = os.path.join(WORK, f"tokens{number}.h5")
        with h5py.File(path, "w", libver="earliest") as file:
            fill(file)
        return path

    def good(file):
        file["tokens"] = np.ones((1, 8), "<i4")

    def beside(name, value):
        def fill(file):
            good(file)
            file[name] = value
        return fill

    def at(value):
        return lambda file: file.__setitem__("tokens", value)

    fills = [at(h5py.ExternalLink("other.h5", "/x")), at(h5py.SoftLink("/x")), at(np.zeros(3)),
             at(np.zeros((1, 8), "<f8")), at(np.full((1, 8), 1 << 40)), at(np.full((1, 8), -1)),
             at(np.full((1, 8), 99999)), at(np.zeros((0, 0), "<i4")), at(np.zeros((1, 8), ">i4")),
             at(h5py.Empty("<i4")), beside("positions", np.full((1, 8), np.nan)),
             beside("positions", np.full((1, 8), 1e300)), beside("positions", np.zeros((1, 9))),
             beside("segments", np.zeros((8, 1), "<i4")),
             lambda file: file.create_dataset("tokens", (1 << 20, 1 << 20), "<i4", chunks=(64, 64)),
             lambda file: file.create_dataset("tokens", (1, 8), "<i4", external=[(SECRET, 0, 32)])]
    whole = start("forward", RESULT, "--tokens", tokens(99, good), "-o", os.path.join(WORK, "t.h5"))
    COUNT.holds("good tokens are read", whole.code == 0, whole)
    for number, fill in enumerate(fills):
        refused(f"tokens, variant {number}", "forward",
                start("forward", RESULT, "--tokens", tokens(number, fill), "-o",
                      os.path.join(WORK, "t.h5")))
    content = bytearray(read_bytes(tokens(99, good)))
    draw = random.Random(SEED)
    for number in range(MUTATIONS):
        changed = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(8, len(changed))] = draw.choice((0, 1, 8, 127, 255))
        path = os.path.join(WORK, "mutated_tokens.h5")
        write_bytes(path, changed)
        survived(f"mutated tokens {number}", "forward",
                 start("forward", RESULT, "--tokens", path, "-o", os.path.join(WORK, "t.h5")))


# Numbers that no int32, int64 or float holds, or that the next whole number is not beside.
EXTREMES = (1e308, -1e308, 5e-324, 0.5, -1.0, 2.0**22, 2.0**24 + 1, 2.0**31, -2.0**31 - 1, 2.0**53,
            2.0**63, -2.0**63, 3.5e38, np.inf, np.nan)
NEED_WHOLE = ("shaw", "tupe", "deberta", "t5", "custom")


def positions_file(path, *rows):
    with h5py.File(path, "w", libver="earliest") as file:
        file["tokens"] = np.ones(np.shape(rows), "<i4")
        file["positions"] = np.array(rows, "<f8")


def test_positions():
    """Extreme positions, drawn for each encoding: alone, mixed, and with a far start."""
    listed = start("list", "encodings").out.splitlines()[2:]
    names = [line.split()[0] for line in listed if line and not line.startswith(" ")]
    COUNT.holds("the encodings are listed", len(names) > 15 and set(NEED_WHOLE) < set(names), names)
    functions = os.path.join(WORK, "custom.lua")
    write_bytes(functions, b"""return { name = "tiny", task = { "copy", alphabet = 8 },
        model = { layers = 1, width = 16, heads = 2, encoding = { "custom",
            bias = function(head, distance) return -distance / head end } },
        train = { length = 8, tokens = 64 }, evaluate = { lengths = { 8 } } }""")

    def work(name):
        draw = random.Random(f"{SEED}/{name}")
        folder = os.path.join(WORK, f"positions_{name}")
        config = [functions] if name == "custom" else \
            ["tests/tiny.lua", f"model.encoding={name}", "evaluate.lengths=8", "train.length=8"]
        made = start(*config, "train.steps=2", "--quiet", "--output", folder)
        result = next((os.path.join(place, "run.h5") for place, _, found in os.walk(folder)
                       if "run.h5" in found), "none")
        path = os.path.join(folder, "tokens.h5")
        plain = np.arange(8.0)

        def forward(*rows):
            positions_file(path, *rows)
            return start("forward", result, "--tokens", path, "-o", path + ".out")

        some = draw.sample(EXTREMES, 3)
        return (made, forward(plain, plain + 100), forward(2.0**28 + 1 + plain),
                [forward([draw.choice(EXTREMES) for _ in range(8)]),
                 forward(*np.full((8, 3), some).T),
                 *(forward(np.append(plain[:7], one), np.append(one, plain[:7])) for one in some)])

    for name, (made, near, far, ends) in zip(names, side_by_side(work, names)):
        COUNT.holds(f"{name} is trained", made.code == 0, made)
        survived(f"positions 100 to 107 with {name}", "forward", near)
        if name in NEED_WHOLE:
            refused(f"positions beyond 2^28 with {name}", "forward", far)
        for number, ended in enumerate(ends):
            survived(f"extreme positions {number} with {name}", "forward", ended)


def test_weights_to_start_from():
    for attack in (external_link, external_storage, virtual_dataset, four_tebibytes, texts):
        path = edited("weights", lambda file: replace(attack)(file, "/parameters/embedding"))
        ended = start("check", "tests/tiny.lua", f"train.init_from={path}")
        COUNT.holds(f"{attack.__name__} in train.init_from is refused",
                    ended.code == 2 and len(lines(ended.err)) == 1, ended)


# ---- mutations -----------------------------------------------------------------------------------

NUMBERS = (0, 1, -1, 2, 255, 2**31 - 1, -2**31, 2**31, 2**53, 2**63 - 1, -2**63)
FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 1e-320, 1e300, np.inf, -np.inf, np.nan)
TEXTS = ("", "x", "\33[2J", "a\nb", "../../x", "\u009b", "n" * 70000, "{}", "null", "nan", "1e999",
         "rope", "posenc-checkpoint", "posenc-summary", "1.9", "/", "train",
         '{"model":{"width":-1}}')


def objects(file):
    found = [file]
    file.visititems(lambda name, item: found.append(item))
    return found


def arrays(file):
    """All but what an attack before made too large to be read."""
    return [item for item in objects(file)
            if isinstance(item, h5py.Dataset) and item.nbytes < 1 << 28]


def mutate_link(draw, file):
    item = draw.choice(objects(file)[1:])
    name = item.name
    action = draw.randrange(5)
    if action == 0:
        del file[name]
    elif action == 1:
        file.move(name, name + draw.choice(("x", "\33", " ", "\u20ac", "_snapshots")))
    elif action == 2:
        target = draw.choice(objects(file)).name
        del file[name]
        if target in file:
            file[name] = file[target]
    elif action == 3:
        del file[name]
        file[name] = draw.choice((h5py.SoftLink("/train"), h5py.ExternalLink(SECRET, "/x")))
    else:
        folder = draw.choice([one for one in objects(file) if isinstance(one, h5py.Group)])
        folder[f"new{draw.randrange(3)}"] = item


def mutate_attribute(draw, file):
    item = draw.choice([one for one in objects(file) if len(one.attrs)])
    name = draw.choice(sorted(item.attrs))
    action = draw.randrange(4)
    if action == 0:
        del item.attrs[name]
    elif action == 1:
        item.attrs[name] = draw.choice(TEXTS[:6] + TEXTS[7:])
    elif action == 2:
        item.attrs[name] = np.int64(draw.choice(NUMBERS))
    else:
        item.attrs.create(name, np.zeros(draw.choice(((), (0,), (2, 2), (500,)))),
                          dtype=draw.choice(("<f8", ">i2", "S3", "<c8")))


def mutate_values(draw, file):
    data = draw.choice([one for one in arrays(file) if one.size])
    place = tuple(draw.randrange(size) for size in data.shape)
    if h5py.check_string_dtype(data.dtype):
        text = data.asstr()[place]
        if text and draw.randrange(2):
            at = draw.randrange(len(text))
            bad = draw.choice(('"', "{", "9" * 30, ":", "\\", "\x01"))
            data[place] = text[:at] + bad + text[at + 1:]
        else:
            data[place] = draw.choice(TEXTS)
    elif data.dtype.kind == "f":
        data[place] = draw.choice(FLOATS)
    elif data.dtype.kind == "b":
        data[place] = not data[place]
    else:
        limits = np.iinfo(data.dtype)
        data[place] = min(max(draw.choice(NUMBERS), limits.min), limits.max)


def mutate_shape(draw, file):
    data = draw.choice(arrays(file))
    name, values = data.name, data[...]
    if data.maxshape and None in data.maxshape and draw.randrange(2):
        data.resize(draw.choice((0, 1, data.shape[0] + 1, 1 << 20)), axis=0)
        return
    attributes = {key: data.attrs[key] for key in data.attrs if key[0].islower()}
    del file[name]
    action = draw.randrange(3)
    if action == 0:
        file[name] = np.repeat(np.atleast_1d(values), draw.choice((0, 2, 3)), axis=0)
    elif action == 1:
        file[name] = values.reshape(draw.choice((values.shape + (1,), (1,) + values.shape)))
    else:
        file[name] = np.float64(draw.choice(FLOATS))
    file[name].attrs.update(attributes)


def mutate_type(draw, file):
    data = draw.choice([one for one in arrays(file) if not h5py.check_string_dtype(one.dtype)])
    name, values = data.name, data[...]
    attributes = {key: data.attrs[key] for key in data.attrs if key[0].islower()}
    del file[name]
    with np.errstate(all="ignore"):
        file[name] = values.astype(draw.choice(("<f4", "<f8", "<i4", "<i8", ">f8", "<i2", "?")))
    file[name].attrs.update(attributes)


def mutate_attack(draw, file):
    data = draw.choice([one for one in arrays(file)
                        if one.ndim and not h5py.check_string_dtype(one.dtype)])
    attack = draw.choice([one for one in ATTACKS if one is not packed_zeros])
    replace(attack)(file, data.name)


MUTATORS = (mutate_link, mutate_attribute, mutate_values, mutate_values, mutate_shape, mutate_type,
            mutate_attack)


def mutated(number):
    """File `number`: by what h5py can do to it, then perhaps by changes of bytes."""
    draw = random.Random(f"{SEED}/{number}")
    path = os.path.join(WORK, f"mutation{number}.h5")
    write_bytes(path, HDF5)
    if draw.randrange(4):
        with h5py.File(path, "r+") as file:
            for _ in range(draw.randint(1, 3)):
                try:
                    draw.choice(MUTATORS)(draw, file)
                except (KeyError, TypeError, ValueError, RuntimeError, OSError):
                    pass  # h5py refuses to write what this asks for; other changes stay
        return path
    changed = bytearray(HDF5)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(8, len(changed))
        changed[at] = draw.choice((0, 1, changed[at] ^ 1 << draw.randrange(8), 127, 128, 255))
    write_bytes(path, changed)
    return path


def test_mutations():
    def work(number):
        path = mutated(number)
        ends = run_all(path)
        for left in (path, path + ".out"):
            if os.path.exists(left):
                os.unlink(left)
        return ends

    whole = crashed = 0
    for number, ends in enumerate(side_by_side(work, range(MUTATIONS))):
        good = [survived(f"mutation {number} of seed {SEED}", command, ended)
                for command, ended in ends.items()]
        if not all(good):
            shutil.copy(mutated(number), f"/tmp/mutation{number}.h5")
        whole += ends["verify"].code == 0
        crashed += any(CRASHED in ended.err for ended in ends.values())
    print(f"{MUTATIONS} mutated files: verify refused {MUTATIONS - whole}, libhdf5 crashed on "
          f"{crashed}")
    COUNT.holds("most mutations are noticed", whole < MUTATIONS / 2)


for title, test in list(globals().items()):
    if title.startswith("test_"):
        test()
COUNT.end()
