"""Draws what compare.py has written: losses, minus those of the same method on one rank.

python python/examples/draw_losses.py losses losses.svg"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

STYLES = {2: ("#56b4e9", 2.4), 3: ("#a33b00", 0.9)}  # ranks: colour and width of the line


def main():
    folder, path = sys.argv[1:]
    losses = {n: json.loads(pathlib.Path(folder, f"{n}.json").read_text()) for n in (1, *STYLES)}
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "losses", "font.size": 10})
    figure, axes = pyplot.subplots(
        1, len(losses[1]), figsize=(9, 2.8), sharey=True, layout="constrained"
    )
    for axis, (method, alone) in zip(axes, losses[1].items(), strict=True):
        for n, (colour, width) in STYLES.items():
            apart = [1e8 * (b - a) for a, b in zip(alone, losses[n][method], strict=True)]
            axis.plot(apart, color=colour, label=f"{n} ranks", linewidth=width)
        equal = all(losses[n][method] == alone for n in STYLES)
        axis.set_title(f"{method}: {'equal in all bits' if equal else 'other last bits'}")
        axis.set_xlabel("step")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("difference from 1 rank, 10⁻⁸")
    axes[-1].legend(frameon=False, loc="upper right")
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


if __name__ == "__main__":
    main()
