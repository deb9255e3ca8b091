"""test_files.py RESULT.h5 PROGRAM: is the file what docs/FORMAT.md promises to other programs?
Reads it with h5py, which shares no code with the writer but libhdf5. The last line counts the
checks."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import h5py
import numpy as np

PATH, PROGRAM = map(os.path.abspath, sys.argv[1:])
TINY = os.path.join(os.path.dirname(__file__), "tiny.lua")
PLOT = os.path.join(os.path.dirname(__file__), "..", "scripts", "plot.py")

TRAIN = ["step", "tokens", "loss", "accuracy", "learning_rate", "gradient_norm",
         "tokens_per_second", "seconds"]
GRIDS = ["token_accuracy", "token_accuracy_low", "token_accuracy_high", "sequence_accuracy", "loss",
         "examples"]
BY_LENGTH = ["baseline_random", "baseline_majority", "defined", "undefined_reason"]
FINAL = ["length"] + GRIDS + BY_LENGTH[:3]
ROOT = {"format": str, "format_version": str, "name": str, "encoding": str, "task": str,
        "run_id": str, "config_sha256": str, "completed": np.bool_, "exit_reason": str,
        "harness_version": str, "git_commit": str, "git_dirty": np.bool_, "binary_sha256": str,
        "created_utc": str, "seed": np.int64, "trained_length": np.int64,
        "parameter_count": np.int64, "NX_class": str, "default": str}
ENVIRONMENT = {"cpu": str, "isa": str, "threads": np.int64, "openmp": str, "blas": str,
               "compiler": str, "cflags": str, "real_type": str, "rng": str, "lua_version": str,
               "hdf5": str, "os": str, "init_seed": np.int64, "data_seed": np.int64}


def datasets(file):
    items = []
    file.visititems(lambda name, item: items.append(item))
    found = [item for item in items if isinstance(item, h5py.Dataset)]
    assert found
    return found


def scale_of(dataset, axis):
    dimension = dataset.dims[axis]
    assert len(dimension) == 1, f"{dataset.name} has {len(dimension)} scales on axis {axis}"
    return dimension[0]


def test_attributes_have_their_types(file):
    for item, expected in ((file, ROOT), (file["environment"], ENVIRONMENT)):
        for name, kind in expected.items():
            assert isinstance(item.attrs[name], kind), (name, item.attrs[name])
    assert file.attrs["format"] == "posenc-run"
    assert file.attrs["format_version"] == "1.0"
    assert len(file.attrs["config_sha256"]) == 64


def test_config_is_text(file):
    config = json.loads(file["config/resolved_json"].asstr()[()])
    assert isinstance(config, dict) and config
    assert "return" in file["config/lua"].asstr()[()]
    assert file["config/sources"].asstr()[()]
    assert file["config/overrides"].ndim == 1


def test_members_keep_their_order(file):
    top = [name for name in file if name != "decay"]  # only where it was measured
    assert top == ["config", "environment", "train", "evaluate", "validate", "position",
                   "parameters"]
    assert list(file["train"]) == TRAIN
    assert list(file["evaluate/final"]) == FINAL
    order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
    for group in (file["/"], file["train"], file["evaluate"]):
        assert group.id.get_create_plist().get_link_creation_order() == order


def test_numbers_are_little_endian(file):
    for dataset in datasets(file):
        if h5py.check_string_dtype(dataset.dtype):
            assert h5py.check_string_dtype(dataset.dtype) == ("utf-8", None)
        elif dataset.name.endswith("/defined"):
            kind = dataset.id.get_type()
            assert isinstance(kind, h5py.h5t.TypeEnumID)
            assert kind.get_super().equal(h5py.h5t.STD_I8LE)
            assert [kind.get_member_name(i) for i in range(2)] == [b"FALSE", b"TRUE"]
            assert dataset.dtype == bool
        else:
            assert dataset.dtype.newbyteorder("<") in ("<f4", "<f8", "<i4", "<i8"), dataset
            assert dataset.id.get_type().get_order() == h5py.h5t.ORDER_LE


def test_large_arrays_are_packed_and_checked(file):
    packed = 0
    for dataset in datasets(file):
        if dataset.chunks is None:
            continue
        creation = dataset.id.get_create_plist()
        filters = [creation.get_filter(i)[0] for i in range(creation.get_nfilters())]
        assert filters == [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE,
                           h5py.h5z.FILTER_FLETCHER32], dataset
        packed += 1
    assert packed
    for name in TRAIN:
        assert file["train"][name].maxshape == (None,)


def test_times_are_off(file):
    for dataset in datasets(file):
        assert h5py.h5o.get_info(dataset.id).mtime == 0, dataset


def test_axes_have_scales(file):
    for dataset in datasets(file):
        top = dataset.name.split("/")[1]
        if top in ("config", "parameters") or dataset.is_scale:
            continue
        for axis, size in enumerate(dataset.shape):
            scale = scale_of(dataset, axis)
            assert scale.shape == (size,), (dataset, scale)
            assert dataset.dims[axis].label == scale.name.split("/")[-1]
    for name in GRIDS:
        grid = file["evaluate"][name]
        assert [scale_of(grid, axis).name for axis in range(2)] == \
            ["/evaluate/step", "/evaluate/length"]
    for name in BY_LENGTH:
        assert scale_of(file["evaluate"][name], 0).name == "/evaluate/length"


def test_steps_rise(file):
    for name in ("train/step", "train/tokens", "train/seconds", "evaluate/step"):
        values = file[name][:]
        assert len(values) and np.all(np.diff(values) > 0), name


def test_default_plot(file):
    assert file.attrs["NX_class"] == "NXroot"
    group = file[file.attrs["default"]]
    assert group.name == "/evaluate/final"
    items = []
    file.visititems(lambda name, item: items.append(item))
    plots = [item for item in items if "signal" in item.attrs]
    assert {"/train", "/evaluate", "/evaluate/final"} <= {plot.name for plot in plots}
    for plot in plots:
        assert plot.attrs["NX_class"] == "NXdata"
        signal = plot[plot.attrs["signal"]]
        axes = list(plot.attrs["axes"])
        assert len(axes) == signal.ndim
        for axis, name in enumerate(axes):
            assert plot[name].shape == (signal.shape[axis],)


def test_values_are_there_where_defined(file):
    final, grids = file["evaluate/final"], file["evaluate"]
    defined = final["defined"][:]
    assert np.any(defined)
    assert np.array_equal(final["length"][:], grids["length"][:])
    assert np.array_equal(defined, grids["defined"][:])
    for name in GRIDS:
        values = final[name][:]
        assert np.array_equal(values, grids[name][-1], equal_nan=name != "examples")
        assert not np.any(np.isnan(values[defined])), name
        if name == "examples":
            assert np.all((values > 0) == defined)
        else:
            assert np.all(np.isnan(values[~defined])), name
        if "accuracy" in name:
            assert np.all((values[defined] >= 0) & (values[defined] <= 1))
    low, middle, high = (final[f"token_accuracy{end}"][:][defined] for end in ("_low", "", "_high"))
    assert np.all((low <= middle) & (middle <= high))
    reasons = grids["undefined_reason"].asstr()[:]
    assert [bool(reason) for reason in reasons] == [not yes for yes in defined]
    for name in TRAIN:
        assert np.all(np.isfinite(file["train"][name][:])), name


def test_bins(file):
    for kind, axis in (("by_position", "position"), ("by_distance", "distance")):
        groups = file["evaluate"][kind]
        defined = file["evaluate/final/length"][:][file["evaluate/final/defined"][:]]
        assert sorted(int(name) for name in groups) == sorted(defined)
        for name, group in groups.items():
            assert group.attrs["length"] == int(name)
            edges, count = group[axis][:], group["count"][:]
            assert np.all(np.diff(edges) > 0) and 0 <= edges[0] and edges[-1] < int(name)
            accuracy = group["token_accuracy"][:]
            assert np.array_equal(np.isnan(accuracy), count == 0)
            final = file["evaluate/final"]
            overall = final["token_accuracy"][:][final["length"][:] == int(name)][0]
            measured = np.nansum(accuracy * count) / count.sum()
            assert abs(measured - overall) < 1e-6, (group, measured, overall)


def test_position_tables(file):
    folder = file["position"][file.attrs["encoding"]]
    for table in folder.values():
        if "kind" not in table.attrs:
            continue
        assert table.attrs["kind"] in ("fixed", "learned")
        assert isinstance(table.attrs["convention"], str)
        assert table.attrs["trained_length"] == file.attrs["trained_length"]
        assert len(table.attrs["shape_names"].split(",")) == table.ndim
        assert np.all(np.isfinite(table[...])), table
        if "update_count" in table.attrs:
            count = folder[table.attrs["update_count"]][:]
            assert count.shape == table.shape[:1] and count.min() >= 0
            assert 0 < count.max() <= file["train/step"][-1]
        if "snapshots" in table.attrs:
            snapshots = folder[table.attrs["snapshots"]]
            assert snapshots.shape == (len(folder["snapshot_step"]),) + table.shape
            assert snapshots.maxshape[0] is None
    for group in file["position"].get("similarity", {}).values():
        cosine = group["cosine"][:]
        assert np.allclose(cosine, cosine.T, atol=1e-6, equal_nan=True)
        assert np.nanmax(np.abs(cosine)) <= 1 + 1e-6


def test_parameters(file):
    total = 0

    def visit(name, item):
        nonlocal total
        if isinstance(item, h5py.Dataset):
            assert item.dtype == ("<f4" if file["environment"].attrs["real_type"] == "float"
                                  else "<f8")
            assert len(item.attrs["shape_names"].split(",")) == item.ndim
            assert np.all(np.isfinite(item[...])), name
            total += item.size

    file["parameters"].visititems(visit)
    assert total == file.attrs["parameter_count"] > 0


def test_seal(file):
    with open(file.filename, "rb") as whole:
        content = whole.read()
    digest = hashlib.sha256(content[:-73]).hexdigest()
    assert content[-73:] == f"\nsha256 {digest}\n".encode()


def test_file_can_be_edited(file):
    """Another program adds a note and a row; the seal goes, the rest stays."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(file.filename, folder)
        os.chmod(copy, 0o644)
        with h5py.File(copy, "r+") as edited:
            edited.attrs["note"] = "added"
            rows = edited["train/loss"].shape[0]
            edited["train/loss"].resize(rows + 1, axis=0)
        with open(copy, "rb") as whole:
            assert b"\nsha256 " not in whole.read()[-100:]
        with h5py.File(copy) as edited:
            assert edited.attrs["note"] == "added"
            assert np.isnan(edited["train/loss"][rows])
            assert np.array_equal(edited["train/loss"][:rows], file["train/loss"][:])


def plot(source, formats):
    """The names of the pictures that plot.py makes of a file or folder."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([sys.executable, PLOT, source, "-o", folder, "--format", formats],
                              capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        names = set(os.listdir(folder))
        assert {os.path.join(folder, name) for name in names} == set(made.stdout.split())
        assert all(os.path.getsize(os.path.join(folder, name)) > 5000 for name in names)
        return names


def test_plots(file):
    names = plot(os.path.dirname(file.filename), "png,svg")
    assert {"overview.png", "overview.svg", "accuracy_by_length.png", "sequences_by_length.png",
            "training.png", "position_learned.png"} <= names
    assert not names & {"heat_map.png", "positions.png"}  # one task, one encoding


def test_plots_of_a_second_encoding(file):
    with tempfile.TemporaryDirectory() as folder:
        for number, encoding in enumerate(("learned", "other")):
            os.mkdir(os.path.join(folder, encoding))
            path = shutil.copy(file.filename, os.path.join(folder, encoding, "run.h5"))
            os.chmod(path, 0o644)
            with h5py.File(path, "r+") as copy:
                copy.attrs["encoding"] = encoding
                copy.attrs["task"] = f"task{number}"
                if number:
                    copy.move("position/learned", f"position/{encoding}")
        names = plot(folder, "png")
    assert {"heat_map.png", "positions.png", "training.png", "position_other.png"} <= names
    assert "overview.png" not in names  # of two tasks there is none


def test_plots_of_a_summary(_):
    rows = [(task, group, seed, f"{group}{seed}", 16, length, True, 16 / length, 16 / length, 0.5)
            for task in ("copy", "reverse") for group in ("rope", "nope") for seed in (1, 2, 3)
            for length in (16, 32, 64)]
    names = ["task", "group", "seed", "run_id", "trained_length", "length", "defined",
             "token_accuracy", "sequence_accuracy", "loss"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "summary.h5")
        with h5py.File(path, "w") as summary:
            summary.attrs.update({"format": "posenc-summary", "name": "s"})
            for name, values in zip(names, zip(*rows)):
                text = isinstance(values[0], str)
                summary.create_dataset(f"runs/{name}", data=values,
                                       dtype=h5py.string_dtype() if text else None)
        made = plot(path, "png")
    assert made == {"accuracy_by_length.png", "sequences_by_length.png", "heat_map.png"}


def test_names_of_a_study(file):
    """plot.py calls a run as the summary of the study beside it does."""
    sys.path.insert(0, os.path.dirname(PLOT))
    import plot as pictures

    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "run"))
        shutil.copy(file.filename, os.path.join(folder, "run", "run.h5"))
        series = pictures.group(pictures.read_results(folder))
        assert [one.label for one in series] == ["learned"]
        with h5py.File(os.path.join(folder, "summary.h5"), "w") as summary:
            summary.attrs["format"] = "posenc-summary"
            summary["runs/run_id"] = ["another", file.attrs["run_id"]]
            summary["runs/group"] = ["", "rows of numbers"]
        series = pictures.group(pictures.read_results(folder))
        assert [one.label for one in series] == ["rows of numbers"]


def test_start_of_training(_):
    """`data -o` holds the weights that training starts from and the examples that it sees."""
    with tempfile.TemporaryDirectory() as folder:
        def harness(*words):
            subprocess.run([PROGRAM, *words, "--quiet"], check=True, cwd=folder)

        tiny = os.path.abspath(TINY)
        harness("data", tiny, "-n", "12", "-o", "start.h5")
        harness(tiny, "train.log_every=1", "train.learning_rate=1e-30", "--output", ".")
        (name,) = [os.path.join(at, "run.h5") for at, _, names in os.walk(folder)
                   if "run.h5" in names]
        with h5py.File(os.path.join(folder, "start.h5")) as start, h5py.File(name) as run:
            assert start.attrs["format"] == "posenc-start" and start.attrs["steps"] == 12
            weights = {item.name for item in datasets(run["parameters"])}
            assert weights == {item.name for item in datasets(start["parameters"])}
            for weight in weights:  # nothing was learned
                assert np.abs(run[weight][:] - start[weight][:]).max() < 1e-20, weight
            shapes = [start[f"step{step}/tokens"].shape for step in range(1, 13)]
            assert set(shapes) == {(8, 8), (4, 16)}
            batch = {name: start[f"step3/{name}"][:] for name in ("tokens", "targets", "scored")}
            with h5py.File(os.path.join(folder, "tokens.h5"), "w") as tokens:
                tokens["tokens"] = batch["tokens"]
            harness("forward", tiny, "--tokens", "tokens.h5", "-o", "forward.h5")
            with h5py.File(os.path.join(folder, "forward.h5")) as forward:
                logits = forward["logits"][:].astype(float)
            right = np.take_along_axis(logits, batch["targets"][..., None], -1)[..., 0]
            loss = np.log(np.exp(logits).sum(-1)) - right
            assert abs(loss[batch["scored"]].mean() - run["train/loss"][2]) < 1e-5


def test_area(file):
    """plot.py's area starts within training, or is none."""
    sys.path.insert(0, os.path.dirname(PLOT))
    import plot as pictures

    result = pictures.Result(file)
    lengths = result.final["length"]
    result.final["sequence_accuracy"] = np.full(len(lengths), 0.25)
    assert pictures.area_of(result, "sequence_accuracy") == 0.25
    result.trained_length = min(lengths) - 1
    assert np.isnan(pictures.area_of(result, "sequence_accuracy"))
    result.trained_length = max(lengths)
    assert np.isnan(pictures.area_of(result, "sequence_accuracy"))


def main():
    failed = 0
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    for test in tests:
        try:
            with h5py.File(PATH) as file:
                test(file)
        except Exception:  # a test that raises has failed, whatever it raised
            failed += 1
            print(f"FAILED {test.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
