"""plot.py: pictures of one or many results, or of the summary of a study.

    .venv/bin/python scripts/plot.py RESULT.h5|SUMMARY.h5|FOLDER... [-o FOLDER] [--format png,svg]

Of a folder every run.h5 below it, called as its summary.h5 says where there is one. Writes
accuracy_by_length (tokens right), sequences_by_length and training, a panel for each task; heat_map
(task x encoding) where there are several of both;
overview (of one task: accuracy by length, training loss, and a third: accuracy by distance, by
position or a position table); accuracy_by_distance and accuracy_by_position where the answers
differ in them; position_ENCODING for every encoding that has tables, and positions, the main table
of each side by side. Files that differ only in their seed are one line: the mean over seeds, each
seed faint behind it, and from three seeds on the 95 % interval of the mean (Student's t). A summary
has no training and no tables.
"""

import argparse
import glob
import json
import os
import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

# Okabe & Ito's palette: told apart with every common colour blindness. Markers tell apart in print.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
MARKERS = "osD^vPX*"
DASHES = ["-", "--", ":", "-."]  # of every eight lines
MOST_MARKERS = 24  # more points are a line
GREY = "#777777"
DIVERGING = "PuOr"

# How /evaluate splits the accuracy, and what the axis is called.
BINS = {"distance": "distance of the answer (tokens back)", "position": "position of the answer"}

# 97.5 % points of Student's t with 1, 2, … degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
           2.060, 2.056, 2.052, 2.048, 2.045, 2.042]

plt.rcParams.update({
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.dpi": 160,
    "svg.hashsalt": "posenc",
})


# ---- reading ------------------------------------------------------------------------------------


def flatten(value, path=""):
    """{"a": {"b": 1}} as {"a.b": 1}."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        items = enumerate(value, 1)
    else:
        return {path: json.dumps(value)}
    return {key: leaf for name, item in items
            for key, leaf in flatten(item, f"{path}.{name}" if path else str(name)).items()}


class Result:
    """What one file says, as numpy arrays."""

    def __init__(self, file):
        if file.attrs.get("format") != "posenc-run":
            raise ValueError("is no result")
        for name in ("name", "encoding", "task", "seed", "trained_length", "run_id"):
            setattr(self, name, file.attrs[name])
        self.label = None  # that a study gives to it and to others
        self.config = flatten(json.loads(file["config/resolved_json"].asstr()[()]))
        self.train = {name: file["train"][name][:] for name in ("step", "loss", "accuracy")}
        self.final = {name: values[:] for name, values in file["evaluate/final"].items()}
        self.bins = {kind: self.read_bins(file, kind) for kind in BINS}
        self.tables = self.read_tables(file)

    @staticmethod
    def read_bins(file, kind):
        """length → (lower edges, accuracy) of the bins in which something was measured"""
        bins = {}
        for group in file.get(f"evaluate/by_{kind}", {}).values():
            measured = group["count"][:] > 0
            bins[int(group.attrs["length"])] = (group[kind][:][measured],
                                                group["token_accuracy"][:][measured])
        return bins

    def read_tables(self, file):
        """name → (values, axes, kind, update counts or None)"""
        tables = {}
        group = file.get(f"position/{self.encoding}", {})
        for name, table in group.items():
            if "kind" in table.attrs:
                count = table.attrs.get("update_count")
                tables[name] = (table[:], table.attrs["shape_names"].split(","),
                                table.attrs["kind"], group[count][:] if count else None)
        return tables


class SummaryResult:
    """A run as the summary of its study knows it: its lengths, without training and tables."""

    def __init__(self, name, rows):
        self.name, self.task, self.encoding = name, rows["task"][0], rows["group"][0]
        self.label = rows["group"][0]
        self.seed, self.trained_length = rows["seed"][0], rows["trained_length"][0]
        self.config, self.train, self.tables = {}, None, {}
        self.bins = {kind: {} for kind in BINS}
        self.final = {column: rows[column] for column in (
            "length", "defined", "token_accuracy", "sequence_accuracy", "loss")}
        for column in ("baseline_random", "baseline_majority"):
            self.final[column] = np.full(len(rows["length"]), np.nan)


def read_summary(file):
    runs = {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
            for name, column in file["runs"].items()}
    each = [f"{task}/{run}" for task, run in zip(runs.get("task", []), runs.get("run_id", []))]
    return [SummaryResult(file.attrs["name"], {name: column[np.array(each) == one]
                                               for name, column in runs.items()})
            for one in dict.fromkeys(each)]


def read_labels(folder):
    """run_id → the name that the study in the folder gives to the run; empty without a summary."""
    path = os.path.join(folder, "summary.h5")
    if not os.path.exists(path):
        return {}
    with h5py.File(path) as file:
        return dict(zip(file["runs/run_id"].asstr()[:], file["runs/group"].asstr()[:]))


def read_results(path):
    """The results of a file, or of every run.h5 below a folder."""
    if os.path.isdir(path):
        found = sorted(glob.glob(os.path.join(path, "**", "run.h5"), recursive=True))
        if not found:
            raise ValueError("has no run.h5 in it or below")
        results = [result for each in found for result in read_results(each)]
        labels = read_labels(path)
        for result in results:
            result.label = labels.get(result.run_id)
        return results
    with h5py.File(path) as file:
        if file.attrs.get("format") == "posenc-summary":
            return read_summary(file)
        return [Result(file)]


class Series:
    """Results that differ only in their seed, with the look of their line."""

    def __init__(self, results, label, index):
        self.results = results
        self.task = results[0].task
        self.label = label
        # A second round of the colours has other markers and dashes.
        self.look = {"color": COLOURS[index % len(COLOURS)],
                     "marker": MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
                     "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}
        self.colour = self.look["color"]


def without_seeds(config):
    return {key: value for key, value in config.items()
            if key not in ("name", "seed", "init_seed", "data_seed")}


def group(results):
    """Series in the order of the files, called as their study does, or by the encoding and the
    settings that differ between series of one. A label looks the same in every task."""
    groups = {}
    for result in results:
        key = (result.task, result.encoding, tuple(sorted(without_seeds(result.config).items())))
        groups.setdefault(key, []).append(result)
    series, labels = [], []
    for key, members in groups.items():
        task, encoding, config = key
        alike = [dict(other[2]) for other in groups if other[:2] == (task, encoding)]
        own = [f"{name.rsplit('.', 1)[-1]} = {value}" for name, value in config
               if any(other.get(name) != value for other in alike)]
        label = members[0].label or (encoding if not own else f"{encoding}, {', '.join(own[:3])}")
        if label not in labels:
            labels.append(label)
        series.append(Series(members, label, labels.index(label)))
    return series


def by_task(all_series):
    tasks = {}
    for series in all_series:
        tasks.setdefault(series.task, []).append(series)
    return tasks


# ---- statistics ---------------------------------------------------------------------------------


def mean_and_interval(rows):
    """Mean of each column over the rows that have it, and half its 95 % interval (NaN for one)."""
    rows = np.asarray(rows, float)
    count = np.sum(~np.isnan(rows), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, np.nansum(rows, axis=0) / count, np.nan)
        deviation = np.sqrt(np.nansum((rows - mean) ** 2, axis=0) / (count - 1))
        student = np.array([STUDENT[min(n - 2, len(STUDENT) - 1)] if n > 1 else np.nan
                            for n in count])
        return mean, student * deviation / np.sqrt(count)


def on_common_axis(pairs):
    """[(x, y)] of several seeds as one x and a row for each seed, NaN where it has no value."""
    axis = np.unique(np.concatenate([x for x, _ in pairs]))
    rows = np.full((len(pairs), len(axis)), np.nan)
    for row, (x, y) in zip(rows, pairs):
        row[np.searchsorted(axis, x)] = y
    return axis, rows


def draw(axes, series, pairs, low=None, high=None):
    x, rows = on_common_axis(pairs)
    mean, half = mean_and_interval(rows)
    look = dict(series.look)
    if len(x) > MOST_MARKERS:
        del look["marker"]
    if len(rows) > 1:
        for row in rows:
            axes.plot(x, row, color=series.colour, alpha=0.25, linewidth=0.8)
    if len(rows) > 2:
        band = np.clip([mean - half, mean + half], low, high)
        axes.fill_between(x, *band, color=series.colour, alpha=0.15, linewidth=0)
    axes.plot(x, mean, label=series.label, **look)
    return x, mean


# ---- axes ---------------------------------------------------------------------------------------


def percent_axis(axes):
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))


def log2_axis(axis, ticks):
    axis.axes.set_xscale("log", base=2) if axis.axis_name == "x" else \
        axis.axes.set_yscale("log", base=2)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(ticks)


def few(values, most=8):
    """At most that many of the values, the last one among them."""
    values = list(values)
    step = -(-len(values) // most)
    return values[::-1][::step][::-1]


def note(axes, text, at, offset, **look):
    """A small grey word inside the axes, which takes no room of its own."""
    axes.annotate(text, at, offset, textcoords="offset points", color=GREY, fontsize=8,
                  **look).set_in_layout(False)


def mark_trained(axes, all_series, end):
    """The longest length of training as a line, what lies beyond as a shade."""
    lengths = sorted({int(result.trained_length) for s in all_series for result in s.results})
    for length in lengths:
        axes.axvline(length, color=GREY, linestyle=":", linewidth=1.2, zorder=0)
    if lengths[-1] < end:
        axes.axvspan(lengths[-1], end, color="#F4F4F4", zorder=-1, linewidth=0)
    note(axes, "trained length" if len(lengths) == 1 else "trained lengths", (lengths[-1], 0.5),
         (-3, 0), xycoords=("data", "axes fraction"), rotation=90, ha="right", va="center")


def short(share):
    """A share in percent; what is not all never reads as 100 %."""
    percent = min(100 * share, 99.9) if share < 1 else 100
    return f"{percent:.0f} %" if percent < 99 or percent == 100 else f"{percent:.1f} %"


# ---- the pictures -------------------------------------------------------------------------------


def plot_by_length(axes, all_series, metric="token_accuracy"):
    every = np.unique(np.concatenate([r.final["length"] for s in all_series for r in s.results]))
    undefined = 0
    for series in all_series:
        pairs = [(r.final["length"], r.final[metric]) for r in series.results]
        draw(axes, series, pairs, low=0, high=1)
        missing = sorted({length for r in series.results
                          for length in r.final["length"][~r.final["defined"].astype(bool)]})
        if missing:
            axes.plot(missing, np.full(len(missing), 0.03 * undefined - 0.01), "x",
                      color=series.colour, markersize=6)
            undefined += 1
    final = all_series[0].results[0].final
    guess = np.fmax(final["baseline_random"], final["baseline_majority"])
    if metric == "token_accuracy" and not np.isnan(guess[0]):
        axes.plot(final["length"], guess, "--", color=GREY, linewidth=1)
        note(axes, "best guess without reading", (final["length"][0], guess[0]), (0, 3))
    if undefined:
        axes.plot([], [], "x", color=GREY, label="not defined")
    log2_axis(axes.xaxis, few(every))
    axes.set_xlim(every[0] * 0.9, every[-1] * 1.1)
    percent_axis(axes)
    mark_trained(axes, all_series, every[-1] * 1.1)
    axes.set_xlabel("length of the sequence (tokens)")
    axes.set_ylabel("tokens right" if metric == "token_accuracy" else "sequences right")


def mean_at(series, length):
    values = [r.final["token_accuracy"][r.final["length"] == length] for r in series.results]
    values = np.concatenate(values) if values else np.array([])
    return np.nanmean(values) if np.any(~np.isnan(values)) else np.nan


def describe_lengths(all_series):
    """What the longest length that is defined shows, as a sentence."""
    trained = int(all_series[0].results[0].trained_length)
    lengths = np.unique(np.concatenate([r.final["length"] for s in all_series for r in s.results]))
    for length in lengths[::-1].tolist():
        known = sorted(((mean_at(s, length), s.label) for s in all_series
                        if not np.isnan(mean_at(s, length))), reverse=True)
        if not known:
            continue
        where = f"at {length / trained:g}× the trained length" if length > trained \
            else f"at {length} tokens"
        share, label = known[0]
        if len(known) > 1:
            return (f"{where[0].upper()}{where[1:]} {label} has {short(share)} right, "
                    f"{known[-1][1]} {short(known[-1][0])}")
        at_trained = mean_at(all_series[0], trained)
        if length > trained and not np.isnan(at_trained):
            return (f"{label}: {short(at_trained)} right at the trained length, "
                    f"{short(share)} {where}")
        return f"{label}: {short(share)} right {where}"
    return "Accuracy by length"


def plot_loss(axes, all_series):
    for series in all_series:
        draw(axes, series, [(r.train["step"], r.train["loss"]) for r in series.results],
             low=0)
    values = np.concatenate([r.train["loss"] for s in all_series for r in s.results])
    values = values[np.isfinite(values) & (values > 0)]
    if len(values) and values.max() > 20 * values.min():
        axes.set_yscale("log")
        axes.set_ylim(values.min() / 1.3, values.max() * 1.3)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    elif len(values):
        axes.set_ylim(0, 1.05 * values.max())
    axes.set_xlim(left=0)
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nat)")


def plot_train_accuracy(axes, all_series):
    for series in all_series:
        draw(axes, series, [(r.train["step"], r.train["accuracy"]) for r in series.results],
             low=0, high=1)
    axes.set_xlim(left=0)
    percent_axis(axes)
    axes.set_xlabel("step")
    axes.set_ylabel("tokens right")


def lengths_that_differ(all_series, kind):
    """The lengths at which the answers fall in three bins or more: fewer show nothing."""
    return sorted({length for s in all_series for r in s.results
                   for length, (edges, _) in r.bins[kind].items() if len(edges) > 2})


def bins_of(series, kind, length):
    """The bins of every seed; distance 0 has a place on a logarithmic axis too."""
    return [(np.maximum(edges, 0.5), accuracy)
            for edges, accuracy in (r.bins[kind][length] for r in series.results
                                    if length in r.bins[kind])]


def finish_bins(axes, all_series, kind, ends):
    first, last = min(ends), max(ends)
    if kind == "distance":
        powers = range(int(np.log2(first)), int(np.log2(last)) + 1)
        log2_axis(axes.xaxis, few([2.0**k for k in powers]))
    axes.set_xlim(first / 1.1, last * 1.1)
    percent_axis(axes)
    axes.set_xlabel(BINS[kind])
    axes.set_ylabel("tokens right")
    if first < all_series[0].results[0].trained_length < last:
        mark_trained(axes, all_series, last * 1.1)


def plot_bins(axes, all_series, kind, length):
    """At one length, a line for each series."""
    ends = []
    for series in all_series:
        pairs = bins_of(series, kind, length)
        if pairs:
            x, _ = draw(axes, series, pairs, low=0, high=1)
            ends += [x[0], x[-1]]
    finish_bins(axes, all_series, kind, ends)


def plot_lengths_by_bins(axes, series, kind, lengths):
    """Of one series, a line for each length."""
    ends = []
    for index, length in enumerate(lengths):
        x, rows = on_common_axis(bins_of(series, kind, length))
        shade = plt.get_cmap("viridis")(0.85 * index / max(len(lengths) - 1, 1))
        axes.plot(x, mean_and_interval(rows)[0], color=shade, label=f"{length}",
                  marker=MARKERS[index % len(MARKERS)] if kind == "distance" else None)
        ends += [x[0], x[-1]]
    finish_bins(axes, [series], kind, ends)
    axes.legend(title="length", fontsize=8, title_fontsize=8)


def symmetric(values):
    """The colour range of a table: its largest size, less a hundredth of outliers."""
    sizes = np.abs(values[np.isfinite(values)])
    return float(np.quantile(sizes, 0.99)) or 1.0 if len(sizes) else 1.0


def heat_map(axes, values, row_name, column_name, title):
    limit = symmetric(values)
    image = axes.imshow(values, aspect="auto", cmap=DIVERGING, vmin=-limit, vmax=limit,
                        origin="lower", interpolation_stage="data")
    axes.figure.colorbar(image, ax=axes, pad=0.02)
    axes.grid(False)
    axes.set_xlabel(column_name)
    axes.set_ylabel(row_name)
    axes.set_title(title)


def cosine_similarity(table, most=512):
    """Of at most `most` evenly spaced rows, with their numbers."""
    rows = np.unique(np.linspace(0, len(table) - 1, min(most, len(table))).astype(int))
    with np.errstate(invalid="ignore", divide="ignore"):
        units = table[rows] / np.linalg.norm(table[rows], axis=1, keepdims=True)
    return rows, units @ units.T


def plot_similarity(axes, table):
    rows, similarity = cosine_similarity(table)
    edge = rows[-1] + 0.5
    image = axes.imshow(similarity, cmap=DIVERGING, vmin=-1, vmax=1, origin="lower",
                        extent=(-0.5, edge, -0.5, edge), interpolation_stage="data")
    axes.figure.colorbar(image, ax=axes, pad=0.02)
    axes.grid(False)
    axes.set_xlabel("position")
    axes.set_ylabel("position")
    axes.set_title("cosine similarity of two positions")


def plot_rows(axes, table, count):
    """The size of each row and how often it was trained."""
    axes.plot(np.linalg.norm(table, axis=1), color=COLOURS[0], linewidth=1)
    axes.set_xlabel("position")
    axes.set_ylabel("norm of the row", color=COLOURS[0])
    axes.set_ylim(bottom=0)
    twin = axes.twinx()
    twin.step(np.arange(len(count)), count, where="mid", color=COLOURS[1], linewidth=1.4)
    twin.set_ylabel("steps that trained the row", color=COLOURS[1])
    twin.set_ylim(bottom=0)
    twin.grid(False)
    twin.spines["right"].set_visible(True)
    never = int(np.sum(count == 0))
    axes.set_title("every row was trained" if not never
                   else f"{never} of {len(count)} rows were never trained")


def plot_wavelengths(axes, wavelength, trained):
    pairs = np.arange(len(wavelength))
    turns = wavelength <= trained
    axes.plot(pairs[turns], wavelength[turns], "o", color=COLOURS[0], label="turns at least once")
    axes.plot(pairs[~turns], wavelength[~turns], "o", color=COLOURS[1], markerfacecolor="none",
              label="never turns within it")
    axes.axhline(trained, color=GREY, linestyle=":", linewidth=1.2)
    note(axes, "trained length", (0, trained), (2, 3))
    shown = np.append(wavelength[np.isfinite(wavelength)], trained)  # the others stand still
    low, high = np.log2(shown.min()), np.log2(shown.max())
    log2_axis(axes.yaxis, few([2.0**k for k in range(int(low), int(high) + 2)], 9))
    axes.set_xlabel("pair of channels")
    axes.set_ylabel("wavelength (tokens)")
    axes.legend(loc="lower right")
    axes.set_title(f"{int(np.sum(~turns))} of {len(wavelength)} pairs never turn within "
                   f"{trained} tokens")


def plot_by_axis(axes, values, names, title):
    """Lines over the last axis, one for each of the axis before."""
    rows = values.reshape(-1, values.shape[-1])
    for index, row in enumerate(rows):
        label = f"{names[-2]} {index}" if len(rows) > 1 else None
        axes.plot(row, color=COLOURS[index % len(COLOURS)], label=label)
    if 1 < len(rows):
        axes.legend()
    axes.set_xlabel(names[-1])
    axes.set_title(title)


def panels_of(name, table, trained, has_wavelength):
    """Functions that draw the table, each on axes of its own."""
    values, names, kind, count = table
    title = f"{name} ({kind})"
    if name == "wavelength":
        return [lambda axes: plot_wavelengths(axes, values, trained)]
    if name == "frequency" and has_wavelength:
        return []
    if names == ["position", "channel"]:
        return [lambda axes: heat_map(axes, values, *names, title),
                lambda axes: plot_similarity(axes, values)] + \
            ([] if count is None else [lambda axes: plot_rows(axes, values, count)])
    if len(names) == 1 or (len(names) == 2 and len(values) <= len(COLOURS)):
        return [lambda axes: plot_by_axis(axes, values, names, title)]
    first = values.reshape((-1,) + values.shape[-2:])[0]
    if len(names) > 2:
        title += ", " + ", ".join(f"{axis} 0" for axis in names[:-2])
    return [lambda axes: heat_map(axes, first, *names[-2:], title)]


def table_panels(result):
    has_wavelength = "wavelength" in result.tables
    return [panel for name, table in result.tables.items()
            for panel in panels_of(name, table, int(result.trained_length), has_wavelength)]


# ---- figures ------------------------------------------------------------------------------------


def legend_below(figure, panels):
    """One legend of everything that any of the panels shows."""
    known = {label: handle for axes in panels
             for handle, label in zip(*axes.get_legend_handles_labels())}
    labels, handles = list(known), list(known.values())
    if len(labels) > 1:
        widest = max(len(label) for label in labels)
        columns = max(1, min(len(labels), int(figure.get_figwidth() / (0.4 + 0.075 * widest))))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def headline(figure, text, all_series):
    seeds = max(len(series.results) for series in all_series)
    if seeds > 1:
        text += f"\nmean of {seeds} seeds" + (" and its 95 % interval" if seeds > 2 else "")
    figure.suptitle(text, x=0.01, ha="left", fontsize=12)


def figure_overview(all_series):
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 4.4), width_ratios=(1.2, 1, 1))
    plot_by_length(left, all_series)
    left.set_title(f"{all_series[0].results[0].task}: accuracy by length")
    plot_loss(middle, all_series)
    middle.set_title("training loss")
    kind = next((kind for kind in BINS if lengths_that_differ(all_series, kind)), None)
    panels = table_panels(all_series[0].results[0])
    if kind and len(all_series) == 1:
        lengths = few(lengths_that_differ(all_series, kind), 6)
        plot_lengths_by_bins(right, all_series[0], kind, lengths)
        right.set_title(f"accuracy by {kind}")
    elif kind:
        length = lengths_that_differ(all_series, kind)[-1]
        plot_bins(right, all_series, kind, length)
        right.set_title(f"accuracy by {kind}, length {length}")
    elif panels:
        panels[0](right)
    else:
        right.remove()
    headline(figure, describe_lengths(all_series), all_series)
    legend_below(figure, [left])
    return figure


def panels_of_tasks(all_series, plot, width=7.5, height=4.8):
    """A panel for each task, one legend below all."""
    tasks = by_task(all_series)
    columns = min(len(tasks), 2)
    rows = -(-len(tasks) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(width * columns, height * rows),
                                squeeze=False)
    for (task, series), axes in zip(tasks.items(), grid.flat):
        plot(axes, series)
        if len(tasks) > 1:
            axes.set_title(task)
    for axes in grid.flat[len(tasks):]:
        axes.remove()
    legend_below(figure, grid.flat[:len(tasks)])
    return figure


def figure_by_length(all_series, metric="token_accuracy"):
    figure = panels_of_tasks(all_series,
                             lambda axes, series: plot_by_length(axes, series, metric))
    alone = metric == "token_accuracy" and len(by_task(all_series)) == 1
    words = "Tokens right by length" if metric == "token_accuracy" else "Sequences right by length"
    headline(figure, describe_lengths(all_series) if alone else words, all_series)
    return figure


def figure_training(all_series):
    if len(by_task(all_series)) > 1:
        figure = panels_of_tasks(all_series, plot_loss, 6, 4.2)
        headline(figure, "Loss of training batches", all_series)
        return figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4))
    plot_loss(left, all_series)
    left.set_title("loss")
    plot_train_accuracy(right, all_series)
    right.set_title("accuracy")
    headline(figure, "Training batches", all_series)
    legend_below(figure, [left])
    return figure


def area_of(result, metric):
    """Mean height of the curve over doublings, from the longest evaluated length of training."""
    order = np.argsort(result.final["length"])
    length, height = result.final["length"][order], result.final[metric][order]
    first = int(np.sum(length <= result.trained_length)) - 1
    x, y = np.log2(length[first:]), height[first:]
    if first < 0 or len(x) < 2:
        return np.nan
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2) / (x[-1] - x[0]))


def figure_heat_map(all_series, metric="sequence_accuracy"):
    """Task x encoding: the mean over seeds of the area under the length curve."""
    tasks = by_task(all_series)
    labels = list(dict.fromkeys(series.label for series in all_series))
    values = np.full((len(labels), len(tasks)), np.nan)
    for column, series_of_task in enumerate(tasks.values()):
        for series in series_of_task:
            areas = [area_of(result, metric) for result in series.results]
            values[labels.index(series.label), column] = np.mean(areas)
    figure, axes = plt.subplots(figsize=(2.6 + 1.1 * len(tasks), 1.6 + 0.36 * len(labels)))
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, "-" if np.isnan(value) else f"{100 * value:.0f}", fontsize=9,
                  ha="center", va="center",
                  color="black" if np.isnan(value) or value > 0.5 else "white")
    axes.set_xticks(range(len(tasks)), tasks, rotation=20, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(False)
    figure.colorbar(image, ax=axes, format=FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    figure.suptitle("Sequences right beyond the trained length:\narea under the curve over "
                    "log2(length), mean over seeds", x=0.01, ha="left", fontsize=12)
    return figure


def figure_bins(all_series, kind):
    trained = int(all_series[0].results[0].trained_length)
    lengths = lengths_that_differ(all_series, kind)
    shown = ([length for length in lengths if length >= trained] or lengths)[:3]
    figure, grid = plt.subplots(1, len(shown), figsize=(1.5 + 4 * len(shown), 4.4), sharey=True,
                                squeeze=False)
    for axes, length in zip(grid[0], shown):
        plot_bins(axes, all_series, kind, length)
        axes.set_title(f"length {length}" + (" (trained)" if length == trained else ""))
    for axes in grid[0][1:]:
        axes.set_ylabel("")
    headline(figure, f"Accuracy by {BINS[kind]}".split(" (")[0], all_series)
    legend_below(figure, grid[0])
    return figure


def figure_positions(result):
    panels = table_panels(result)
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(0.6 + 4.4 * columns, 4 * rows),
                                squeeze=False)
    for panel, axes in zip(panels, grid.flat):
        panel(axes)
    for axes in grid.flat[len(panels):]:
        axes.remove()
    figure.suptitle(f"{result.encoding}: what carries position ({result.name}, seed {result.seed})",
                    x=0.01, ha="left", fontsize=12)
    return figure


# The table that tells most of an encoding, where it has several.
MAIN_TABLES = ["bias_by_distance", "bias", "slope", "wavelength", "frequency", "table"]


def main_panel(result):
    """Draws the encoding's main table; of learned rows how often each was trained."""
    names = sorted(result.tables, key=lambda name: MAIN_TABLES.index(name)
                   if name in MAIN_TABLES else len(MAIN_TABLES))
    panels = panels_of(names[0], result.tables[names[0]], int(result.trained_length), False)
    return panels[-1] if result.tables[names[0]][3] is not None else panels[0]


def figure_side_by_side(results):
    columns = min(len(results), 3)
    rows = -(-len(results) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(0.6 + 4.4 * columns, 3.8 * rows),
                                squeeze=False)
    for result, axes in zip(results, grid.flat):
        main_panel(result)(axes)
        axes.set_title(f"{result.encoding}: {axes.get_title(loc='left')}")
    for axes in grid.flat[len(results):]:
        axes.remove()
    figure.suptitle("What carries position, encoding by encoding", x=0.01, ha="left", fontsize=12)
    return figure


def save(figure, folder, name, formats):
    for kind in formats:
        path = os.path.join(folder, f"{name}.{kind}")
        # No dates and versions: the same results give the same file.
        figure.savefig(path, metadata={"Date": None} if kind == "svg" else {"Software": None})
        print(path)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description="Pictures of one or many results.")
    parser.add_argument("results", nargs="+", metavar="RESULT.h5|SUMMARY.h5|FOLDER")
    parser.add_argument("-o", "--output", default="plots", metavar="FOLDER")
    parser.add_argument("--format", default="png", help="png, svg or png,svg")
    arguments = parser.parse_args()
    formats = arguments.format.split(",")
    if set(formats) - {"png", "svg"}:
        parser.error(f"--format: expected png, svg or png,svg, got {arguments.format}")
    results = []
    for path in arguments.results:
        try:
            results += read_results(path)
        except (OSError, KeyError, ValueError) as error:
            sys.exit(f"plot.py: {path}: {error}")
    if not results:
        sys.exit("plot.py: no results")
    all_series = group(results)
    trained = [series for series in all_series if series.results[0].train]
    os.makedirs(arguments.output, exist_ok=True)

    def keep(figure, name):
        save(figure, arguments.output, name, formats)

    keep(figure_by_length(all_series), "accuracy_by_length")
    keep(figure_by_length(all_series, "sequence_accuracy"), "sequences_by_length")
    if len(by_task(all_series)) > 1 and len({series.label for series in all_series}) > 1:
        keep(figure_heat_map(all_series), "heat_map")
    if trained:
        keep(figure_training(trained), "training")
    if trained and len(by_task(trained)) == 1:
        keep(figure_overview(trained), "overview")
        for kind in BINS:
            if lengths_that_differ(trained, kind):
                keep(figure_bins(trained, kind), f"accuracy_by_{kind}")
    with_tables = {}
    for series in trained:
        if series.results[0].tables:
            with_tables.setdefault(series.results[0].encoding, series.results[0])
    for encoding, result in with_tables.items():
        keep(figure_positions(result), f"position_{encoding}")
    if len(with_tables) > 1:
        keep(figure_side_by_side(list(with_tables.values())), "positions")


if __name__ == "__main__":
    main()
