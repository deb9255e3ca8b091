"""Golden values of the statistics of comparisons, from scipy and statsmodels.

    .venv/bin/python scripts/golden/statistics.py > tests/vectors/statistics.h

needs scipy 1.17.1, statsmodels 0.15.0, numpy 2.4.6. The bootstrap is not drawn here: of n values
there are n^n samples, and the exact quantiles over all of them are written."""

import itertools

import numpy as np
import scipy
import scipy.stats as st
import statsmodels
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def array(name, values):
    numbers = ", ".join(repr(float(value)) for value in np.ravel(values))
    text = f"static const double {name}[] = {{{numbers}}};"
    line = ""
    for word in text.split(" "):
        if len(line) + len(word) > 98:
            print(line)
            line = "   "
        line += (" " if line else "") + word
    print(line)


def main():
    print("/* Written by: .venv/bin/python scripts/golden/statistics.py > "
          "tests/vectors/statistics.h\n"
          f"   scipy {scipy.__version__}, statsmodels {statsmodels.__version__}, "
          f"numpy {np.__version__} */\n")
    random = np.random.default_rng(7)

    print("/* t, degrees of freedom, 2 * scipy.stats.t.sf(|t|, freedom) */")
    rows = [(t, freedom, 2 * st.t.sf(abs(t), freedom))
            for t in (0.01, 0.5, -2.0, 4.0, 30.0, 1e4) for freedom in (1, 2, 4, 9, 40)]
    array("golden_student_p", rows)

    print("\n/* two samples of n pairs; scipy.stats.ttest_rel(a, b): t, p, 95 % interval */")
    for n in (2, 3, 5, 12):
        a, b = random.uniform(0, 1, n).round(4), random.uniform(0, 1, n).round(4)
        test = st.ttest_rel(a, b)
        interval = test.confidence_interval(0.95)
        array(f"golden_pairs_{n}_a", a)
        array(f"golden_pairs_{n}_b", b)
        array(f"golden_pairs_{n}", [test.statistic, test.pvalue, interval.low, interval.high])

    print("\n/* p values and multipletests(p, method='holm') */")
    for name, p in (("few", [0.01, 0.04, 0.03, 0.005]), ("one", [0.2]),
                    ("ties", [0.02, 0.02, 0.5, 0.02, 1.0, 0.0]),
                    ("many", random.beta(0.4, 3, 55).round(6))):
        array(f"golden_p_{name}", p)
        array(f"golden_holm_{name}", multipletests(p, method="holm")[1])

    print("\n/* right, trials, proportion_confint(right, trials, 0.05, 'wilson') */")
    rows = []
    for right, trials in ((0, 8), (8, 8), (1, 2), (99, 100), (511, 512), (1, 8192), (300, 1000)):
        low, high = proportion_confint(right, trials, 0.05, "wilson")
        rows.append((right, trials, max(low, 0), min(high, 1)))
    array("golden_wilson", rows)

    print("\n/* values, and the 2.5 % and 97.5 % quantiles of the means of all n^n samples */")
    for name, values in (("split", [0.99, 0.0, 0.02, 1.0, 0.97]), ("high", [1.0, 1.0, 0.98, 1.0]),
                         ("six", [0.4, 0.9, 0.1, 0.35, 0.7, 0.66])):
        means = np.mean(list(itertools.product(values, repeat=len(values))), axis=1)
        array(f"golden_sample_{name}", values)
        array(f"golden_resampled_{name}", np.quantile(means, [0.025, 0.975]))

    print("\n/* lengths, accuracies, np.trapezoid over log2(length) / width */")
    lengths, heights = [34, 42, 50, 66, 130], [1.0, 0.9, 0.625, 0.25, 0.0]
    area = np.trapezoid(heights, np.log2(lengths)) / (np.log2(lengths[-1]) - np.log2(lengths[0]))
    array("golden_lengths", lengths)
    array("golden_heights", heights)
    array("golden_area", [area])
    study(random)


def study(random):
    """Three encodings, five seeds, four lengths: sequences right of 200 each."""
    names, lengths, examples = ("nope", "rope", "alibi"), np.array([16, 20, 32, 64]), 200
    centre = np.array([[199, 170, 90, 40], [199, 120, 60, 30], [199, 168, 120, 60]])
    right = centre[:, None, :] + random.integers(-14, 15, (3, 5, 4)) * np.array([0, 1, 1, 1])
    share = right / examples
    print("\n/* [nope, rope, alibi][5 seeds][lengths 16, 20, 32, 64]: right of 200 */")
    array("golden_right", right)
    print("\n/* [encoding][length]: mean, deviation, ends of the t interval of the shares */")
    array("golden_means", [(np.mean(x), np.std(x, ddof=1), *st.t.interval(
        0.95, len(x) - 1, np.mean(x), st.sem(x) or 1e-300)) for x in
        np.moveaxis(share, 1, 2).reshape(-1, 5)])
    for title, values in (("20", share[:, :, 1]), ("area", np.trapezoid(
            share, np.log2(lengths), axis=2) / np.log2(lengths[-1] / lengths[0]))):
        tests = [st.ttest_rel(values[a], values[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        holm = multipletests([test.pvalue for test in tests], method="holm")[1]
        print(f"\n/* {title}: nope - rope, nope - alibi, rope - alibi: mean, t, p, p of Holm, and "
              "the interval\n   at 1 - 0.05 p / p of Holm */")
        array(f"golden_differences_{title}", [
            (np.mean(values[a] - values[b]), test.statistic, test.pvalue, adjusted,
             *test.confidence_interval(1 - 0.05 * test.pvalue / adjusted))
            for (a, b), test, adjusted in zip(((0, 1), (0, 2), (1, 2)), tests, holm)])
    noise = [np.mean([np.subtract(*proportion_confint(k, examples, 0.05, "wilson")[::-1]) / 2
                      for k in right[e, :, 1]]) for e in range(3)]
    print("\n/* length 20: mean half width of Wilson's intervals */")
    array("golden_noise", noise)


if __name__ == "__main__":
    main()
